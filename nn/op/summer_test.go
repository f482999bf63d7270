package op

import (
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/reprise-ml/reprise/internal/kernel"
)

func TestOnlyTheTrainingOfAConvolutionsWholeBatchTakesItsSums(t *testing.T) {
	p, q := NewPool(1), NewPool(1)
	defer p.Close()
	defer q.Close()
	fast := kernel.ActivePath() != kernel.Generic
	g := gorgonia.NewGraph()
	input := func(name string, shape ...int) *gorgonia.Node {
		return gorgonia.NewTensor(g, tensor.Float32, len(shape), gorgonia.WithShape(shape...), gorgonia.WithName(name))
	}
	x, w, c := input("x", 4, 5, 5, 3), input("w", 3, 3, 3, 6), input("c", 6)
	conv := gorgonia.Must(Conv(p, x, w, ConvConfig{}))
	bias := gorgonia.Must(Bias(p, conv, c))
	for _, k := range []struct {
		name   string
		p      *Pool
		x      *gorgonia.Node
		config BatchNormConfig
		want   bool
	}{
		{"whole batch", p, conv, BatchNormConfig{Train: true}, fast},
		{"one ghost batch", p, conv, BatchNormConfig{Train: true, Ghost: 4}, fast},
		{"ghost batches", p, conv, BatchNormConfig{Train: true, Ghost: 2}, false},
		{"other pool", q, conv, BatchNormConfig{Train: true}, false},
		{"bias", p, bias, BatchNormConfig{Train: true}, false},
		{"input", p, input("y", 4, 3, 3, 6), BatchNormConfig{Train: true}, false},
	} {
		n := gorgonia.Must(BatchNorm(k.p, k.x, c, c, NewStatistics(6), k.config))
		if got := n.Op().(*batchNormTrain).sums != nil; got != k.want {
			t.Errorf("%s: takes sums: %v, want %v", k.name, got, k.want)
		}
	}
	if _, ok := gorgonia.Must(BatchNorm(p, conv, c, c, NewStatistics(6), BatchNormConfig{})).Op().(*batchNorm); !ok {
		t.Error("evaluation has the operation of training")
	}
}
