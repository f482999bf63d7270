package op_test

import (
	"math"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/reprise-ml/reprise/nn/op"
)

type lossRun struct {
	loss, grad     *gorgonia.Node
	vm             gorgonia.VM
	logits, weight []float32
	class          []int32
}

func newLossRun(t *testing.T, logits []float32, class []int32, weight []float32) *lossRun {
	t.Helper()
	g := gorgonia.NewGraph()
	n := len(class)
	x := fixed(g, "logits", tensor.New(tensor.WithShape(n, len(logits)/n), tensor.WithBacking(logits)))
	target := fixed(g, "target", tensor.New(tensor.WithShape(n), tensor.WithBacking(class)))
	w := fixed(g, "weights", tensor.New(tensor.WithShape(n), tensor.WithBacking(weight)))
	l, err := op.SoftmaxCrossEntropy(nil, x, target, w, 0)
	if err != nil {
		t.Fatal(err)
	}
	grads, err := gorgonia.Grad(l, x)
	if err != nil {
		t.Fatal(err)
	}
	vm := gorgonia.NewTapeMachine(g)
	t.Cleanup(func() { vm.Close() })
	return &lossRun{l, grads[0], vm, logits, weight, class}
}

func TestRowsOfWeightZeroAreSkipped(t *testing.T) {
	nan := float32(math.NaN())
	r := newLossRun(t, []float32{0, 0, nan, nan, 3, 3}, []int32{1, -7, 0}, []float32{1, 0, 1})
	if err := r.vm.RunAll(); err != nil {
		t.Fatal(err)
	}
	checkClose(t, "loss", values(r.loss), []float64{math.Ln2}, 1e-6)
	checkClose(t, "gradient", values(r.grad), []float64{0.25, -0.25, 0, 0, -0.25, 0.25}, 1e-6)
	rows := r.loss.Op().(interface{ RowLosses() []float32 }).RowLosses()
	checkClose(t, "row losses", rows, []float64{math.Ln2, 0, math.Ln2}, 1e-6)
}

func TestWeightsThatSumToZeroGiveNoLossAndNoGradient(t *testing.T) {
	r := newLossRun(t, []float32{1, 2}, []int32{1}, []float32{0})
	if err := r.vm.RunAll(); err != nil {
		t.Fatal(err)
	}
	checkClose(t, "loss", values(r.loss), []float64{0}, 0)
	checkClose(t, "gradient", values(r.grad), []float64{0, 0}, 0)
}

func TestLargeLogitsDoNotOverflow(t *testing.T) {
	r := newLossRun(t, []float32{1000, -1000, 0}, []int32{1}, []float32{2})
	if err := r.vm.RunAll(); err != nil {
		t.Fatal(err)
	}
	checkClose(t, "loss", values(r.loss), []float64{2000}, 1e-6)
	checkClose(t, "gradient", values(r.grad), []float64{1, -1, 0}, 1e-6)
}

func TestAClassOutOfRangeFailsTheRun(t *testing.T) {
	for _, class := range []int32{-1, 3} {
		r := newLossRun(t, []float32{1, 2, 3}, []int32{class}, []float32{1})
		err := r.vm.RunAll()
		if err == nil || !strings.Contains(err.Error(), "want 0 to 2") {
			t.Errorf("class %d of 3: error %v", class, err)
		}
	}
}
