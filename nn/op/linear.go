package op

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/reprise-ml/reprise/internal/kernel"
)

// Linear is x·wᵀ + b. x is [..., in], w is [out, in], b is [out] or nil for none; the result is [..., out].
func Linear(p *Pool, x, w, b *gorgonia.Node) (*gorgonia.Node, error) {
	if err := checkTensor("linear", "x", x); err != nil {
		return nil, err
	}
	xs := x.Shape()
	last := len(xs) - 1
	if err := checkFloat("linear", "w", w, 0, xs[last]); err != nil {
		return nil, err
	}
	s := kernel.LinearShape{N: xs.TotalSize() / xs[last], In: xs[last], Out: w.Shape()[0]}
	in := gorgonia.Nodes{x, w}
	if b != nil {
		if err := checkFloat("linear", "b", b, s.Out); err != nil {
			return nil, err
		}
		in = append(in, b)
	}
	o, err := newBase(p, "linear", append(xs[:last].Clone(), s.Out), in...)
	if err != nil {
		return nil, err
	}
	return gorgonia.ApplyOp(&linear{o, s, kernel.NewLinearForward(p, s)}, in...)
}

type linear struct {
	base
	linear kernel.LinearShape
	kernel *kernel.LinearForward
}

func (l *linear) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	var bias []float32
	if len(in) == 3 {
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
	if b, err = newBase(l.pool, "linearWeights", in[1].Shape(), in[0], grad); err != nil {
		return nil, err
	}
	back := &linearWeights{base: b, kernel: kernel.NewLinearBackwardWeights(l.pool, l.linear)}
	if len(in) == 3 {
		back.bias = newTensor(in[2].Shape())
	}
	dw, err := gorgonia.ApplyOp(back, in[0], grad)
	if err != nil || back.bias == nil {
		return gorgonia.Nodes{dx, dw}, err
	}
	db, err := newPick("linearBias", dw, back.bias)
	return gorgonia.Nodes{dx, dw, db}, err
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
