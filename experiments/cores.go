package experiments

import (
	"time"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/nn/op"
	"github.com/reprise-ml/reprise/train"
)

// With compute_threads: auto, a step is computed by one thread a core, and
// the workers that decode and augment share the cores with it. Threads that
// wait for the next operation of a step spin for a moment before they give
// their core up, which is faster as long as nobody else wants it. So the
// first steps are watched: where the workers keep more than half a core busy,
// the threads do not spin from then on.
const (
	watchedSteps = 50
	spareCores   = 0.5
)

// newMeter returns a meter that runs by the clock.
func newMeter() *data.Meter {
	begun := time.Now()
	return &data.Meter{Clock: func() time.Duration { return time.Since(begun) }}
}

// shareCores is the observer that watches the first steps. It notes in the
// summary how many cores the workers kept busy.
func (r *Run) shareCores(pool *op.Pool, meter *data.Meter) train.Observer {
	busy := func() time.Duration {
		return meter.Timing(data.StageDecode).Busy + meter.Timing(data.StageAugment).Busy
	}
	var before time.Duration
	var from train.Progress
	return train.ObserverFunc(func(p train.Progress, _ data.Batch) error {
		switch p.Steps {
		case 1:
			before, from = busy(), p
		case watchedSteps:
			cores := (busy() - before).Seconds() / (p.Elapsed - from.Elapsed).Seconds()
			r.summary.WorkerCores = &cores
			if r.Spec.Train.ComputeThreads == 0 && cores > spareCores {
				pool.SetSpin(0)
			}
		}
		return nil
	})
}
