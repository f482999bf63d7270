package data_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/reprise-ml/reprise/data"
)

var errTest = errors.New("test: out of tape")

// stream yields the given values.
func stream[T any](values ...T) data.Seq[T] {
	return func(yield func(T, error) bool) {
		for _, v := range values {
			if !yield(v, nil) {
				return
			}
		}
	}
}

// failing yields the given values, then err.
func failing[T any](err error, values ...T) data.Seq[T] {
	return func(yield func(T, error) bool) {
		for _, v := range values {
			if !yield(v, nil) {
				return
			}
		}
		var zero T
		yield(zero, err)
	}
}

// collect returns what a stream yields before it ends or fails.
func collect[T any](in data.Seq[T]) ([]T, error) {
	var out []T
	for v, err := range in {
		if err != nil {
			return out, err
		}
		out = append(out, v)
	}
	return out, nil
}

// upTo returns the numbers below n.
func upTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// tap is the stream of the numbers below n. It tells how many it has given
// and whether it runs.
type tap struct {
	n              int
	given, running atomic.Int64
}

func (s *tap) numbers(yield func(int, error) bool) {
	s.running.Add(1)
	defer s.running.Add(-1)
	for i := range s.n {
		s.given.Add(1)
		if !yield(i, nil) {
			return
		}
	}
}

func same(_ context.Context, i int) (int, error) { return i, nil }

// bubble runs f by a clock of its own that waits for nothing but f.
func bubble(t *testing.T, f func() error) (err error) {
	synctest.Test(t, func(*testing.T) { err = f() })
	return err
}

func TestMapKeepsTheOrderForAnyNumberOfWorkersAndAnyDelays(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		workers := rapid.IntRange(-1, 9).Draw(rt, "workers")
		delays := rapid.SliceOfN(rapid.IntRange(0, 5), 0, 40).Draw(rt, "delays")
		pauses := rapid.SliceOfN(rapid.IntRange(0, 5), 1, 4).Draw(rt, "pauses")
		squares := data.Map(context.Background(), stream(upTo(len(delays))...), workers, func(_ context.Context, i int) (int, error) {
			time.Sleep(time.Duration(delays[i]) * time.Millisecond)
			return i * i, nil
		})
		err := bubble(t, func() error {
			for pass := range 2 {
				n := 0
				for v, err := range squares {
					if err != nil || v != n*n {
						return fmt.Errorf("pass %d: result %d is %d, %w", pass, n, v, err)
					}
					time.Sleep(time.Duration(pauses[n%len(pauses)]) * time.Millisecond)
					n++
				}
				if n != len(delays) {
					return fmt.Errorf("pass %d: %d results of %d items", pass, n, len(delays))
				}
			}
			return nil
		})
		if err != nil {
			rt.Fatal(err)
		}
	})
}

func TestMapWorksOnAsManyItemsAtOnceAsItHasWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, workers := range []int{1, 2, 3, 8} {
			var running, most atomic.Int64
			start := time.Now()
			_, err := collect(data.Map(context.Background(), stream(upTo(24)...), workers, func(context.Context, int) (int, error) {
				most.Store(max(most.Load(), running.Add(1)))
				time.Sleep(time.Second)
				running.Add(-1)
				return 0, nil
			}))
			if took, want := time.Since(start), time.Duration(24/workers)*time.Second; err != nil || took != want {
				t.Errorf("24 seconds of work took %d workers %v, want %v (error %v)", workers, took, want, err)
			}
			if most.Load() != int64(workers) {
				t.Errorf("%d workers had %d calls at once", workers, most.Load())
			}
		}
	})
}

func TestMapHoldsAtMostTwoItemsMoreThanItHasWorkers(t *testing.T) {
	second := func() { time.Sleep(time.Second) }
	for name, slow := range map[string]struct{ call, reader func() }{
		"calls":  {second, func() {}},
		"reader": {func() {}, second},
		"both":   {second, second},
	} {
		synctest.Test(t, func(t *testing.T) {
			for workers := 1; workers <= 5; workers++ {
				var taken, held atomic.Int64
				counted := func(yield func(int, error) bool) {
					for i := range 60 {
						held.Store(max(held.Load(), int64(i+1)-taken.Load()))
						if !yield(i, nil) {
							return
						}
					}
				}
				mapped := data.Map(context.Background(), counted, workers, func(_ context.Context, i int) (int, error) {
					slow.call()
					return i, nil
				})
				for range mapped {
					taken.Add(1)
					slow.reader()
				}
				if most := int64(workers) + 2; held.Load() > most {
					t.Errorf("%d workers with slow %s held %d items, want at most %d", workers, name, held.Load(), most)
				}
			}
		})
	}
}

func TestAnErrorOfMapComesInItsItemsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, workers := range []int{1, 2, 7} {
			// The later an item, the sooner it fails.
			got, err := collect(data.Map(context.Background(), stream(upTo(20)...), workers, func(_ context.Context, i int) (int, error) {
				time.Sleep(time.Duration(20-i) * time.Second)
				if i >= 5 {
					return i, fmt.Errorf("item %d: %w", i, errTest)
				}
				return i, nil
			}))
			if !slices.Equal(got, upTo(5)) || !errors.Is(err, errTest) || !strings.HasPrefix(err.Error(), "item 5:") {
				t.Errorf("%d workers: %v came before the error %v", workers, got, err)
			}
		}
	})
}

func TestNothingFollowsTheErrorOfAStream(t *testing.T) {
	bad := func(_ context.Context, i int) (int, error) {
		if i == 3 {
			return i, errTest
		}
		return i, nil
	}
	for name, s := range map[string]data.Seq[int]{
		"Fail":                data.Fail[int](errTest),
		"Map":                 data.Map(context.Background(), stream(upTo(9)...), 2, bad),
		"Map of a failure":    data.Map(context.Background(), failing(errTest, 1, 2), 2, same),
		"Prefetch":            data.Prefetch(failing(errTest, 1, 2), 1),
		"Prefetch of depth 0": data.Prefetch(failing(errTest, 1, 2), 0),
		"Scoped": data.Scoped(context.Background(), func(context.Context) data.Seq[int] {
			return failing(errTest, 1, 2)
		}),
	} {
		failures := 0
		for v, err := range s {
			if failures > 0 {
				t.Errorf("%s yields %d, %v after its error", name, v, err)
			}
			if err != nil {
				if failures++; v != 0 || !errors.Is(err, errTest) {
					t.Errorf("%s fails with %d, %v", name, v, err)
				}
			}
		}
		if failures != 1 {
			t.Errorf("%s has %d errors, want one", name, failures)
		}
	}
}

func TestMapDropsWhatIsSkipped(t *testing.T) {
	for _, workers := range []int{1, 3} {
		got, err := collect(data.Map(context.Background(), stream(upTo(10)...), workers, func(_ context.Context, i int) (int, error) {
			switch i % 3 {
			case 0:
				return i, data.Skip
			case 1:
				return i, fmt.Errorf("item %d: %w", i, data.Skip)
			default:
				return i, nil
			}
		}))
		if want := []int{2, 5, 8}; err != nil || !slices.Equal(got, want) {
			t.Errorf("%d workers: what is left is %v, %v, want %v", workers, got, err, want)
		}
	}
}

func TestSkipAsTheErrorOfTheStreamItselfIsNotLost(t *testing.T) {
	got, err := collect(data.Map(context.Background(), failing(data.Skip, 1, 2), 2, same))
	if !slices.Equal(got, []int{1, 2}) || !errors.Is(err, data.Skip) {
		t.Errorf("after %v the error is %v, want that of the stream", got, err)
	}
}

// burst panics under a name that a stack shows.
func burst(context.Context, int) (int, error) { panic("the pipe burst") }

func TestAPanicInAStageIsAnErrorWithItsStack(t *testing.T) {
	leaking := func(yield func(int, error) bool) {
		yield(0, nil)
		_, _ = burst(context.Background(), 0)
	}
	for name, s := range map[string]data.Seq[int]{
		"Map":             data.Map(context.Background(), stream(1), 2, burst),
		"Map's upstream":  data.Map(context.Background(), leaking, 2, same),
		"Prefetch":        data.Prefetch(leaking, 2),
		"Prefetch of Map": data.Prefetch(data.Map(context.Background(), stream(1), 2, burst), 2),
	} {
		_, err := collect(s)
		if err == nil {
			t.Fatalf("%s: no error", name)
		}
		for _, want := range []string{"data: panic in a stage: the pipe burst\n", "data_test.burst", "seq_test.go"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: the error lacks %q: %v", name, want, err)
			}
		}
	}
}

// ways to leave a loop over a stream.
var ways = map[string]func(in data.Seq[int]){
	"break": func(in data.Seq[int]) {
		for range in {
			break
		}
	},
	"panic": func(in data.Seq[int]) {
		defer func() { _ = recover() }()
		for range in {
			panic("enough")
		}
	},
}

func TestLeavingMapCancelsItsCallsAndWaitsForThem(t *testing.T) {
	for way, leave := range ways {
		for _, workers := range []int{1, 2, 5} {
			synctest.Test(t, func(t *testing.T) {
				src := tap{n: 100}
				var calls, cancelled atomic.Int64
				leave(data.Map(context.Background(), src.numbers, workers, func(ctx context.Context, i int) (int, error) {
					if i == 0 {
						time.Sleep(time.Second) // until the other workers are busy
						return i, nil
					}
					calls.Add(1)
					defer calls.Add(-1)
					<-ctx.Done()
					cancelled.Add(1)
					time.Sleep(time.Second)
					return i, ctx.Err()
				}))
				if calls.Load() != 0 || src.running.Load() != 0 {
					t.Errorf("%s, %d workers: %d calls and %d upstream still run", way, workers, calls.Load(), src.running.Load())
				}
				if cancelled.Load() < int64(workers)-1 {
					t.Errorf("%s, %d workers: %d calls were cancelled", way, workers, cancelled.Load())
				}
			})
		}
	}
}

