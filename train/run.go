package train

import (
	"context"
	"fmt"
	"time"

	"github.com/reprise-ml/reprise/data"
)

// Stepper makes one weight update from a batch. at is the progress before it.
type Stepper interface {
	Step(b data.Batch, at Progress) (Stats, error)
}

// Stats is what a step found.
type Stats struct {
	Loss     float64 // mean over the batch, before the update
	Rate     float64 // learning rate
	GradNorm float64 // global norm of the gradient, before clipping
	Correct  int     // rows classified rightly, before the update; 0 where targets are no classes
}

// Progress is the state of a run after a step.
type Progress struct {
	Steps      int64 // weight updates
	Examples   int64 // rows trained on, echoes included
	Fresh      int64 // rows trained on that were reads, not echoes: the paper's fresh examples
	Reads      int64 // records read to form what was trained on; Fresh and what waited in buffers
	Duplicates int64 // rows whose read was in their batch already
	Last       Stats // of the last step

	Fill    time.Duration // before the first step, while the buffers filled
	Elapsed time.Duration // since the first step, without the time of observers: Wait + Compute
	Wait    time.Duration // for batches
	Compute time.Duration // in steps
	CPU     time.Duration // of the process over Elapsed, all threads; 0 where the system does not tell
}

// Observer is told of each step, and may look at b until it returns: then the
// batch is released, unless it called Keep. Its time does not count as Elapsed. An error ends the run.
type Observer interface {
	Observe(p Progress, b data.Batch) error
}

// ObserverFunc is a function that is an Observer.
type ObserverFunc func(p Progress, b data.Batch) error

// Observe implements [Observer].
func (f ObserverFunc) Observe(p Progress, b data.Batch) error { return f(p, b) }

// Run trains s on batches from the state from on, until done reports true,
// the batches run out, ctx is cancelled, or something fails. done is asked
// before the first step too. Run returns how far it got.
func Run(ctx context.Context, from Progress, s Stepper, batches data.Seq[data.Batch], done func(Progress) bool, obs ...Observer) (Progress, error) {
	p := from
	if done(p) {
		return p, nil
	}
	filled := false
	clock := startWatch()
	for b, err := range batches {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return p, err
		}
		waited, cpu := clock.lap()
		if filled {
			p.Wait += waited
			p.Elapsed += waited
			p.CPU += cpu
		} else {
			p.Fill += waited
			filled = true
		}
		stats, err := s.Step(b, p)
		if err != nil {
			return p, fmt.Errorf("train: step %d: %w", p.Steps+1, err)
		}
		computed, cpu := clock.lap()
		p.Last = stats
		p.Compute += computed
		p.Elapsed += computed
		p.CPU += cpu
		p.Steps++
		p.Examples += int64(len(b.Origins))
		p.Fresh += int64(b.Fresh())
		p.Reads = max(p.Reads, b.Reads)
		p.Duplicates += int64(b.Duplicates())
		for _, o := range obs {
			if err := o.Observe(p, b); err != nil {
				return p, err
			}
		}
		b.Release()
		if done(p) {
			return p, nil
		}
		clock.lap()
	}
	return p, ctx.Err()
}

// stopwatch measures wall and processor time from lap to lap.
type stopwatch struct {
	wall time.Time
	cpu  time.Duration
}

func startWatch() stopwatch { return stopwatch{time.Now(), CPUTime()} }

func (w *stopwatch) lap() (wall, cpu time.Duration) {
	now := startWatch()
	wall, cpu = now.wall.Sub(w.wall), now.cpu-w.cpu
	*w = now
	return wall, cpu
}
