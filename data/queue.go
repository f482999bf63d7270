package data

import (
	"errors"
	"sync"
)

// Queue holds the next values of a stream that runs on a goroutine of its own; see [Ahead].
type Queue[T any] struct {
	items chan queued[T]
	gauge *Gauge
	ended bool
}

type queued[T any] struct {
	value T
	err   error
}

// Ahead runs in on a goroutine of its own while use takes its values from the Queue, which keeps up to
// depth of them, at least one, and one more in hand. The goroutine has ended when Ahead returns. g, unless
// it is nil, tells how many values are ready, the one in hand included.
func Ahead[T any](in Seq[T], depth int, g *Gauge, use func(*Queue[T])) {
	q := &Queue[T]{items: make(chan queued[T], max(depth, 1)), gauge: g}
	stop := make(chan struct{})
	put := func(it queued[T]) bool {
		g.add(1)
		select {
		case q.items <- it:
			return true
		case <-stop:
			g.add(-1)
			return false
		}
	}
	go func() {
		defer close(q.items)
		var failed error
		defer func() {
			if failed != nil {
				put(queued[T]{err: failed})
			}
		}()
		defer recovered(&failed)
		for v, err := range in {
			if !put(queued[T]{v, err}) {
				return
			}
		}
	}()
	defer func() {
		close(stop)
		for range q.items { // until the goroutine closes it
			g.add(-1)
		}
	}()
	use(q)
}

// End is the error of a Queue whose stream has ended, by itself or by the error that it gave last.
var End = errors.New("data: the stream has ended")

// Next waits for the next value.
func (q *Queue[T]) Next() (T, error) {
	if q.ended {
		var zero T
		return zero, End
	}
	it, open := <-q.items
	return q.took(it, open)
}

// TryNext does not wait: there is false where the next value is not there yet.
func (q *Queue[T]) TryNext() (v T, there bool, err error) {
	if q.ended {
		return v, true, End
	}
	select {
	case it, open := <-q.items:
		v, err = q.took(it, open)
		return v, true, err
	default:
		return v, false, nil
	}
}

// NextOr waits for the next value or until instead is closed, whichever is first; there is false where it
// was the latter. A value that is there already is taken in any case.
func (q *Queue[T]) NextOr(instead <-chan struct{}) (v T, there bool, err error) {
	if v, there, err = q.TryNext(); there {
		return v, true, err
	}
	select {
	case it, open := <-q.items:
		v, err = q.took(it, open)
		return v, true, err
	case <-instead:
		return v, false, nil
	}
}

func (q *Queue[T]) took(it queued[T], open bool) (T, error) {
	if !open {
		q.ended = true
		return it.value, End
	}
	q.gauge.add(-1)
	q.ended = it.err != nil
	return it.value, it.err
}

// Gauge tells how many values are ready for whoever takes them from a Queue. The zero Gauge, and a nil one,
// say none. It is safe for use by several goroutines.
type Gauge struct {
	mu    sync.Mutex
	ready int
	empty chan struct{} // closed while ready is 0; nil until it is asked for
}

// Ready returns the number of values that are ready.
func (g *Gauge) Ready() int {
	if g == nil {
		return 0
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.ready
}

// Empty returns a channel that is closed as soon as no value is ready, at once if none is. Ask again for
// the next time.
func (g *Gauge) Empty() <-chan struct{} {
	if g == nil {
		g = new(Gauge)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.empty == nil {
		g.empty = make(chan struct{})
		if g.ready == 0 {
			close(g.empty)
		}
	}
	return g.empty
}

func (g *Gauge) add(n int) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	was := g.ready
	g.ready += n
	switch {
	case g.empty == nil:
	case g.ready == 0:
		close(g.empty)
	case was == 0:
		g.empty = nil
	}
}
