package op

import (
	"gorgonia.org/gorgonia"

	"github.com/reprise-ml/reprise/internal/kernel"
)

// biasRows is the number of rows of a part.
const biasRows = 256

// Bias adds b, [C], to every row of x, [..., C].
func Bias(p *Pool, x, b *gorgonia.Node) (*gorgonia.Node, error) {
	if err := checkTensor("bias", "x", x); err != nil {
		return nil, err
	}
	xs := x.Shape()
	if err := checkFloat("bias", "b", b, xs[len(xs)-1]); err != nil {
		return nil, err
	}
	o, err := newBase(p, "bias", xs, x, b)
	if err != nil {
		return nil, err
	}
	a := &bias{base: o}
	a.part = func(_, part int) {
		ch := len(a.b)
		lo, hi := part*biasRows*ch, min(len(a.x), (part+1)*biasRows*ch)
		kernel.AddBias(a.y[lo:hi], a.x[lo:hi], a.b)
	}
	return gorgonia.ApplyOp(a, x, b)
}

type bias struct {
	base
	y, x, b []float32
	part    func(worker, part int)
}

func (a *bias) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	a.y, a.x, a.b = a.output(), a.arg(in, 0), a.arg(in, 1)
	a.pool.Run(biasParts(len(a.x), len(a.b)), a.part)
	a.y, a.x, a.b = nil, nil, nil
	return a.out, nil
}

func biasParts(elements, channels int) int {
	return (elements/channels + biasRows - 1) / biasRows
}

func (a *bias) DiffWRT(n int) []bool { return every(n) }

func (a *bias) SymDiff(in gorgonia.Nodes, _, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	o, err := newBase(a.pool, "biasBack", in[1].Shape(), grad)
	if err != nil {
		return nil, err
	}
	ch := in[1].Shape()[0]
	back := &biasBack{base: o, channels: ch, parts: biasParts(in[0].Shape().TotalSize(), ch)}
	back.sums = make([]float64, back.parts*ch)
	back.part = func(_, part int) {
		lo, hi := part*biasRows*ch, min(len(back.dy), (part+1)*biasRows*ch)
		kernel.ColumnSums(back.sums[part*ch:(part+1)*ch], back.dy[lo:hi])
	}
	db, err := gorgonia.ApplyOp(back, grad)
	return gorgonia.Nodes{grad, db}, err
}

type biasBack struct {
	base
	channels, parts int
	sums            []float64 // [part][channel]
	dy              []float32
	part            func(worker, part int)
}

func (b *biasBack) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	b.dy = b.arg(in, 0)
	b.pool.Run(b.parts, b.part)
	b.dy = nil
	for c, db := 0, b.output(); c < b.channels; c++ {
		var s float64
		for i := c; i < len(b.sums); i += b.channels {
			s += b.sums[i]
		}
		db[c] = float32(s)
	}
	return b.out, nil
}
