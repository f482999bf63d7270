package data

import (
	"context"
	"time"
)

// Outlet is what a [Meter] knows of the queue of finished batches, seen from
// where they are taken.
//
// Starved adds up the stretches in which the stages before the queue worked as
// fast as they can: from one batch that was waited for to the next such one.
// At both ends the queue is empty, so that what was taken in between was made
// in between; and the two are so near that the queue could not fill up and
// hold those stages back. Batches over Time is hence their throughput itself,
// whatever they do and share.
type Outlet struct {
	Taken   int64 // batches
	Pauses  int   // of the meter
	Starved struct {
		Time    time.Duration
		Batches int64
		Reads   int64 // that entered the shuffle
	}
}

// moment is when a batch was waited for.
type moment struct {
	at           time.Duration
	taken, reads int64
}

// Outlet returns what is known so far.
func (m *Meter) Outlet() Outlet {
	m.mu.Lock()
	defer m.mu.Unlock()
	o := m.outlet
	o.Pauses = m.pauses
	return o
}

// Taken passes on the batches of a [Prefetch] of a depth with a gauge, and
// reports to the meter of ctx which of them were waited for. Hollow ones do
// not count.
func Taken(ctx context.Context, in Seq[Batch], depth int, ready *Gauge) Seq[Batch] {
	m := meterOf(ctx)
	if m == nil || depth < 1 {
		return in
	}
	return func(yield func(Batch, error) bool) {
		waited := true
		for b, err := range in {
			if err == nil && !b.Hollow() {
				m.took(b.Reads, int64(depth), waited)
			}
			if !yield(b, err) {
				return
			}
			waited = ready.Ready() == 0
		}
	}
}

// took counts a batch.
func (m *Meter) took(reads, depth int64, waited bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.outlet.Taken++
	if !waited || m.paused > 0 {
		return
	}
	now := moment{m.Clock(), m.outlet.Taken, reads}
	if p := m.point; p != nil && now.taken-p.taken <= depth+1 {
		s := &m.outlet.Starved
		s.Time += now.at - p.at
		s.Batches += now.taken - p.taken
		s.Reads += now.reads - p.reads
	}
	m.point = &now
}
