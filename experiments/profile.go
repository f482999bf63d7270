package experiments

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/data/storage"
	"github.com/reprise-ml/reprise/echo"
	"github.com/reprise-ml/reprise/internal/kernel"
	"github.com/reprise-ml/reprise/nn/op"
	"github.com/reprise-ml/reprise/train"
)

// Profile is what a pipeline and its step take on this machine, each stage
// alone and all together, and what follows. Paces are of a batch.
//
// A stage alone works on records that are in memory, with its workers, and
// nothing else runs. The step alone works on batches that are in memory: no
// pipeline makes training faster. Runs of the pipeline have a shuffle buffer of
// one example, which takes no time to fill and costs as much as a large one.
type Profile struct {
	Name    string        `json:"name"`
	Batch   int           `json:"batch"`   // rows
	Cores   int           `json:"cores"`   // that the process may use
	Threads int           `json:"threads"` // that compute a step
	Readers int           `json:"readers"`
	Workers int           `json:"workers"` // of decoding and of augmenting
	Kernel  string        `json:"kernel"`  // path of the compute kernels
	Stages  []StagePace   `json:"stages"`  // in the order data flows; the last is the step
	Whole   Pace          `json:"pipeline"`
	Cold    *ColdPace     `json:"cold,omitempty"` // reading when memory holds nothing of the files; absent where that cannot be had
	Places  []PlaceReport `json:"places"`
	Runs    []ProfileRun  `json:"runs"`
	Slowest string        `json:"bottleneck"` // stage
	Helps   []Help        `json:"helps"`
	Notes   []string      `json:"notes"`
}

// StagePace is the pace of a stage alone.
type StagePace struct {
	Stage   string `json:"stage"`
	Workers int    `json:"workers"`
	Pace

	work work
}

// step is the name of the last stage.
const step = "step"

// ColdPace is how reading goes from the storage itself.
type ColdPace struct {
	Pace
	Share float64 `json:"share"` // of the bytes read, those that a storage device delivered
}

// PlaceReport is what an echo at a place can do.
type PlaceReport struct {
	Place echo.Strategy `json:"place"`
	echo.Balance
	R      float64  `json:"r"`
	RCold  float64  `json:"r_cold,omitempty"` // with reading from cold storage
	Shared bool     `json:"cores_shared"`     // (cpu_up + e·cpu_down) / cores decides the time, not max(t_up, e·t_down)
	Free   float64  `json:"free_factor"`      // up to which further uses cost no time
	Limit  *float64 `json:"useful_factor"`    // above which the speed-up cannot grow; null where it always can, slowly
	Most   float64  `json:"speedup_at_most"`  // at any factor up to 1024

	Factor float64 `json:"factor"`                // of the Spec, R where it is auto, 2 where it does not echo; of what follows
	Fresh  float64 `json:"fresh_example_seconds"` // predicted
	Bound  float64 `json:"speedup_bound"`         // at this factor
}

// ProfileRun is the pipeline and the step together.
type ProfileRun struct {
	Strategy    echo.Strategy `json:"strategy"`
	Factor      float64       `json:"factor"`            // realised, where it sets itself
	Predicted   float64       `json:"predicted_seconds"` // for a fresh example
	Measured    float64       `json:"measured_seconds"`
	Bound       float64       `json:"speedup_bound"` // of training, against no echo, where a repeat is worth a fresh example
	Utilisation float64       `json:"utilisation"`   // share of the time in which the step computes
}

// profiler measures.
type profiler struct {
	Run
	ctx     context.Context
	each    time.Duration // of a measurement
	through func(data.Reader) data.Reader
	faults  data.Faults
	encoded []data.Example // in memory, as they are read
	decoded []data.Example
	formed  []data.Batch
	factor  float64 // of the Spec, R where it sets itself, 2 where there is no echo
	reading int     // records that the measurement of reading went through
	out     Profile
}

