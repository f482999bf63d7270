package experiments

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"

	"gorgonia.org/gorgonia"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/data/storage"
	"github.com/reprise-ml/reprise/echo"
	"github.com/reprise-ml/reprise/internal/kernel"
	"github.com/reprise-ml/reprise/nn"
	"github.com/reprise-ml/reprise/nn/op"
	"github.com/reprise-ml/reprise/optim"
	"github.com/reprise-ml/reprise/train"
	"github.com/reprise-ml/reprise/train/report"
)

// Run is one training: a Spec, and where its files go.
type Run struct {
	Spec     Spec
	Dir      string           // of the run; made by Train
	Force    bool             // a run in Dir is replaced
	Resume   bool             // a run in Dir goes on from its last checkpoint; where there is none, it begins
	Progress *report.Progress // for people; nil shows nothing
	Notice   func(string)     // is told what a person should know at the start; nil drops it

	// Schedule is the choices that an automatic factor makes before it makes its own: those of an earlier
	// run, which is then made again bit for bit.
	Schedule []echo.Choices

	data     *Dataset
	shape    Shape        // of the data
	sample   data.Example // of the training data, prepared
	raw      stored       // of the record of which sample was made
	hollow   data.Batch   // of copies of it, for its shape
	learner  *train.Learner
	ema      *optim.EMA
	storage  *storage.Storage
	faults   *faultLog
	verified *mark // of the data; nil where it is not marked as clean
	turned   turned
	meter    *data.Meter
	scale    scale
	opening  reading      // at the start
	reuse    *train.Reuse // nil where nothing is used again
	metrics  *report.Metrics
	summary  report.Summary
	since    train.Progress // at the last line of training
	weighed  reading        // likewise
	used     train.Uses     // likewise
	reused   train.Uses     // where training begins
	losses   float64        // since then
	judged   int64          // steps at the last evaluation
	owed     bool           // that evaluation was broken off
	best     float64        // main score of BestWeights
	reached  bool

	divergence train.Divergence
	lock       *os.File       // of Dir
	from       *resumption    // nil from the start
	begun      train.Progress // where training begins
	at         data.Replay    // where the pipeline does
	choices    []echo.Choices // of an automatic factor, to be made again
	schedule   echo.Schedule  // of an automatic factor
	kept       int64          // steps at the last checkpoint
	whole      int64          // steps after which all observers were told
}

// Train trains as the Spec says and writes the directory. The summary tells
// how the run ended, also when it ended with an error: one of the
// interruption of ctx is that of ctx. A run that has ended already is not
// resumed: its summary is returned.
func (r *Run) Train(ctx context.Context) (_ report.Summary, err error) {
	if r.lock, err = lockRun(r.Dir, false); err != nil {
		return report.Summary{}, err
	}
	defer func() {
		if r.lock != nil {
			r.lock.Close()
		}
	}()
	if !r.Resume {
		if _, err := claimable(r.Dir, r.Force); err != nil {
			return report.Summary{}, err
		}
	}
	if err := r.open(ctx); err != nil {
		return report.Summary{}, err
	}
	if r.Resume {
		if err := r.adopt(); err != nil {
			return report.Summary{}, err
		}
		if s, err := report.ReadSummary(r.Dir); err == nil && finished(s.Status) {
			r.Notice(fmt.Sprintf("the run in %s is finished already", r.Dir))
			return s, nil
		}
		if err := r.find(); err != nil {
			return report.Summary{}, err
		}
	}
	pool := op.NewPool(int(r.Spec.Train.ComputeThreads))
	defer pool.Close()
	if err := r.prepare(pool); err != nil {
		return report.Summary{}, err
	}
	need := r.need()
	defer need.limited()()
	if err := r.begin(ctx); err != nil {
		return report.Summary{}, err
	}
	r.summary.PredictedRSS = int64(need.total())
	defer r.faults.Close()
	defer r.metrics.Close()

	r.measure()
	p, err := r.loop(ctx)
	if r.Progress != nil {
		r.Progress.Close()
	}
	return r.end(ctx, p, err)
}

