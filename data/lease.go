package data

import (
	"sync"
	"sync/atomic"
)

// lease is memory that is used again once every copy of what holds it has
// been released. A copy that is lost leaves the memory to the collector.
type lease struct {
	copies atomic.Int32
	end    func()
}

func newLease(end func()) *lease {
	l := &lease{end: end}
	l.copies.Store(1)
	return l
}

// add counts further copies.
func (l *lease) add(copies int) {
	if l != nil {
		l.copies.Add(int32(copies))
	}
}

func (l *lease) release() {
	if l != nil && l.copies.Add(-1) == 0 {
		l.end()
	}
}

// freeList keeps what a stage may use again.
type freeList[T any] struct {
	mu   sync.Mutex
	free []T
}

func (f *freeList[T]) put(v T) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.free = append(f.free, v)
}

// take returns what was put last, or the zero T.
func (f *freeList[T]) take() (v T) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := len(f.free); n > 0 {
		v = f.free[n-1]
		var zero T
		f.free[n-1], f.free = zero, f.free[:n-1]
	}
	return v
}
