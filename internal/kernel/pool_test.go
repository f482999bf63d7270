package kernel

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestRunDoesEveryPartOnceWithWorkersInRange(t *testing.T) {
	for _, threads := range []int{1, 2, 3, 8} {
		p := NewPool(threads)
		defer p.Close()
		for _, parts := range []int{0, 1, 2, 7, 100} {
			count := make([]atomic.Int32, parts)
			busy := make([]atomic.Bool, threads)
			p.Run(parts, func(worker, part int) {
				if busy[worker].Swap(true) {
					t.Errorf("worker %d does two parts at once", worker)
				}
				count[part].Add(1)
				runtime.Gosched()
				busy[worker].Store(false)
			})
			for i := range count {
				if n := count[i].Load(); n != 1 {
					t.Errorf("%d threads, %d parts: part %d ran %d times", threads, parts, i, n)
				}
			}
		}
	}
}

func TestRunsAtAnyDistanceFinishWhetherTheThreadsSpinOrPark(t *testing.T) {
	for _, spin := range []time.Duration{0, time.Microsecond, spinTime} {
		p := NewPool(4)
		p.setSpin(spin)
		var n atomic.Int32
		f := func(_, _ int) { n.Add(1) }
		for i := range 300 {
			p.Run(4, f)
			if i%3 == 0 {
				time.Sleep(time.Duration(i) * time.Microsecond)
			}
		}
		p.Close()
		if n.Load() != 1200 {
			t.Errorf("spinning for %v: %d parts ran, want 1200", spin, n.Load())
		}
	}
	var none *Pool
	none.setSpin(0)
}

func TestANilPoolRunsInOrderOnTheCaller(t *testing.T) {
	var p *Pool
	if p.Threads() != 1 {
		t.Errorf("%d threads", p.Threads())
	}
	var got []int
	p.Run(3, func(worker, part int) { got = append(got, 10*worker+part) })
	if len(got) != 3 || got[0] != 0 || got[1] != 1 || got[2] != 2 {
		t.Errorf("ran %v", got)
	}
	p.Close()
}

func TestAPanicInAPartReachesTheCaller(t *testing.T) {
	p := NewPool(4)
	defer p.Close()
	boom := errors.New("boom")
	for range 100 {
		func() {
			defer func() {
				q, ok := recover().(*Panic)
				if !ok || !errors.Is(q, boom) || len(q.Stack) == 0 || q.Error() != "kernel: panic in a part: boom" {
					t.Fatalf("recovered %v", q)
				}
			}()
			p.Run(8, func(_, part int) {
				if part == 5 {
					panic(boom)
				}
			})
		}()
	}
	var n atomic.Int32
	p.Run(8, func(_, _ int) { n.Add(1) })
	if n.Load() != 8 {
		t.Errorf("after a panic %d of 8 parts ran", n.Load())
	}
	if err := (&Panic{Value: 1}).Unwrap(); err != nil {
		t.Errorf("a panic with a number unwraps to %v", err)
	}
}

func TestNestedAndConcurrentRunsFinish(t *testing.T) {
	p := NewPool(3)
	defer p.Close()
	var n atomic.Int32
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				p.Run(5, func(_, _ int) {
					p.Run(3, func(worker, _ int) {
						if worker < 0 || worker >= p.Threads() { // not 0 if the outer Run found the pool busy, and it no longer is
							t.Errorf("a nested part has worker %d", worker)
						}
						n.Add(1)
					})
				})
			}
		})
	}
	wg.Wait()
	if n.Load() != 4*50*15 {
		t.Errorf("%d parts ran, want %d", n.Load(), 4*50*15)
	}
}

func TestCloseEndsTheGoroutinesAndLaterRunsAreSerial(t *testing.T) {
	before := runtime.NumGoroutine()
	p := NewPool(8)
	p.Run(8, func(_, _ int) {})
	p.Close()
	p.Close()
	for i := 0; runtime.NumGoroutine() > before; i++ {
		if i == 1000 {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
		time.Sleep(time.Millisecond)
	}
	n := 0
	p.Run(4, func(_, _ int) { n++ })
	if n != 4 {
		t.Errorf("%d of 4 parts ran after Close", n)
	}
}

func TestRunDoesNotAllocate(t *testing.T) {
	p := NewPool(2)
	defer p.Close()
	f := func(_, _ int) {}
	if n := testing.AllocsPerRun(100, func() { p.Run(8, f) }); n != 0 {
		t.Errorf("%v allocations a run", n)
	}
}

func TestNewPoolOfZeroUsesEveryProcessorAndOfLessPanics(t *testing.T) {
	p := NewPool(0)
	defer p.Close()
	if p.Threads() != runtime.GOMAXPROCS(0) {
		t.Errorf("%d threads", p.Threads())
	}
	defer func() {
		if recover() == nil {
			t.Error("a pool of -1 threads was made")
		}
	}()
	NewPool(-1)
}

func TestSplitsAndChunksCoverEverythingOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, parts := rapid.IntRange(0, 100_000).Draw(t, "n"), rapid.IntRange(1, 64).Draw(t, "parts")
		at := 0
		for i := range parts {
			lo, hi := Split(n, parts, i)
			if lo != at || hi < lo || hi-lo > n/parts+1 {
				t.Fatalf("part %d of %d is [%d, %d) after %d", i, parts, lo, hi, at)
			}
			at = hi
		}
		if at != n {
			t.Fatalf("parts end at %d of %d", at, n)
		}
		at = 0
		for i := range Chunks(n) {
			lo, hi := Chunk(n, i)
			if lo != at || hi <= lo {
				t.Fatalf("chunk %d is [%d, %d) after %d", i, lo, hi, at)
			}
			at = hi
		}
		if at != n {
			t.Fatalf("chunks end at %d of %d", at, n)
		}
	})
}
