package experiments

import (
	"time"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/train"
)

// watchedSteps is how many steps the workers of the pipeline are watched for.
const watchedSteps = 50

// newMeter returns a meter that runs by the clock.
func newMeter() *data.Meter {
	begun := time.Now()
	return &data.Meter{Clock: func() time.Duration { return time.Since(begun) }}
}

// watchWorkers is the observer that notes in the summary how many cores the
// workers that decode and augment keep busy over the first steps.
//
// They share the cores with the threads that compute a step, of which auto
// starts one a core. Those spin for a moment between the operations of a
// step before they give their core up. To stop that where the workers keep
// more than half a core busy was tried, and is not done: see Threads in
// internal/kernel/README.md.
func (r *Run) watchWorkers(meter *data.Meter) train.Observer {
	busy := func() time.Duration {
		return meter.Timing(data.StageDecode).Busy + meter.Timing(data.StageAugment).Busy + meter.Timing(data.StageFinish).Busy
	}
	var before time.Duration
	var from train.Progress
	return train.ObserverFunc(func(p train.Progress, _ data.Batch) error {
		switch {
		case from.Steps == 0: // the first, also of a run that is resumed
			before, from = busy(), p
		case p.Steps == watchedSteps:
			cores := (busy() - before).Seconds() / (p.Elapsed - from.Elapsed).Seconds()
			r.summary.WorkerCores = &cores
		}
		return nil
	})
}
