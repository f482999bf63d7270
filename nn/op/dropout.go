package op

import (
	"errors"
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/reprise-ml/reprise/internal/kernel"
)

// Ticker keys the random numbers of a graph. Whoever runs the graph sets Tick to the number of the step
// before every run.
type Ticker struct {
	Seed uint64 // of the run
	Tick uint64 // of the step
}

// Dropout sets every element of x, a tensor of any shape, to 0 with probability rate, in [0, 1), and
// multiplies the others by 1/(1-rate). The mask depends on the seed, the tick and the place, a number that is to be
// another for every dropout of a graph, and the gradient uses the same one. A rate of 0 returns x. Graphs for evaluation leave the operation out.
func Dropout(p *Pool, x *gorgonia.Node, rate float32, place uint64, r *Ticker) (*gorgonia.Node, error) {
	if err := checkTensor("dropout", "x", x); err != nil {
		return nil, err
	}
	if !(rate >= 0 && rate < 1) {
		return nil, fmt.Errorf("op: dropout: rate %v, want 0 ≤ rate < 1", rate)
	}
	if r == nil {
		return nil, errors.New("op: dropout: no ticker")
	}
	if rate == 0 {
		return x, nil
	}
	d := &dropout{ticker: r, rate: rate, place: place, mask: make([]uint64, (x.Shape().TotalSize()+63)/64)}
	m, err := newMapped(p, "dropout", nil, x)
	if err != nil {
		return nil, err
	}
	d.mapped = m
	m.part = func(_, part int) {
		lo, hi := kernel.Chunk(len(m.y), part) // lo is a multiple of 64
		kernel.DropoutMask(d.mask, lo/64, (hi+63)/64, d.key, rate)
		kernel.Dropout(m.y[lo:hi], m.a[lo:hi], d.mask[lo/64:], d.scale())
	}
	return gorgonia.ApplyOp(d, x)
}

type dropout struct {
	*mapped
	ticker *Ticker
	rate   float32
	place  uint64
	key    uint64
	mask   []uint64 // of the last run, one bit an element
}

func (d *dropout) scale() float32 { return 1 / (1 - d.rate) }

func (d *dropout) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	d.key = kernel.Mix(kernel.Mix(kernel.Mix(d.ticker.Seed)+d.place) + d.ticker.Tick)
	return d.mapped.Do(in...)
}

func (d *dropout) DiffWRT(n int) []bool { return every(n) }

func (d *dropout) SymDiff(_ gorgonia.Nodes, out, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	after, err := ran(out)
	if err != nil {
		return nil, err
	}
	m, err := newMapped(d.pool, "dropoutBack", nil, grad, after)
	if err != nil {
		return nil, err
	}
	m.part = func(_, part int) {
		lo, hi := kernel.Chunk(len(m.y), part)
		kernel.Dropout(m.y[lo:hi], m.a[lo:hi], d.mask[lo/64:], d.scale())
	}
	dx, err := gorgonia.ApplyOp(m, grad, after)
	return gorgonia.Nodes{dx}, err
}
