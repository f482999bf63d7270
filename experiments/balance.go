package experiments

import (
	"slices"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/echo"
	"github.com/reprise-ml/reprise/train"
	"github.com/reprise-ml/reprise/train/report"
)

// work is a stage of the pipeline, as a [data.Meter] knows it.
type work struct {
	stage   string
	workers int
	batches bool          // its calls are for batches, not for examples
	before  echo.Strategy // the first place of an echo right of it; none for the stages right of all
}

// works are the stages of the pipeline in the order data flows.
func (s Spec) works(src data.Source) []work {
	mixed := work{data.StageMix, 1, true, echo.Batch}
	if s.Input.Mix.Redraw {
		mixed.before = echo.None
	}
	list := []work{
		{data.StageStreams, 1, false, echo.Read},
		{data.StageRead, s.Stages.Readers, false, echo.Read},
		{data.StagePipe, 1, false, echo.Read},
		{data.StageDecode, s.Stages.Workers, false, echo.Example},
		{data.StageAugment, s.Stages.Workers, false, echo.Augmentation},
		{data.StageFinish, s.Stages.Workers, false, echo.Batch},
		{data.StageBatch, 1, true, echo.Batch},
		mixed,
	}
	return slices.DeleteFunc(list, func(w work) bool {
		_, streams := src.(data.Stream)
		_, text := s.textual()
		return w.stage == data.StageStreams && !streams ||
			w.stage == data.StagePipe && s.Storage.Simulate.Bandwidth == 0 ||
			w.stage == data.StageAugment && text ||
			w.stage == data.StageFinish && len(s.Input.AugmentAfter) == 0 ||
			w.stage == data.StageMix && s.Input.Mix.IsZero()
	})
}

// joins reports whether the workers of w do what those of the stage before it
// do, too: the time is that of both together. Pictures are decoded where they
// are augmented, but for an echo in between.
func (w work) joins(place echo.Strategy) bool {
	return w.stage == data.StageAugment && place != echo.Example
}

// upstream reports whether w is left of an echo at a place. Without an echo
// everything is, but the step.
func (w work) upstream(place echo.Strategy) bool {
	all := echo.Strategies()
	return place == echo.None || w.before != echo.None && slices.Index(all, w.before) <= slices.Index(all, place)
}

// scale estimates both sides of the echo while a run trains, from what
// happened between two readings.
//
// The step is measured. A stage of the pipeline takes for a batch its busy time,
// over its calls and its workers: exact where the time of a call does not
// depend on how many are under way. The slowest on a side is that side. While
// the step waits, the slowest stage of all works without a break, and the
// batches that come out (see [data.Outlet]) give its time, with all that the
// stages do not know of themselves: this takes the place of the estimate.
//
// While the step does not wait, the pipeline is held back, and two things
// cannot be seen. Reads that share a disk or a network look faster than they
// would be, so that t_up is a lower bound; simulated storage knows its pipe
// and has no such error. And stages that share the cores with the step look
// slower; what the step was delivered is the upper bound for them.
type scale struct {
	meter *data.Meter
	works []work
	place echo.Strategy
	batch int
	depth int // of the queue of batches
}

func (s Spec) scale(meter *data.Meter, src data.Source) scale {
	return scale{meter, s.works(src), s.Echo.Strategy, s.Train.Batch, s.Stages.Prefetch.Items}
}

// reading is what a scale stands at.
type reading struct {
	progress train.Progress
	timings  []data.Timing // of the works
	outlet   data.Outlet
}

func (s scale) read(p train.Progress) reading {
	r := reading{progress: p, outlet: s.meter.Outlet()}
	for _, w := range s.works {
		r.timings = append(r.timings, s.meter.Timing(w.stage))
	}
	return r
}

// stage is the time of work i for a batch, in seconds; 0 where it did nothing
// in between.
func (s scale) stage(i int, from, to reading) float64 {
	var before data.Timing
	if from.timings != nil {
		before = from.timings[i]
	}
	w, calls := s.works[i], to.timings[i].Calls-before.Calls
	if calls == 0 {
		return 0
	}
	each := (to.timings[i].Busy - before.Busy).Seconds() / float64(calls) / float64(w.workers)
	if w.batches {
		return each
	}
	return each * float64(s.batch)
}

