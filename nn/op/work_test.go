package op_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/reprise-ml/reprise/nn/op"
)

func TestProductsAreCountedForwardAndBackward(t *testing.T) {
	g := gorgonia.NewGraph()
	input := func(name string, shape ...int) *gorgonia.Node {
		return fixed(g, name, tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(shape...)))
	}
	x, w := input("x", 2, 9, 9, 6), input("w", 3, 3, 2, 12)
	v, b := input("v", 10, 12), input("b", 10)
	y := gorgonia.Must(op.Conv(nil, x, w, op.ConvConfig{Stride: 2, Pad: 1, Groups: 3}))
	z := gorgonia.Must(op.Linear(nil, gorgonia.Must(op.GlobalAvgPool(nil, y)), v, b))
	loss := gorgonia.Must(op.SoftmaxCrossEntropy(nil, z, fixed(g, "target", tensor.New(tensor.Of(tensor.Int32), tensor.WithShape(2))), input("weights", 2), 0))
	if _, err := gorgonia.Grad(loss, x, w, v, b); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, n := range g.AllNodes() {
		if m, ok := n.Op().(op.Multiplier); ok {
			name, _, _ := strings.Cut(n.Op().String(), "[")
			got[name] = fmt.Sprint(m.Geometry(), ", ", m.FLOPs())
		}
	}
	conv := fmt.Sprint("3x3 6→12 in 3 groups 9x9→5x5, ", 2*(3*3*2)*12*(2*5*5))
	linear := fmt.Sprint("12→10, ", 2*12*10*2)
	want := map[string]string{
		"conv": conv, "convData": conv, "convWeights": conv,
		"linear": linear, "linearData": linear, "linearWeights": linear,
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v of %v, want %v", got, slices.Sorted(maps.Keys(got)), want)
	}
}
