package data

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"sync"
)

// Seq is a stream of values. It yields (value, nil) until it ends, or until a
// single (zero, err), after which it yields nothing more. Ranging over a Seq
// again starts it again.
type Seq[T any] = iter.Seq2[T, error]

// Fail is the stream that consists of err alone.
func Fail[T any](err error) Seq[T] {
	return func(yield func(T, error) bool) {
		var zero T
		yield(zero, err)
	}
}

// Skip is the error with which the function of a [Map] drops an item.
var Skip = errors.New("data: skip this item")

// Map applies f to each value on up to workers goroutines (at least one) and
// yields the results in the order of their inputs.
//
// An error from f ends the stream in its item's turn, but for [Skip], which
// drops the item. A panic in f is an error too. The context given to f is
// cancelled when the loop over the result is left, and the loop ends only
// when every call of f has returned. At most workers+2 items are held.
func Map[In, Out any](ctx context.Context, in Seq[In], workers int, f func(context.Context, In) (Out, error)) Seq[Out] {
	workers = max(workers, 1)
	return func(yield func(Out, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		m := mapping[In, Out]{
			ctx: ctx, f: f, left: make(chan struct{}), turn: make(chan struct{}, 1),
			room: make(chan struct{}, workers+1), results: make([]chan result[Out], workers+1),
		}
		for i := range m.results {
			m.results[i] = make(chan result[Out], 1)
		}
		next, stop := iter.Pull2(guarded(in))
		m.next = next
		defer stop()
		var running sync.WaitGroup
		defer running.Wait()
		leave := sync.OnceFunc(func() { close(m.left); cancel() })
		defer leave()
		yield = cancelling(leave, yield)
		for range workers {
			running.Go(m.work)
		}
		var zero Out
		for i := 0; ; i++ {
			r := <-m.results[i%len(m.results)]
			<-m.room
			switch {
			case r.end && r.err == nil:
				return
			case r.err != nil && !r.end && errors.Is(r.err, Skip):
			case r.err != nil:
				leave()
				yield(zero, r.err)
				return
			case !yield(r.value, nil):
				return
			}
		}
	}
}

// mapping is a loop over a [Map]. Its workers take turns to pull an input; the
// result goes to the channel whose turn it is.
type mapping[In, Out any] struct {
	ctx     context.Context
	f       func(context.Context, In) (Out, error)
	left    chan struct{}      // closed when the loop is left
	room    chan struct{}      // holds an element for each input, until its result is taken
	results []chan result[Out] // that of input i comes on number i, modulo how many there are

	turn   chan struct{} // holds an element while a worker pulls, with what follows
	next   func() (In, error, bool)
	pulled int
	ended  bool
}

type result[T any] struct {
	value T
	err   error
	end   bool // there are no more inputs; err is theirs
}

// work makes results until there are no more inputs, or the loop is left.
func (m *mapping[In, Out]) work() {
	for {
		v, to, ok := m.pull()
		if !ok {
			return
		}
		to <- m.apply(v)
	}
}

func (m *mapping[In, Out]) apply(v In) (r result[Out]) {
	defer recovered(&r.err)
	r.value, r.err = m.f(m.ctx, v)
	return r
}

// pull returns an input and where its result goes.
func (m *mapping[In, Out]) pull() (v In, to chan<- result[Out], ok bool) {
	m.turn <- struct{}{}
	defer func() { <-m.turn }()
	if m.ended {
		return v, nil, false
	}
	select {
	case m.room <- struct{}{}:
	case <-m.left:
		m.ended = true
		return v, nil, false
	}
	to = m.results[m.pulled%len(m.results)]
	m.pulled++
	v, err, ok := m.next()
	if !ok || err != nil {
		m.ended = true
		to <- result[Out]{err: err, end: true}
		return v, nil, false
	}
	return v, to, true
}

// guarded is in, which ends with an error where it panics.
func guarded[T any](in Seq[T]) Seq[T] {
	return func(yield func(T, error) bool) {
		err := error(nil)
		defer func() {
			if err != nil {
				var zero T
				yield(zero, err)
			}
		}()
		defer recovered(&err)
		for v, err := range in {
			if !yield(v, err) {
				return
			}
		}
	}
}

// Prefetch runs in on a goroutine of its own, so that the stages on either
// side of it overlap: it keeps up to depth values for the reader, and one more
// in hand, which the gauge, if there is one, counts. The goroutine has ended by the time the loop over the
// result is left. A depth below one returns in itself.
func Prefetch[T any](in Seq[T], depth int, gauge ...*Gauge) Seq[T] {
	if depth < 1 {
		return in
	}
	var g *Gauge
	if len(gauge) > 0 {
		g = gauge[0]
	}
	return func(yield func(T, error) bool) {
		Ahead(in, depth, g, func(q *Queue[T]) {
			for {
				v, err := q.Next()
				if err == End || !yield(v, err) {
					return
				}
			}
		})
	}
}

// Scoped is the stream that build makes of a context which is cancelled as
// soon as the loop over the stream is left, so that reads under way are not
// waited for.
func Scoped[T any](ctx context.Context, build func(context.Context) Seq[T]) Seq[T] {
	return func(yield func(T, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		yield = cancelling(cancel, yield)
		for v, err := range build(ctx) {
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// cancelling is yield followed by cancel where it leaves the loop, be it by a
// panic: a stage further up may wait, as it is left, for what only cancel ends.
func cancelling[T any](cancel func(), yield func(T, error) bool) func(T, error) bool {
	return func(v T, err error) (more bool) {
		defer func() {
			if !more || err != nil {
				cancel()
			}
		}()
		return yield(v, err)
	}
}

// recovered, deferred, turns a panic into an error that shows where it came
// from.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("data: panic in a stage: %v\n%s", p, debug.Stack())
	}
}