// between estimates the balance of the time between two readings; its sides
// are 0 where nothing is known.
func (s scale) between(from, to reading) echo.Balance {
	steps := to.progress.Steps - from.progress.Steps
	if steps == 0 {
		return echo.Balance{}
	}
	step := (to.progress.Compute - from.progress.Compute).Seconds() / float64(steps)
	var up, side, last float64 // side: right of the echo, but for the step
	for i, w := range s.works {
		took := s.stage(i, from, to)
		if took == 0 {
			took = s.stage(i, reading{}, to)
		}
		if w.joins(s.place) {
			took += last
		}
		last = took
		if w.upstream(s.place) {
			up = max(up, took)
		} else {
			side = max(side, took)
		}
	}
	reads := float64(to.progress.Reads - from.progress.Reads)
	batch := float64(s.batch)
	taken := to.outlet.Taken - from.outlet.Taken
	starved := struct{ time, batches, reads float64 }{
		(to.outlet.Starved.Time - from.outlet.Starved.Time).Seconds(),
		float64(to.outlet.Starved.Batches - from.outlet.Starved.Batches),
		float64(to.outlet.Starved.Reads - from.outlet.Starved.Reads),
	}
	if starved.reads > 0 && 2*starved.batches >= float64(taken) {
		// What the upstream takes for a batch that comes out, whose reads
		// are fewer than its rows where there is an echo in between.
		ofBatch := up * starved.reads / (batch * starved.batches)
		freshly, each := starved.time*batch/starved.reads, starved.time/starved.batches
		if ofBatch >= side {
			up, side = freshly, min(side, each)
		} else {
			up, side = min(up, freshly), each
		}
	} else if taken > 0 && to.outlet.Pauses == from.outlet.Pauses {
		// Of the batches taken some were in the queue already.
		if made := reads * (1 - float64(s.depth+1)/float64(taken)); made > 0 {
			up = min(up, (to.progress.Elapsed-from.progress.Elapsed).Seconds()*batch/made)
		}
	}
	return echo.Balance{Up: up, Down: max(side, step)}
}

// weigh begins the measuring of a run that goes on from a state.
func (r *Run) weigh(from train.Progress) {
	r.meter = newMeter()
	r.scale = r.Spec.scale(r.meter, r.data.Train)
	r.opening = r.scale.read(from)
	r.weighed = r.opening
	if e := r.Spec.Echo; e.Strategy != echo.None {
		rows, factor := max(recentBatches, e.ShuffleBatches)*r.Spec.Train.Batch, 1.
		if e.Strategy != echo.Batch {
			rows = r.Spec.Stages.Shuffle.Items
		}
		if e.Factor != echo.Auto {
			factor = float64(e.Factor)
		}
		r.reuse = &train.Reuse{Window: train.Window(rows, r.Spec.Train.Batch, factor), Total: r.reused}
	}
}

// recall remembers the uses of what was trained on before the run was resumed.
func (r *Run) recall(step int64, b data.Batch) {
	if r.reuse != nil {
		r.reuse.Remember(step, b)
	}
}

// uses are the uses of reads so far.
func (r *Run) uses() train.Uses {
	if r.reuse == nil {
		return train.Uses{}
	}
	return r.reuse.Total
}

// rates are those of the time between two readings, and of the uses since
// others.
func (r *Run) rates(from, now reading, used train.Uses) report.Rates {
	var rates report.Rates
	if elapsed := now.progress.Elapsed - from.progress.Elapsed; elapsed > 0 {
		rates.Utilisation = pointer((now.progress.Compute - from.progress.Compute).Seconds() / elapsed.Seconds())
	}
	if b := r.scale.between(from, now); b.Up > 0 && b.Down > 0 {
		rates.TUp, rates.TDown, rates.R = &b.Up, &b.Down, pointer(b.R())
	}
	if repeats := r.uses().Repeats(used); repeats > 0 {
		rates.Repeats = &repeats
	}
	if lag, ok := r.uses().Lag(used); ok {
		rates.Lag = &lag
	}
	return rates
}
