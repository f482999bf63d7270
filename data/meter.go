package data

import (
	"context"
	"sync"
	"time"
)

// Meter adds up how long the workers of the stages are busy, and how often
// whoever takes batches has to wait for them. It is handed to a pipeline by
// [WithMeter], and is safe for use by several goroutines.
type Meter struct {
	Clock func() time.Duration // since some moment; must not be nil

	mu     sync.Mutex
	stages map[string]Timing
	outlet Outlet
	point  *moment // of the last batch that was waited for, since the last pause
	paused int     // pauses under way
	pauses int     // that have begun
}

// Timing is what a [Meter] knows of a stage.
type Timing struct {
	Calls int64         // items worked on
	Busy  time.Duration // by all workers together; of read, with the wait for the storage
}

// The stages that are measured.
const (
	StageRead    = "read"    // records, or, of streams, their way through the storage
	StageStreams = "streams" // the record of the stream whose turn it is
	StagePipe    = "pipe"    // of simulated storage, which carries one record at a time
	StageDecode  = "decode"
	StageAugment = "augment"
	StageFinish  = "finish" // the last augmentations
	StageBatch   = "batch"  // a call for each batch
	StageMix     = "mix"    // likewise
)

// Timing returns what a stage has taken so far.
func (m *Meter) Timing(stage string) Timing {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stages[stage]
}

// Pause stops the measuring, as for an evaluation, until as many calls of
// Resume: work that falls in a pause, wholly or in part, does not count.
func (m *Meter) Pause() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.paused++
	m.pauses++
	m.point = nil
}

// Resume ends a Pause.
func (m *Meter) Resume() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.paused--
}

// begin returns when a call begins, and in which stretch between pauses.
func (m *Meter) begin() (at time.Duration, stretch int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.paused > 0 {
		return 0, -1
	}
	return m.Clock(), m.pauses
}

// end counts a call that began as begin has it.
func (m *Meter) end(stage string, at time.Duration, stretch int) {
	took := m.Clock() - at
	m.mu.Lock()
	defer m.mu.Unlock()
	if stretch == m.pauses {
		m.add(stage, took)
	}
}

func (m *Meter) add(stage string, d time.Duration) {
	if m.stages == nil {
		m.stages = map[string]Timing{}
	}
	t := m.stages[stage]
	m.stages[stage] = Timing{t.Calls + 1, t.Busy + d}
}

type meterKey struct{}

// WithMeter returns a context with which the stages of a pipeline report to
// m.
func WithMeter(ctx context.Context, m *Meter) context.Context {
	return context.WithValue(ctx, meterKey{}, m)
}

// meterOf returns the meter of ctx, or nil.
func meterOf(ctx context.Context) *Meter {
	m, _ := ctx.Value(meterKey{}).(*Meter)
	return m
}

// time starts to measure a call of a stage, which ends when end is
// called. A nil meter measures nothing.
func (m *Meter) time(stage string) (end func()) {
	if m == nil {
		return func() {}
	}
	at, stretch := m.begin()
	return func() { m.end(stage, at, stretch) }
}

// Report counts a call of a stage that took d, where ctx has a [Meter].
func Report(ctx context.Context, stage string, d time.Duration) {
	m := meterOf(ctx)
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.paused == 0 {
		m.add(stage, d)
	}
}

// Measured returns f, or f that reports its calls as those of a stage where
// ctx has a [Meter].
func Measured[In, Out any](ctx context.Context, stage string, f func(context.Context, In) (Out, error)) func(context.Context, In) (Out, error) {
	m := meterOf(ctx)
	if m == nil {
		return f
	}
	return func(ctx context.Context, v In) (Out, error) {
		defer m.time(stage)()
		return f(ctx, v)
	}
}
