package experiments

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"gorgonia.org/gorgonia"

	"github.com/reprise-ml/reprise/internal/exec"
	"github.com/reprise-ml/reprise/internal/kernel"
	"github.com/reprise-ml/reprise/nn"
	"github.com/reprise-ml/reprise/nn/op"
	"github.com/reprise-ml/reprise/optim"
	"github.com/reprise-ml/reprise/train"
)

// StepBench measures a training step: forward, backward and the update, on one batch of noise. Models
// say what it is like and which optimizer they are trained with: see [Benched].
type StepBench struct {
	Model   string        // name in the registry, with settings: resnet_cifar:depth=20
	Batch   int           // rows of the step, at most 2^20
	Threads int           // that compute it, at most 1024
	Time    time.Duration // to measure for, after the warm-up; at least one step is
	Ops     bool          // break the step down into its operations
}

// StepTimes is what a [StepBench] found.
type StepTimes struct {
	Model       string `json:"model"`
	Batch       int    `json:"batch"`
	Threads     int    `json:"threads"`
	Kernel      string `json:"kernel"` // path of the compute kernels
	StepSeconds struct {
		Min    float64 `json:"min"`
		Median float64 `json:"median"`
	} `json:"step_seconds"`
	ExamplesPerSecond     float64  `json:"examples_per_second"`              // of the median step
	ExamplesPerSecondBest float64  `json:"examples_per_second_best"`         // of the fastest
	TokensPerSecond       float64  `json:"tokens_per_second,omitempty"`      // of language models, of the median step
	TokensPerSecondBest   float64  `json:"tokens_per_second_best,omitempty"` // of the fastest
	GFLOPS                float64  `json:"gflops"`                           // 1e9 products and sums a second in convolutions, linear layers and attention, of the median step
	AllocsPerStep         float64  `json:"allocs_per_step"`                  // objects, with the few that Go's runtime makes for itself meanwhile
	PeakRSS               int64    `json:"peak_rss_bytes"`                   // of the process; 0 where the system does not tell
	Ops                   []OpTime `json:"ops,omitempty"`                    // the slowest first

	steps int
}

// OpTime is the part of a step that equal operations of equal shape take.
type OpTime struct {
	Op      string  `json:"op"`
	Count   int     `json:"count"`   // of such operations
	Seconds float64 `json:"seconds"` // a step, all of them, on average
	Share   float64 `json:"share"`   // of the average step
	GFLOPS  float64 `json:"gflops,omitempty"`
}

// warm is the number of steps before those measured: the first ones allocate.
const warm = 3

// Check says what is wrong with b, before anything large is built.
func (b StepBench) Check(r Registry) error {
	if err := kernel.CheckPath(); err != nil {
		return err
	}
	switch {
	case b.Batch < 1 || b.Batch > mostRows:
		return fmt.Errorf("the batch is %d, want 1 to %d", b.Batch, mostRows)
	case b.Threads < 1 || b.Threads > mostThreads:
		return fmt.Errorf("the threads are %d, want 1 to %d", b.Threads, mostThreads)
	case b.Time <= 0:
		return fmt.Errorf("the time is %v, want more than 0", b.Time)
	}
	_, err := b.setUp(r)
	return err
}

// benched is a model, and what its step is measured with.
type benched struct {
	model     nn.Model
	shape     Shape
	optimizer Optimizer
}

func (b StepBench) setUp(r Registry) (s benched, err error) {
	c, err := r.ParseModel(b.Model)
	if err != nil {
		return s, err
	}
	s.shape = Shape{Size: 32, Classes: 10}
	if m, ok := c.Value.(Benched); ok {
		s.shape, s.optimizer = m.Bench()
	}
	if s.optimizer == nil {
		s.optimizer = &optim.SGD{Momentum: 0.9, Nesterov: true, WeightDecay: 1e-4}
	}
	if s.model, err = c.Value.Build(s.shape); err != nil {
		return s, fmt.Errorf("%s: %w", b.Model, err)
	}
	return s, nil
}

// Run measures.
func (b StepBench) Run(ctx context.Context, r Registry) (StepTimes, error) {
	if err := b.Check(r); err != nil {
		return StepTimes{}, err
	}
	s, err := b.setUp(r)
	if err != nil {
		return StepTimes{}, err
	}
	pool := op.NewPool(b.Threads)
	defer pool.Close()
	begun := time.Now()
	trace := &exec.Trace{}
	update := &timedOptimizer{Optimizer: newOptimizer(s.optimizer, pool)}
	learner := &train.Learner{Model: s.model, Task: s.shape.task(0), Optimizer: update, Build: nn.Config{Pool: pool, Trace: trace}}
	if b.Ops {
		trace.Clock = func() time.Duration { return time.Since(begun) }
	}
	batch := s.shape.noise(b.Batch)
	if err := learner.Prepare(batch); err != nil {
		return StepTimes{}, fmt.Errorf("%s: %w", b.Model, err)
	}

	var at train.Progress
	step := func() error {
		if err := ctx.Err(); err != nil {
			return err
		}
		_, err := learner.Step(batch, at)
		at.Steps++
		return err
	}
	for begun := time.Now(); at.Steps < warm && (at.Steps == 0 || time.Since(begun) < b.Time); {
		if err := step(); err != nil {
			return StepTimes{}, err
		}
	}
	update.elapsed = 0
	for _, s := range trace.Steps {
		s.Runs, s.Elapsed = 0, 0
	}

	times := make([]time.Duration, 0, 1<<16)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for begun := time.Now(); len(times) == 0 || time.Since(begun) < b.Time && len(times) < cap(times); {
		start := time.Now()
		if err := step(); err != nil {
			return StepTimes{}, err
		}
		times = append(times, time.Since(start))
	}
	runtime.ReadMemStats(&after)
	t := StepTimes{
		Model: b.Model, Batch: b.Batch, Threads: b.Threads, Kernel: kernel.ActivePath().String(),
		AllocsPerStep: float64(after.Mallocs-before.Mallocs) / float64(len(times)), PeakRSS: peakRSS(), steps: len(times),
	}
	if b.Ops {
		t.Ops = opTimes(trace, update.elapsed, times)
	}
	mid, best := median(times).Seconds(), slices.Min(times).Seconds()
	t.StepSeconds.Min, t.StepSeconds.Median = best, mid
	t.ExamplesPerSecond, t.ExamplesPerSecondBest = float64(b.Batch)/mid, float64(b.Batch)/best
	if c := float64(s.shape.Context); c > 0 {
		t.TokensPerSecond, t.TokensPerSecondBest = c*t.ExamplesPerSecond, c*t.ExamplesPerSecondBest
	}
	for _, s := range trace.Steps {
		if m, ok := s.Op.(op.Multiplier); ok {
			t.GFLOPS += float64(m.FLOPs()) / mid / 1e9
		}
	}
	return t, nil
}

// timedOptimizer adds up the time of its updates.
type timedOptimizer struct {
	train.Optimizer
	elapsed time.Duration
}

func (o *timedOptimizer) Step(w []gorgonia.ValueGrad) error {
	start := time.Now()
	err := o.Optimizer.Step(w)
	o.elapsed += time.Since(start)
	return err
}