// Profile measures the pipeline and the step of s for about so long, but for
// what it takes to open the data and build the model. It writes no run, and
// tells notice what it is doing.
func (s Spec) Profile(ctx context.Context, total time.Duration, notice func(string)) (Profile, error) {
	p := profiler{Run: Run{Spec: s, Notice: notice}, ctx: ctx, each: total / 18}
	if err := p.open(ctx); err != nil {
		return Profile{}, err
	}
	pool := op.NewPool(int(p.Spec.Train.ComputeThreads))
	defer pool.Close()
	if err := p.prepare(pool); err != nil {
		return Profile{}, err
	}
	var err error
	if p.Spec, err = p.calibrate(ctx); err != nil {
		return Profile{}, err
	}
	if p.storage, err = storage.New(p.Spec.Storage.Simulate); err != nil {
		return Profile{}, err
	}
	p.through, p.faults = p.reader, p.Spec.bearing(p.data.Train)
	p.out = Profile{
		Name: s.Name, Batch: s.Train.Batch, Cores: runtime.GOMAXPROCS(0), Threads: cmp.Or(int(p.Spec.Train.ComputeThreads), runtime.GOMAXPROCS(0)),
		Readers: s.Stages.Readers, Workers: s.Stages.Workers, Kernel: kernel.ActivePath().String(), Notes: []string{},
	}
	for _, part := range []struct {
		what    string
		measure func() error
	}{
		{"the stages alone", p.stages},
		{"the pipeline without the step", p.pipeline},
		{"the pipeline and the step together", p.together},
		{"what else would help", p.helps},
	} {
		p.Notice("measuring " + part.what)
		if err := part.measure(); err != nil {
			return Profile{}, fmt.Errorf("measuring %s: %w", part.what, err)
		}
	}
	return p.out, nil
}

// stages measures every stage alone, and what follows from that.
func (p *profiler) stages() error {
	if err := p.load(); err != nil {
		return err
	}
	s := p.Spec
	for _, w := range s.works(p.data.Train) {
		if w.stage == data.StagePipe || w.stage == data.StageStreams { // of which reading is made
			continue
		}
		pace, err := p.alone(w, s.Stages.Workers)
		if err != nil {
			return fmt.Errorf("%s: %w", w.stage, err)
		}
		p.out.Stages = append(p.out.Stages, StagePace{w.stage, w.workers, pace, w})
	}
	pace, err := stepPace(p.ctx, p.learner, p.formed, 2*p.each)
	if err != nil {
		return err
	}
	p.out.Stages = append(p.out.Stages, StagePace{step, p.out.Threads, pace, work{stage: step, before: echo.None}})
	if err := p.cold(); err != nil {
		return err
	}
	switch e := s.Echo; {
	case e.Strategy == echo.None:
		p.factor = 2
	case e.Factor == echo.Auto:
		p.factor = min(max(p.out.at(e.Strategy).R(), 1), float64(e.Max))
	default:
		p.factor = float64(e.Factor)
	}
	p.out.conclude(p.factor)
	p.out.leaveOut(s)
	return nil
}

// held bounds what is kept in memory of each kind of example, and of batches.
const held = 128 << 20

// load brings examples into memory, past simulated storage.
func (p *profiler) load() (err error) {
	s := p.Spec
	n := max(2*s.Train.Batch, 64)
	sound := func(read data.Reader) data.Reader { return p.verified.sound(p.data.Train, read) }
	if p.encoded, err = hold(s.read(p.ctx, p.data.Train, sound, p.faults, data.Replay{}), n, held); err != nil {
		return err
	}
	decoded := data.Decode(p.ctx, again(p.encoded), s.Stages.Workers, p.faults)
	if p.decoded, err = hold(decoded, len(p.encoded), held); err != nil {
		return err
	}
	for b, err := range s.mix(p.ctx, data.Batches(p.finished(s.Stages.Workers), s.Train.Batch, s.form(p.ctx)), s.Input.Mix.Redraw) {
		if err != nil {
			return err
		}
		if p.formed = append(p.formed, b); len(p.formed) == 2 || batchBytes(b) > held/2 {
			break
		}
	}
	return nil
}

// augmented is examples without end, augmented by so many workers.
func (p *profiler) augmented(workers int) data.Seq[data.Example] {
	s := p.Spec
	return data.Augment(p.ctx, again(p.decoded), workers, s.stage("augment"), s.Input.chosen(s.Input.Augment)...)
}

// finished is examples without end, ready to be put in batches.
func (p *profiler) finished(workers int) data.Seq[data.Example] {
	s := p.Spec
	return data.Finish(p.ctx, p.augmented(workers), workers, s.stage("finish"), values(s.Input.AugmentAfter)...)
}

