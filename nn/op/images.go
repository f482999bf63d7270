package op

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// images is an operation that works on one row of the batch at a time.
type images struct {
	base
	f    func(n int, y, x []float32) // image n, its output and its input
	y, x []float32
	part func(worker, part int)
}

func newImages(p *Pool, name string, shape tensor.Shape, f func(n int, y, x []float32), in ...*gorgonia.Node) (*images, error) {
	o, err := newBase(p, name, shape, in...)
	if err != nil {
		return nil, err
	}
	m := &images{base: o, f: f}
	m.part = func(_, n int) {
		y, x := len(m.y)/shape[0], len(m.x)/shape[0]
		m.f(n, m.y[n*y:(n+1)*y], m.x[n*x:(n+1)*x])
	}
	return m, nil
}

// Do works on the first input; the others are there for the order.
func (m *images) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	m.y, m.x = m.output(), m.arg(in, 0)
	m.pool.Run(m.shape[0], m.part)
	m.y, m.x = nil, nil
	return m.out, nil
}