// open opens the data, tries a record of each part, and sizes the buffers.
func (r *Run) open(ctx context.Context) (err error) {
	if err := kernel.CheckPath(); err != nil {
		return SpecError{err}
	}
	if r.Notice == nil {
		r.Notice = func(string) {}
	}
	if r.Spec, r.data, err = r.Spec.Open(); err != nil {
		return SpecError{err}
	}
	if r.verified, err = markOf(r.Spec.Data.Source); err != nil {
		return err
	}
	r.shape = r.data.shape(r.Spec)
	if err := r.Spec.Stop.Target.check(r.shape); err != nil {
		return SpecError{fmt.Errorf("stop.target: %w", err)}
	}
	if r.sample, r.raw, err = r.data.probe(ctx, r.Spec); err != nil {
		return err
	}
	if r.hollow, err = r.Spec.training(slices.Repeat([]data.Example{r.sample}, r.Spec.Train.Batch)); err != nil {
		return err
	}
	r.Spec = r.Spec.sized(r.sample, r.hollow)
	if t, ok := r.Spec.textual(); ok {
		r.Notice(t.Unit())
	}
	m := r.Spec.Stages.Shuffle.Items
	r.Notice(fmt.Sprintf("shuffle buffer: %s examples, %v", number(float64(m)), Bytes(m)*exampleBytes(r.sample)))
	if n := r.data.Train.Len(); n != data.Endless && m > n {
		r.Notice(fmt.Sprintf("the shuffle buffer of %d examples is larger than the training data of %d: it holds several reads of a record, and the first step waits for %.1f epochs", m, n, float64(m)/r.Spec.echoedBefore()/float64(n)))
	}
	return nil
}

// prepare builds the model, so that whatever is wrong with it is found before
// a file is written.
func (r *Run) prepare(pool *op.Pool) error {
	if r.Schedule != nil && r.Spec.Echo.Factor != echo.Auto {
		return SpecError{fmt.Errorf("echo.factor: is %v, and a schedule is to be replayed, which takes auto", r.Spec.Echo.Factor)}
	}
	model, err := r.Spec.Model.Value.Build(r.shape)
	if err != nil {
		return SpecError{fmt.Errorf("model.%s: %w", r.Spec.Model.Name, err)}
	}
	t := r.Spec.Train
	r.learner = &train.Learner{
		Model:      model,
		Task:       r.shape.task(t.LabelSmoothing),
		Optimizer:  newOptimizer(t.Optimizer.Value, pool),
		Accumulate: t.Accumulate,
		Build:      nn.Config{Seed: r.Spec.stage("weights"), Pool: pool},
		Clip: func(w []gorgonia.ValueGrad) (float64, error) {
			return optim.ClipNorm(w, t.ClipNorm)
		},
	}
	if r.learner.Rate, err = r.rate(); err != nil {
		return SpecError{err}
	}
	if t.EMA != nil {
		r.ema = fresh(t.EMA)
	}
	if err := r.learner.Prepare(r.hollow); err != nil {
		return SpecError{fmt.Errorf("model.%s: %w", r.Spec.Model.Name, err)}
	}
	judged, err := r.Spec.format().Batch(slices.Repeat([]data.Example{r.sample}, min(r.Spec.Evaluate.Batch, r.data.Validation.Len())))
	if err != nil {
		return err
	}
	if err := r.learner.PrepareEvaluation(judged); err != nil {
		return SpecError{fmt.Errorf("model.%s: %w", r.Spec.Model.Name, err)}
	}
	if t.Init == "" || r.from != nil {
		return nil
	}
	path, err := t.Init.Expand()
	if err != nil {
		return SpecError{fmt.Errorf("train.init: %w", err)}
	}
	return train.Load(path, &r.learner.Params)
}