// alone is the pace of a stage that nothing runs beside.
func (p *profiler) alone(w work, workers int) (Pace, error) {
	s := p.Spec
	b := s.Train.Batch
	switch w.stage {
	case data.StageRead:
		pace, items, err := paceOf(s.read(p.ctx, p.data.Train, p.through, p.faults, data.Replay{}), p.each, s.Stages.Readers)
		if p.reading = items; err != nil || p.simulated() {
			return pace.over(b), err
		}
		// The same records once more: they are in memory now.
		pace, _, err = paceOf(first(s.read(p.ctx, p.data.Train, p.through, p.faults, data.Replay{}), items), p.each, items)
		return pace.over(b), err
	case data.StageDecode:
		pace, err := bestPace(data.Decode(p.ctx, again(p.encoded), workers, p.faults), p.each, 2*workers)
		return pace.over(b), err
	case data.StageAugment:
		pace, err := bestPace(p.augmented(workers), p.each, 2*workers)
		return pace.over(b), err
	case data.StageFinish:
		examples, err := hold(p.augmented(workers), 2*b, held)
		if err != nil {
			return Pace{}, err
		}
		pace, err := bestPace(data.Finish(p.ctx, again(examples), workers, s.stage("finish"), values(s.Input.AugmentAfter)...), p.each, 2*workers)
		return pace.over(b), err
	case data.StageBatch:
		examples, err := hold(p.finished(workers), 2*b, held)
		if err != nil {
			return Pace{}, err
		}
		pace, err := bestPace(data.Batches(again(examples), b, s.form(p.ctx)), p.each/2, 1)
		return pace, err
	}
	plain, err := s.format().Batch(p.some(b))
	if err != nil {
		return Pace{}, err
	}
	mixed := func(yield func(data.Batch, error) bool) {
		for yield(s.Input.Mix.Batch(plain, plain.Rand(s.stage("mix")))) {
		}
	}
	pace, err := bestPace(mixed, p.each/2, 1)
	return pace, err
}

// some returns n examples as they enter a batch.
func (p *profiler) some(n int) []data.Example { return slices.Repeat([]data.Example{p.sample}, n) }

// simulated reports whether records come from simulated storage, of which
// nothing is ever in memory.
func (p *profiler) simulated() bool { return p.Spec.Storage.Simulate != storage.Simulated{} }

// pipeline measures the pipeline without the step.
func (p *profiler) pipeline() (err error) {
	p.out.Whole, _, err = paceOf(p.whole(echo.Spec{}), 2*p.each, 1)
	return err
}

// whole is the pipeline with an echo, and without a buffer to fill.
func (p *profiler) whole(e echo.Spec) data.Seq[data.Batch] {
	s := p.Spec
	s.Echo, s.Stages.Shuffle = e.WithDefaults(), Buffer{Items: 1}
	s.Echo.ShuffleBatches = 0
	return s.Pipeline(p.ctx, p.data.Train, p.through, p.faults, Start{})
}

// together runs the pipeline with the step: without an echo, and with that of
// the Spec.
func (p *profiler) together() error {
	echoes := []echo.Spec{echo.Spec{}.WithDefaults()}
	if p.Spec.Echo.Strategy != echo.None {
		echoes = append(echoes, p.Spec.Echo)
	}
	for _, e := range echoes {
		least := int64(2*p.factor) + 2
		done := func(at train.Progress) bool {
			return at.Elapsed >= 2*p.each && at.Steps >= least || at.Steps >= mostItems
		}
		run, err := train.Run(p.ctx, train.Progress{}, p.learner, p.whole(e), done)
		if err != nil {
			return err
		}
		b, f := p.out.at(e.Strategy), float64(e.Factor)
		if e.Factor == echo.Auto {
			f = float64(run.Examples) / float64(run.Fresh)
		}
		// The wait for the first batch is not among those of the run.
		steps := float64(run.Steps)
		each := run.Wait.Seconds()/(steps-1) + run.Compute.Seconds()/steps
		p.out.Runs = append(p.out.Runs, ProfileRun{
			Strategy: e.Strategy, Factor: f,
			Predicted: b.Time(f) / float64(p.out.Batch), Measured: each * f / float64(p.out.Batch),
			Bound: b.Speedup(f), Utilisation: run.Compute.Seconds() / (each * steps),
		})
	}
	return nil
}
