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
	start := m.Clock()
	return func() { m.add(stage, m.Clock()-start) }
}
