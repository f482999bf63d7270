package op

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/reprise-ml/reprise/internal/kernel"
)

// Position adds to x, [N, T, W], the first T rows of a table, [C, W] or [1, C, W] with C at least T, to every sequence alike. With
// a from that is not nil it is the T rows from the one whose number *from is when the graph runs; they must be there.
func Position(p *Pool, x, table *gorgonia.Node, from *int) (*gorgonia.Node, error) {
	const name = "position"
	if err := checkFloat(name, "x", x, 0, 0, 0); err != nil {
		return nil, err
	}
	xs := x.Shape()
	sizes := []int{0, xs[2]}
	if table != nil && table.Dims() == 3 {
		sizes = []int{1, 0, xs[2]}
	}
	if err := checkFloat(name, "table", table, sizes...); err != nil {
		return nil, err
	}
	if rows := table.Shape().TotalSize() / xs[2]; rows < xs[1] {
		return nil, fmt.Errorf("op: %s: the table has %d rows for %d positions", name, rows, xs[1])
	}
	a := &position{from: from, row: xs[2]}
	m, err := newImages(p, name, xs, func(_ int, y, x []float32) { kernel.Add(y, x, a.table) }, x, table)
	if err != nil {
		return nil, err
	}
	a.images = m
	return gorgonia.ApplyOp(a, x, table)
}

type position struct {
	*images
	from  *int
	row   int // floats of a position
	table []float32
}

func (a *position) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	first, count := 0, a.shape[1]
	if a.from != nil {
		first = *a.from
	}
	table := a.arg(in, 1)
	if rows := len(table) / a.row; first < 0 || first+count > rows {
		return nil, fmt.Errorf("op: %s: positions %d to %d of a table of %d", a.name, first, first+count-1, rows)
	}
	a.table = table[first*a.row : (first+count)*a.row]
	defer func() { a.table = nil }()
	return a.images.Do(in...)
}

func (a *position) DiffWRT(n int) []bool { return every(n) }

func (a *position) SymDiff(in gorgonia.Nodes, _, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	if a.from != nil {
		return nil, fmt.Errorf("op: %s: %w with positions that are known only in the run", a.name, errNoGradient)
	}
	b, err := newBase(a.pool, "positionBack", in[1].Shape(), grad)
	if err != nil {
		return nil, err
	}
	back := newBatchSum(b, in[0].Shape()[0], in[0].Shape()[1]*a.row, 0)
	dtable, err := gorgonia.ApplyOp(back, grad)
	return gorgonia.Nodes{grad, dtable}, err
}

// batchSum is the sum over the batch of the first size floats from an offset on in every row of its input; the rest of its output is 0.
type batchSum struct {
	base
	rows, size, offset int
	dst, x             []float32
	part               func(worker, part int)
}

func newBatchSum(b base, rows, size, offset int) *batchSum {
	s := &batchSum{base: b, rows: rows, size: size, offset: offset}
	s.part = func(_, part int) {
		lo, hi := kernel.Chunk(s.size, part)
		row := len(s.x) / s.rows
		dst := s.dst[lo:hi]
		copy(dst, s.x[s.offset+lo:s.offset+hi])
		for n := 1; n < s.rows; n++ {
			kernel.Add(dst, dst, s.x[n*row+s.offset+lo:n*row+s.offset+hi])
		}
	}
	return s
}

func (s *batchSum) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	s.dst, s.x = s.output(), s.arg(in, 0)
	clear(s.dst[s.size:])
	s.pool.Run(kernel.Chunks(s.size), s.part)
	s.dst, s.x = nil, nil
	return s.out, nil
}

// ClassToken puts a learned token, W floats of any shape, before those of every row of x, [N, ..., W]: the result is [N, 1+T, W], T being the product
// of what is between.
func ClassToken(p *Pool, x, token *gorgonia.Node) (*gorgonia.Node, error) {
	const name = "classToken"
	if err := checkTensor(name, "x", x); err != nil {
		return nil, err
	}
	xs := x.Shape()
	if len(xs) < 3 {
		return nil, fmt.Errorf("op: %s: x has shape %v, want at least three dimensions", name, xs)
	}
	if err := checkTensor(name, "token", token); err != nil {
		return nil, err
	}
	width := xs[len(xs)-1]
	if token.Shape().TotalSize() != width {
		return nil, fmt.Errorf("op: %s: token has shape %v, want %d floats", name, token.Shape(), width)
	}
	c := &classToken{width: width}
	m, err := newImages(p, name, tensor.Shape{xs[0], 1 + xs.TotalSize()/xs[0]/width, width}, func(_ int, y, x []float32) {
		copy(y, c.token)
		copy(y[width:], x)
	}, x, token)
	if err != nil {
		return nil, err
	}
	c.images = m
	return gorgonia.ApplyOp(c, x, token)
}

type classToken struct {
	*images
	width int
	token []float32
}

func (c *classToken) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	c.token = c.arg(in, 1)
	defer func() { c.token = nil }()
	return c.images.Do(in...)
}

func (c *classToken) DiffWRT(n int) []bool { return every(n) }

func (c *classToken) SymDiff(in gorgonia.Nodes, _, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	back, err := newImages(c.pool, "classTokenBack", in[0].Shape(), func(_ int, dx, dy []float32) { copy(dx, dy[c.width:]) }, grad)
	if err != nil {
		return nil, err
	}
	dx, err := gorgonia.ApplyOp(back, grad)
	if err != nil {
		return nil, err
	}
	b, err := newBase(c.pool, "classTokenSum", in[1].Shape(), grad)
	if err != nil {
		return nil, err
	}
	dtoken, err := gorgonia.ApplyOp(newBatchSum(b, in[0].Shape()[0], c.width, 0), grad)
	return gorgonia.Nodes{dx, dtoken}, err
}

// FirstToken is the first token of every row of x, [N, T, W]: the result is [N, W].
func FirstToken(p *Pool, x *gorgonia.Node) (*gorgonia.Node, error) {
	if err := checkFloat("firstToken", "x", x, 0, 0, 0); err != nil {
		return nil, err
	}
	s := x.Shape()
	m, err := newImages(p, "firstToken", tensor.Shape{s[0], s[2]}, func(_ int, y, x []float32) { copy(y, x) }, x)
	if err != nil {
		return nil, err
	}
	return gorgonia.ApplyOp(&firstToken{m}, x)
}

type firstToken struct{ *images }

func (f *firstToken) DiffWRT(n int) []bool { return every(n) }

func (f *firstToken) SymDiff(in gorgonia.Nodes, _, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	back, err := newImages(f.pool, "firstTokenBack", in[0].Shape(), func(_ int, dx, dy []float32) { clear(dx[copy(dx, dy):]) }, grad)
	if err != nil {
		return nil, err
	}
	dx, err := gorgonia.ApplyOp(back, grad)
	return gorgonia.Nodes{dx}, err
}