// fresh returns a pointer to a copy of what p points to, a struct of settings
// that has not been used.
func fresh[T any](p T) T {
	c := reflect.New(reflect.TypeOf(p).Elem())
	c.Elem().Set(reflect.ValueOf(p).Elem())
	return c.Interface().(T)
}

// newOptimizer has the settings of o, and updates on the threads of pool if it can.
func newOptimizer(o Optimizer, pool *op.Pool) Optimizer {
	o = fresh(o)
	if threaded, ok := o.(interface{ SetPool(p *op.Pool) }); ok {
		threaded.SetPool(pool)
	}
	return o
}

// begin makes the directory and the files that are there from the start.
func (r *Run) begin(ctx context.Context) (err error) {
	if r.Spec, err = r.calibrate(ctx); err != nil {
		return err
	}
	if r.storage, err = storage.New(r.Spec.Storage.Simulate); err != nil {
		return err
	}
	if r.from != nil {
		return r.proceed(ctx)
	}
	if r.lock, err = claim(r.Dir, r.Force, r.lock); err != nil {
		return err
	}
	r.at.Ends = new(data.Endings)
	if err := report.WriteJSON(filepath.Join(r.Dir, "meta.json"), newMeta(r.Spec, r.data.Classes)); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(r.Dir, checkpointsDir), 0o755); err != nil {
		return fmt.Errorf("run directory: %w", err)
	}
	if err := train.WriteFile(filepath.Join(r.Dir, "config.yaml"), r.Spec.Write); err != nil {
		return err
	}
	if err := r.plan(nil); err != nil {
		return err
	}
	if r.faults, err = openFaults(r.Dir, r.Spec.Data.MaxBad); err != nil {
		return err
	}
	if r.metrics, err = report.OpenMetrics(r.Dir); err != nil {
		r.faults.Close()
		return err
	}
	r.summary = report.Summary{
		Name: r.Spec.Name, Status: report.Failed, Seed: r.Spec.Seed, Target: r.Spec.Stop.Target.String(),
		Strategy: string(r.Spec.Echo.Strategy), Factor: max(float64(r.Spec.Echo.Factor), 0),
		Lenient: r.verified != nil && r.inPart(),
	}
	return nil
}

// loop is the training itself.
func (r *Run) loop(ctx context.Context) (train.Progress, error) {
	s := r.Spec
	r.weigh(r.begun)
	every, count, err := r.interval(s.Evaluate.Every)
	if err != nil {
		return train.Progress{}, fmt.Errorf("evaluate.every: %w", err)
	}
	logEvery, logCount, err := r.interval(s.Log.Every)
	if err != nil {
		return train.Progress{}, fmt.Errorf("log.every: %w", err)
	}
	keepEvery, keepCount, err := r.interval(s.Checkpoint.Every)
	if err != nil {
		return train.Progress{}, fmt.Errorf("checkpoint.every: %w", err)
	}
	through := func(read data.Reader) data.Reader { return r.turned.watch(r.reader(read)) }
	batches := s.Pipeline(data.WithMeter(ctx, r.meter), r.data.Train, through, r.handler("train", r.data.Train), Start{r.at, r.choices, &r.schedule, r.recall})
	from := r.begun
	observers := []train.Observer{
		train.ObserverFunc(r.note),
		train.Every(50, func(p train.Progress) int64 { return p.Steps }, from, train.ObserverFunc(widen)),
		&r.divergence,
		r.watchWorkers(r.meter),
		train.Every(logEvery, logCount, from, train.ObserverFunc(r.logTraining)),
		train.Every(every, count, from, train.ObserverFunc(func(p train.Progress, _ data.Batch) error { return r.judge(ctx, p) })),
		train.ObserverFunc(func(p train.Progress, _ data.Batch) error { r.whole = p.Steps; return nil }),
		train.Every(keepEvery, keepCount, from, train.ObserverFunc(func(p train.Progress, _ data.Batch) error { return r.keep(p) })),
	}
	p := from
	if r.owed {
		err = r.judge(ctx, p)
	}
	if err == nil {
		p, err = train.Run(ctx, p, r.learner, batches, r.done, observers...)
	}
	if err == nil && r.judged != p.Steps {
		err = r.judge(ctx, p)
	}
	return p, err
}