func TestAnErrorOfMapCancelsTheOtherCallsBeforeItIsSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		failures := 0
		for _, err := range data.Map(context.Background(), stream(upTo(9)...), 3, func(ctx context.Context, i int) (int, error) {
			if i == 0 {
				time.Sleep(time.Second)
				return i, errTest
			}
			calls.Add(1)
			defer calls.Add(-1)
			<-ctx.Done()
			return i, ctx.Err()
		}) {
			failures++
			synctest.Wait()
			if err != errTest || calls.Load() != 0 {
				t.Errorf("error is %v, %d calls still run", err, calls.Load())
			}
		}
		if failures != 1 {
			t.Errorf("%d errors", failures)
		}
	})
}

func TestTheCallsOfMapSeeThatTheContextIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("the user pressed ^C")
		ctx, cancel := context.WithCancelCause(context.Background())
		time.AfterFunc(time.Minute, func() { cancel(cause) })
		var seen atomic.Value
		got, err := collect(data.Map(ctx, stream(upTo(9)...), 3, func(ctx context.Context, i int) (int, error) {
			if i < 4 {
				return i, nil
			}
			<-ctx.Done()
			seen.Store(context.Cause(ctx))
			return i, ctx.Err()
		}))
		if !slices.Equal(got, upTo(4)) || !errors.Is(err, context.Canceled) || seen.Load() != cause {
			t.Errorf("%v, then %v by %v", got, err, seen.Load())
		}
	})
}

func TestPrefetchRunsAheadOfItsReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for depth, ahead := range map[int]int64{-1: 0, 0: 0, 1: 2, 2: 3, 10: 11} {
			src := tap{n: 1000}
			read := int64(0)
			for v, err := range data.Prefetch(src.numbers, depth) {
				if err != nil || int64(v) != read {
					t.Fatalf("value %d is %d, %v", read, v, err)
				}
				read++
				synctest.Wait()
				if n := src.given.Load() - read; n != ahead {
					t.Errorf("a depth of %d runs %d ahead, want %d", depth, n, ahead)
				}
				if read == 5 {
					break
				}
			}
			if src.running.Load() != 0 {
				t.Errorf("a depth of %d leaves its upstream running", depth)
			}
		}
	})
}

func TestPrefetchOverlapsTheStagesOnBothSides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(yield func(int, error) bool) {
			for i := range 10 {
				time.Sleep(time.Second)
				if !yield(i, nil) {
					return
				}
			}
		}
		for depth, want := range map[int]time.Duration{0: 20 * time.Second, 1: 11 * time.Second} {
			start := time.Now()
			for range data.Prefetch(slow, depth) {
				time.Sleep(time.Second)
			}
			if took := time.Since(start); took != want {
				t.Errorf("with a depth of %d it took %v, want %v", depth, took, want)
			}
		}
	})
}

func TestLeavingPrefetchLeavesNothingRunning(t *testing.T) {
	for way, leave := range ways {
		for depth := range 4 {
			synctest.Test(t, func(t *testing.T) {
				src := tap{n: 100}
				leave(data.Prefetch(src.numbers, depth))
				if src.running.Load() != 0 {
					t.Errorf("%s at depth %d leaves its upstream running", way, depth)
				}
			})
		}
	}
}

func TestLeavingAScopeDoesNotWaitForReadsUnderWay(t *testing.T) {
	for way, leave := range ways {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			leave(data.Scoped(context.Background(), func(ctx context.Context) data.Seq[int] {
				slow := data.Map(ctx, stream(upTo(100)...), 2, func(ctx context.Context, i int) (int, error) {
					if i < 1 {
						return i, nil
					}
					<-ctx.Done()
					return 0, ctx.Err()
				})
				return data.Prefetch(data.Map(ctx, slow, 2, same), 2)
			}))
			if took := time.Since(start); took != 0 {
				t.Errorf("%s took %v", way, took)
			}
		})
	}
}

func TestTheContextOfAScopeEndsWithTheLoop(t *testing.T) {
	var scopes []context.Context
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	scoped := data.Scoped(ctx, func(ctx context.Context) data.Seq[int] {
		scopes = append(scopes, ctx)
		return stream(1, 2, 3)
	})
	for range 2 {
		if got, err := collect(scoped); err != nil || !slices.Equal(got, []int{1, 2, 3}) {
			t.Fatalf("%v, %v", got, err)
		}
	}
	if len(scopes) != 2 || scopes[0].Err() == nil || scopes[1].Err() == nil || ctx.Err() != nil {
		t.Errorf("of 2 loops %d scopes were made, which did not end with them", len(scopes))
	}
}
