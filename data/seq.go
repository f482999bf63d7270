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
	type result struct {
		value Out
		err   error
	}
	workers = max(workers, 1)
	return func(yield func(Out, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		var calls sync.WaitGroup
		defer calls.Wait()
		defer cancel()
		yield = cancelling(cancel, yield)
		// Every call of f promises its result on a channel of its own; the
		// promises keep the order of the inputs.
		promises := func(yield func(chan result, error) bool) {
			free := make(chan struct{}, workers)
			for v, err := range in {
				if err != nil {
					yield(nil, err)
					return
				}
				free <- struct{}{}
				p := make(chan result, 1)
				calls.Go(func() {
					var r result
					defer func() { p <- r; <-free }()
					defer recovered(&r.err)
					r.value, r.err = f(ctx, v)
				})
				if !yield(p, nil) {
					return
				}
			}
		}
		var zero Out
		for p, err := range Prefetch(promises, workers) {
			var r result
			if err == nil {
				r = <-p
				if errors.Is(r.err, Skip) {
					continue
				}
				err = r.err
			}
			if err != nil {
				cancel()
				yield(zero, err)
				return
			}
			if !yield(r.value, nil) {
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
