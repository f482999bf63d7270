package data

import (
	"context"
	"sync"
	"time"
)

// Meter adds up how long the workers of the stages are busy. It is handed to
// a pipeline by [WithMeter], and is safe for use by several goroutines.
type Meter struct {
	Clock func() time.Duration // since some moment; must not be nil

	mu     sync.Mutex
	stages map[string]Timing
}

// Timing is what a [Meter] knows of a stage.
type Timing struct {
	Calls int64         // items worked on
	Busy  time.Duration // by all workers together; of read, with the wait for the storage
}

// The stages that are measured.
const (
	StageRead    = "read"
	StageDecode  = "decode"
	StageAugment = "augment"
)

// Timing returns what a stage has taken so far.
func (m *Meter) Timing(stage string) Timing {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stages[stage]
}

func (m *Meter) add(stage string, d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
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

// measured returns f, or f that reports to the meter of ctx.
func measured[In, Out any](ctx context.Context, stage string, f func(context.Context, In) (Out, error)) func(context.Context, In) (Out, error) {
	m, ok := ctx.Value(meterKey{}).(*Meter)
	if !ok {
		return f
	}
	return func(ctx context.Context, v In) (Out, error) {
		start := m.Clock()
		defer func() { m.add(stage, m.Clock()-start) }()
		return f(ctx, v)
	}
}
