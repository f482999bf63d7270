package train

import (
	"fmt"

	"github.com/reprise-ml/reprise/data"
)

// Every calls o once each time a count of p reaches or passes a further
// multiple of interval, which is at least 1. Count chooses what is counted, such
// as p.Fresh. It is taken to begin at 0: a run that continues calls o at its
// first step if a multiple lies behind it.
func Every(interval int64, count func(Progress) int64, o Observer) Observer {
	next := interval
	return ObserverFunc(func(p Progress, b data.Batch) error {
		n := count(p)
		if n < next {
			return nil
		}
		next = (n/interval + 1) * interval
		return o.Observe(p, b)
	})
}

// Divergence is the Observer that ends a run, with [Diverged], when the loss
// of its batches has been above ten times that of its first batch for a
// hundred steps.
func Divergence() Observer {
	const factor, patience = 10, 100
	first, above := 0.0, 0
	started := false
	return ObserverFunc(func(p Progress, _ data.Batch) error {
		if !started {
			first, started = p.Last.Loss, true
		}
		if p.Last.Loss <= factor*first {
			above = 0
			return nil
		}
		if above++; above < patience {
			return nil
		}
		return Diverged{p.Steps, fmt.Sprintf("the loss was above %d times its first value, %.4g, for %d steps", factor, first, patience)}
	})
}
