package train

import (
	"fmt"

	"github.com/reprise-ml/reprise/data"
)

// Every calls o once each time a count of p reaches or passes a further
// multiple of interval, which is at least 1. Count chooses what is counted, such
// as p.Fresh, and from is where the run begins: what its count has passed there
// is over.
func Every(interval int64, count func(Progress) int64, from Progress, o Observer) Observer {
	after := func(n int64) int64 { return (n/interval + 1) * interval }
	next := after(count(from))
	return ObserverFunc(func(p Progress, b data.Batch) error {
		n := count(p)
		if n < next {
			return nil
		}
		next = after(n)
		return o.Observe(p, b)
	})
}

// Divergence is the Observer that ends a run, with [Diverged], when the loss
// of its batches has been above ten times that of its first batch for a
// hundred steps. The zero Divergence has seen no batch; the fields are what a
// checkpoint keeps.
type Divergence struct {
	Started bool    `json:"started"`
	First   float64 `json:"first"` // loss of the first batch
	Above   int     `json:"above"` // steps in a row that the loss has been too high
}

// Observe implements [Observer].
func (d *Divergence) Observe(p Progress, _ data.Batch) error {
	const factor, patience = 10, 100
	if !d.Started {
		d.First, d.Started = p.Last.Loss, true
	}
	if p.Last.Loss <= factor*d.First {
		d.Above = 0
		return nil
	}
	if d.Above++; d.Above < patience {
		return nil
	}
	return Diverged{p.Steps, fmt.Sprintf("the loss was above %d times its first value, %.4g, for %d steps", factor, d.First, patience)}
}
