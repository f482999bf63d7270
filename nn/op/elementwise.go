package op

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/reprise-ml/reprise/internal/kernel"
)

// mapped is an operation that computes every element of its output from the same element of one
// or two inputs.
type mapped struct {
	base
	f       func(y, a, b []float32)
	y, a, b []float32
	part    func(worker, part int)
}

func newMapped(p *Pool, name string, f func(y, a, b []float32), in ...*gorgonia.Node) (*mapped, error) {
	o, err := newBase(p, name, in[0].Shape(), in...)
	if err != nil {
		return nil, err
	}
	m := &mapped{base: o, f: f}
	m.part = func(_, part int) {
		lo, hi := kernel.Chunk(len(m.y), part)
		var b []float32
		if m.b != nil {
			b = m.b[lo:hi]
		}
		m.f(m.y[lo:hi], m.a[lo:hi], b)
	}
	return m, nil
}

func (m *mapped) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	m.y, m.a = m.output(), m.arg(in, 0)
	if len(in) > 1 {
		m.b = m.arg(in, 1)
	}
	m.pool.Run(kernel.Chunks(len(m.y)), m.part)
	m.y, m.a, m.b = nil, nil, nil
	return m.out, nil
}

// ReLU is max(x, 0) of every element of x, a tensor of any shape.
func ReLU(p *Pool, x *gorgonia.Node) (*gorgonia.Node, error) {
	if err := checkTensor("relu", "x", x); err != nil {
		return nil, err
	}
	m, err := newMapped(p, "relu", func(y, x, _ []float32) { kernel.ReLU(y, x) }, x)
	if err != nil {
		return nil, err
	}
	return gorgonia.ApplyOp(&relu{m}, x)
}

type relu struct{ *mapped }

func (r *relu) DiffWRT(n int) []bool { return every(n) }

func (r *relu) SymDiff(_ gorgonia.Nodes, out, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	back, err := newMapped(r.pool, "reluBack", kernel.ReLUBackward, out, grad)
	if err != nil {
		return nil, err
	}
	dx, err := gorgonia.ApplyOp(back, out, grad)
	return gorgonia.Nodes{dx}, err
}

// Add is the sum of two tensors of the same shape.
func Add(p *Pool, a, b *gorgonia.Node) (*gorgonia.Node, error) {
	if err := checkTensor("add", "a", a); err != nil {
		return nil, err
	}
	if err := checkFloat("add", "b", b, a.Shape()...); err != nil {
		return nil, err
	}
	m, err := newMapped(p, "add", kernel.Add, a, b)
	if err != nil {
		return nil, err
	}
	return gorgonia.ApplyOp(&add{m}, a, b)
}

type add struct{ *mapped }

func (a *add) DiffWRT(n int) []bool { return every(n) }

func (a *add) SymDiff(_ gorgonia.Nodes, _, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	return gorgonia.Nodes{grad, grad}, nil
}

// checkTensor says what is wrong unless n is a float32 tensor of at least one dimension.
func checkTensor(op, what string, n *gorgonia.Node) error {
	if n == nil || n.Dims() == 0 {
		return fmt.Errorf("op: %s: %s has shape %v, want at least one dimension", op, what, shapeOf(n))
	}
	return checkFloat(op, what, n, n.Shape()...)
}