// reader reads through the storage, and tells of the records that were
// verified.
func (r *Run) reader(read data.Reader) data.Reader {
	return r.verified.sound(r.data.Train, r.storage.Reader(read))
}

// handler returns what becomes of damaged records of a part.
func (r *Run) handler(part string, src data.Source) data.Faults {
	if r.Spec.Data.OnError != OnErrorSkip {
		return failing(src)
	}
	return r.faults.of(part, src)
}

// done reports whether the target or a limit is reached.
func (r *Run) done(p train.Progress) bool {
	fresh, steps := r.limits()
	return r.reached || p.Fresh >= fresh || p.Steps >= steps
}

// limits returns the most fresh examples and steps of the run.
func (r *Run) limits() (fresh, steps int64) {
	fresh, steps = math.MaxInt64, math.MaxInt64
	stop := r.Spec.Stop
	if stop.MaxFresh > 0 {
		fresh = stop.MaxFresh
	}
	if stop.MaxEpochs > 0 {
		fresh = min(fresh, int64(math.Ceil(stop.MaxEpochs*float64(r.data.Train.Len()))))
	}
	if stop.MaxSteps > 0 {
		steps = stop.MaxSteps
	}
	return fresh, steps
}

// interval turns a Span into a number of what count counts.
func (r *Run) interval(s Span) (n int64, count func(train.Progress) int64, err error) {
	fresh := func(p train.Progress) int64 { return p.Fresh }
	size := r.data.Train.Len()
	switch {
	case s.Unit == Steps:
		return max(int64(s.N), 1), func(p train.Progress) int64 { return p.Steps }, nil
	case s.Unit == Fresh:
		return max(int64(s.N), 1), fresh, nil
	case size == data.Endless:
		return 0, nil, errors.New("is in epochs, and the training data has no end")
	default:
		return max(int64(math.Round(s.N*float64(size))), 1), fresh, nil
	}
}

// rate returns the learning rate over the run.
func (r *Run) rate() (func(train.Progress) float64, error) {
	spec := r.Spec.Train.Rate
	horizon := spec.Horizon
	if fresh, steps := r.limits(); horizon.IsZero() {
		if horizon = (Span{float64(fresh), Fresh}); steps < math.MaxInt64 {
			horizon = Span{float64(steps), Steps}
		}
	}
	over, count, err := r.interval(horizon)
	if err != nil {
		return nil, fmt.Errorf("train.rate.horizon: %w", err)
	}
	warmup := int64(0)
	if !spec.Warmup.IsZero() {
		if (spec.Warmup.Unit == Steps) != (horizon.Unit == Steps) {
			return nil, fmt.Errorf("train.rate.warmup: is %v, and the horizon is %v; want the same unit", spec.Warmup, horizon)
		}
		if warmup, _, err = r.interval(spec.Warmup); err != nil {
			return nil, fmt.Errorf("train.rate.warmup: %w", err)
		}
		if warmup >= over && spec.Schedule != "constant" { // the rate would rise to what is left at the horizon, often 0
			return nil, fmt.Errorf("train.rate.warmup: is %v, and the horizon %v; want a warm-up that ends before it", spec.Warmup, horizon)
		}
	}
	schedule := spec.over(float64(over), float64(warmup))
	return func(p train.Progress) float64 { return schedule.Rate(float64(count(p))) }, nil
}

// Check finds out whether Train could begin: it opens the data, prepares a
// record of each part and builds the model, and writes nothing.
func (r *Run) Check(ctx context.Context) error {
	if err := r.open(ctx); err != nil {
		return err
	}
	return r.prepare(nil)
}
