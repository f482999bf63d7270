package op

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/reprise-ml/reprise/internal/kernel"
)

// LinearCrossEntropy is [SoftmaxCrossEntropy] of logits that [Linear] makes without bias, target being classes: the loss and both gradients by blocks of
// rows, so that the logits of all rows, often the largest tensor of a language model, and their gradient are never in memory. It
// returns nil, and no error, for other logits and targets.
//
// It is for training; logits that are needed besides are computed twice.
func LinearCrossEntropy(p *Pool, logits, target, weights *gorgonia.Node, smoothing float32) (*gorgonia.Node, error) {
	if logits == nil || target == nil || target.Dtype() != tensor.Int32 {
		return nil, nil
	}
	head, ok := logits.Op().(*linear)
	if !ok || len(head.in) != 2 {
		return nil, nil
	}
	const name = "linearCrossEntropy"
	each, err := checkCrossEntropy(name, logits, target, weights, smoothing)
	if err != nil {
		return nil, err
	}
	in := gorgonia.Nodes{}
	for it := logits.Graph().From(logits.ID()); it.Next(); {
		in = append(in, it.Node().(*gorgonia.Node))
	}
	in = append(in, target, weights)
	b, err := newBase(p, name, tensor.ScalarShape(), in...)
	if err != nil {
		return nil, err
	}
	s := head.linear
	l := &linearCrossEntropy{base: b, linear: s, each: each, loss: gorgonia.NewF32(0), losses: make([]float32, s.N), weights: make([]float32, s.N)}
	l.kernel = kernel.NewLinearCrossEntropy(p, kernel.LinearCrossEntropyShape{N: s.N, In: s.In, Classes: s.Out, Smoothing: smoothing})
	return gorgonia.ApplyOp(l, in...)
}

type linearCrossEntropy struct {
	base
	linear  kernel.LinearShape
	each    int // rows of a weight
	kernel  *kernel.LinearCrossEntropy
	loss    *gorgonia.F32
	losses  []float32 // of the rows
	weights []float32 // of the rows
	dx, dw  *scaled   // nil where no gradient is wanted
}

// RowLosses are the losses of the rows in the last run, 0 where the weight was; valid until the next.
func (l *linearCrossEntropy) RowLosses() []float32 { return l.losses }

func (l *linearCrossEntropy) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	labels, weights := in[2].(*tensor.Dense).Int32s(), l.arg(in, 3)
	for n, c := range labels {
		l.weights[n] = weights[n/l.each]
		if (c < 0 || int(c) >= l.linear.Out) && l.weights[n] != 0 {
			return nil, fmt.Errorf("op: %s: row %d is of class %d, want 0 to %d", l.name, n, c, l.linear.Out-1)
		}
	}
	var dx, dw []float32
	if l.dx != nil {
		dx, dw = l.dx.reset(), l.dw.reset()
	}
	*l.loss = gorgonia.F32(l.kernel.Run(dx, dw, l.losses, l.arg(in, 0), l.arg(in, 1), labels, l.weights))
	return l.loss, nil
}

func (l *linearCrossEntropy) DiffWRT(int) []bool { return []bool{true, true, false, false} }

func (l *linearCrossEntropy) SymDiff(in gorgonia.Nodes, out, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	var err error
	nodes := make(gorgonia.Nodes, 4)
	for i, d := range []**scaled{&l.dx, &l.dw} {
		s := &scaled{side: newTensor(in[i].Shape()), factor: 1}
		if s.base, err = newBase(l.pool, l.name+"Back", in[i].Shape(), grad, out); err != nil {
			return nil, err
		}
		s.out = nil
		*d = s
		s.part = func(_, part int) {
			lo, hi := kernel.Chunk(len(s.data), part)
			kernel.Scale(s.data[lo:hi], s.data[lo:hi], s.by)
		}
		if nodes[i], err = gorgonia.ApplyOp(s, grad, out); err != nil {
			return nil, err
		}
	}
	return nodes, nil
}

// scaled is a side output times a scalar that is known later, nearly always 1.
type scaled struct {
	base
	side       *tensor.Dense
	factor, by float32 // what the side output has been multiplied by, and is to be
	data       []float32
	part       func(worker, part int)
}

// reset is the side output to be written anew.
func (s *scaled) reset() []float32 {
	s.factor = 1
	return s.side.Float32s()
}

func (s *scaled) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	if f := scalar(in[0]); f != s.factor {
		s.data, s.by = s.side.Float32s(), f/s.factor
		s.pool.Run(kernel.Chunks(len(s.data)), s.part)
		s.data, s.factor = nil, f
	}
	return s.side, nil
}
