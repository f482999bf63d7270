package op

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/reprise-ml/reprise/internal/kernel"
)

// Linear is x·wᵀ + b. x is [..., in], w is [out, in], b is [out] or nil for none; the result is [..., out].
func Linear(p *Pool, x, w, b *gorgonia.Node) (*gorgonia.Node, error) {
	s, in, err := linearShape("linear", x, w, b)
	if err != nil {
		return nil, err
	}
	o, err := newBase(p, "linear", append(rows(x.Shape()).Clone(), s.Out), in...)
	if err != nil {
		return nil, err
	}
	return gorgonia.ApplyOp(&linear{o, s, kernel.NewLinearForward(p, s), b != nil}, in...)
}

// linearShape is the shape of a linear layer and its inputs.
func linearShape(op string, x, w, b *gorgonia.Node) (s kernel.LinearShape, in gorgonia.Nodes, err error) {
	if err := checkTensor(op, "x", x); err != nil {
		return s, nil, err
	}
	xs := x.Shape()
	s.In = xs[len(xs)-1]
	if err := checkFloat(op, "w", w, 0, s.In); err != nil {
		return s, nil, err
	}
	s.N, s.Out = xs.TotalSize()/s.In, w.Shape()[0]
	if b == nil {
		return s, gorgonia.Nodes{x, w}, nil
	}
	return s, gorgonia.Nodes{x, w, b}, checkFloat(op, "b", b, s.Out)
}

type linear struct {
	base
	linear kernel.LinearShape
	kernel *kernel.LinearForward
	biased bool
}

func (l *linear) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	var bias []float32
	if l.biased {
		bias = l.arg(in, 2)
	}
	l.kernel.Run(l.output(), l.arg(in, 0), l.arg(in, 1), bias)
	return l.out, nil
}

func (l *linear) DiffWRT(n int) []bool { return every(n) }

// SymDiff makes one operation for the input, which the first layer of a network does not need, and one
// for the weights with the bias as its side output.
func (l *linear) SymDiff(in gorgonia.Nodes, _, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	b, err := newBase(l.pool, "linearData", in[0].Shape(), in[1], grad)
	if err != nil {
		return nil, err
	}
	dx, err := gorgonia.ApplyOp(&linearData{b, kernel.NewLinearBackwardData(l.pool, l.linear)}, in[1], grad)
	if err != nil {
		return nil, err
	}
	weights, err := l.weights(in, grad)
	return append(gorgonia.Nodes{dx}, weights...), err
}

// weights are the gradients of the weights and, where there is one, of the bias.
func (l *linear) weights(in gorgonia.Nodes, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	b, err := newBase(l.pool, "linearWeights", in[1].Shape(), in[0], grad)
	if err != nil {
		return nil, err
	}
	back := &linearWeights{base: b, kernel: kernel.NewLinearBackwardWeights(l.pool, l.linear)}
	if l.biased {
		back.bias = newTensor(in[2].Shape())
	}
	dw, err := gorgonia.ApplyOp(back, in[0], grad)
	if err != nil || back.bias == nil {
		return gorgonia.Nodes{dw}, err
	}
	db, err := newPick("linearBias", dw, back.bias)
	return gorgonia.Nodes{dw, db}, err
}

type linearData struct {
	base
	kernel *kernel.LinearBackwardData
}

func (l *linearData) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	l.kernel.Run(l.output(), l.arg(in, 0), l.arg(in, 1))
	return l.out, nil
}

type linearWeights struct {
	base
	kernel *kernel.LinearBackwardWeights
	bias   *tensor.Dense // nil without bias
}

func (l *linearWeights) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	var db []float32
	if l.bias != nil {
		db = l.bias.Float32s()
	}
	l.kernel.Run(l.output(), db, l.arg(in, 0), l.arg(in, 1))
	return l.out, nil
}
