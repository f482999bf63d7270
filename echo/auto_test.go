package echo_test

import (
	"bytes"
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
	"github.com/reprise-ml/reprise/echo"
)

// slowly yields origins without end, each after so much time.
func slowly(each func(read int64) time.Duration) data.Seq[data.Origin] {
	return func(yield func(data.Origin, error) bool) {
		for read := int64(0); ; read++ {
			time.Sleep(each(read))
			if !yield(data.Origin{Index: int(read % 1000), Read: read}, nil) {
				return
			}
		}
	}
}

// group is a batch of examples without values.
func group(rows []data.Example) (data.Batch, error) {
	b := data.Batch{}
	for _, e := range rows {
		b.Origins = append(b.Origins, e.Origin)
	}
	return b, nil
}

// automatic is a pipeline with an automatic factor before the shuffle buffer or, with batches, after batching.
func automatic(in data.Seq[data.Origin], a echo.Automatic, batch int, batches bool) data.Seq[data.Batch] {
	examples := func(yield func(data.Example, error) bool) {
		for o, err := range in {
			if !yield(data.Example{Origin: o}, err) {
				return
			}
		}
	}
	shuffle := a.Fill
	if batches {
		a.Fill, a.Ready = 0, nil
		shuffled := data.Shuffle(data.Prefetch(examples, 1), shuffle, 1)
		return echo.Repeatedly(data.Batches(shuffled, batch, group), a)
	}
	gauge := new(data.Gauge)
	a.Ready = gauge
	shuffled := data.Shuffle(echo.Repeatedly(examples, a), shuffle, 1)
	return data.Prefetch(data.Batches(shuffled, batch, group), 1, gauge)
}

// The paper's model: with e = R the step never waits, and a fresh example takes the time of the upstream.
func TestAnAutomaticFactorKeepsTheStepBusyAndDelaysNoFreshExample(t *testing.T) {
	const batch, fill, steps = 8, 32, 400
	const step = 80 * time.Millisecond
	for _, place := range []string{"example", "batch"} {
		for _, ratio := range []int{2, 4, 8} {
			t.Run(fmt.Sprintf("%s at R %d", place, ratio), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					each := time.Duration(ratio) * step / batch
					a := echo.Automatic{Max: 16, Recent: batch, Fill: fill, Record: new(echo.Schedule)}
					var read atomic.Int64
					in := slowly(func(r int64) time.Duration { read.Store(r); return each })
					done := 0
					var begun time.Time
					var waited time.Duration
					last := time.Now()
					var from, to int64
					for b, err := range automatic(in, a, batch, place == "batch") {
						if err != nil {
							t.Fatal(err)
						}
						if done == 0 {
							begun, from = time.Now(), read.Load()
						} else {
							waited += time.Since(last)
						}
						if len(b.Origins) != batch {
							t.Fatalf("a batch of %d", len(b.Origins))
						}
						time.Sleep(step)
						last = time.Now()
						if done++; done == steps {
							to = read.Load()
							break
						}
					}
					if waited != 0 {
						t.Errorf("the step waited %v in %v", waited, time.Since(begun))
					}
					if got, want := time.Duration(to-from)*each, steps*step; got < want-each || got > want+each {
						t.Errorf("%d reads of %v each in %v: fresh data was delayed", to-from, each, want)
					}
					fresh, copies := tally(a.Record.Choices())
					if e := float64(fresh+copies) / float64(fresh); place == "batch" && (e < float64(ratio)*0.98 || e > float64(ratio)) {
						t.Errorf("the realised factor is %.3f, want %d", e, ratio)
					}
				})
			})
		}
	}
}

func tally(runs []echo.Choices) (fresh, copies int64) {
	for _, r := range runs {
		fresh += r.Fresh
		copies += r.Copies
	}
	return fresh, copies
}

func TestAnAutomaticFactorReturnsToOneWhenTheStorageTurnsFast(t *testing.T) {
	for _, place := range []string{"example", "batch"} {
		t.Run(place, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const batch, fill, slow = 8, 32, 500
				const step = 80 * time.Millisecond
				in := slowly(func(read int64) time.Duration {
					if read < slow {
						return 4 * step / batch
					}
					return step / batch / 2
				})
				a := echo.Automatic{Max: 16, Recent: batch, Fill: fill, Record: new(echo.Schedule)}
				var before, after, copies int
				for b, err := range automatic(in, a, batch, place == "batch") {
					if err != nil {
						t.Fatal(err)
					}
					time.Sleep(step)
					latest := int64(0)
					for _, o := range b.Origins {
						latest = max(latest, o.Read)
					}
					switch {
					case latest < slow:
						before++
					case latest > slow+6*fill:
						after++
						copies += batch - b.Fresh()
					}
					if after == 100 {
						break
					}
				}
				if before < 150 {
					t.Errorf("%d steps on %d slow reads, want about 4 for %d", before, slow, batch)
				}
				if copies > 0 {
					t.Errorf("%d copies in 100 steps while storage was fast", copies)
				}
			})
		})
	}
}

func TestAnAutomaticFactorMakesNoCopyWhileTheBufferFills(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := echo.Automatic{Max: 4, Recent: 4, Fill: 10}
		n := 0
		for o, err := range echo.Repeatedly(slowly(func(int64) time.Duration { return time.Second }), a) {
			if err != nil {
				t.Fatal(err)
			}
			if n++; n <= 10 && !o.Fresh() {
				t.Errorf("item %d is a copy", n)
			}
			if n == 11 {
				if o.Fresh() {
					t.Error("no copy once the buffer is full and the step waits")
				}
				break
			}
		}
	})
}

func TestAnAutomaticFactorSpreadsCopiesAndUsesNoItemMoreThanMax(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := echo.Automatic{Max: 3, Recent: 4, Fill: 4}
		uses, last := map[int64]int{}, map[int64]int{}
		n := 0
		for o, err := range echo.Repeatedly(slowly(func(int64) time.Duration { return time.Second }), a) {
			if err != nil {
				t.Fatal(err)
			}
			n++
			if uses[o.Read]++; uses[o.Read] > 3 {
				t.Fatalf("read %d is used %d times", o.Read, uses[o.Read])
			}
			if o.Copy != 0 && o.Copy != uses[o.Read]-1 {
				t.Errorf("use %d of read %d has copy number %d", uses[o.Read], o.Read, o.Copy)
			}
			if before, ok := last[o.Read]; ok && o.Read < 4 && n-before < 4 {
				t.Errorf("read %d is used again after %d items", o.Read, n-before)
			}
			if last[o.Read] = n; n == 300 {
				break
			}
		}
	})
}

func TestARecordedScheduleReplaysBitForBit(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		pauses := rapid.SliceOfN(rapid.IntRange(0, 20), 1, 50).Draw(rt, "pauses")
		a := echo.Automatic{
			Max:    rapid.IntRange(1, 5).Draw(rt, "max"),
			Recent: rapid.IntRange(1, 9).Draw(rt, "recent"),
			Fill:   rapid.IntRange(0, 12).Draw(rt, "fill"),
			Record: new(echo.Schedule),
		}
		var live, again []data.Origin
		take := func(in data.Seq[data.Origin], pause bool, to *[]data.Origin) {
			for o, err := range in {
				if err != nil {
					rt.Fatal(err)
				}
				if pause {
					time.Sleep(7 * time.Millisecond)
				}
				if *to = append(*to, o); len(*to) == 200 {
					break
				}
			}
		}
		synctest.Test(t, func(*testing.T) {
			take(echo.Repeatedly(slowly(func(r int64) time.Duration {
				return time.Duration(pauses[int(r)%len(pauses)]) * time.Millisecond
			}), a), true, &live)
		})
		var file bytes.Buffer
		if err := echo.WriteSchedule(&file, a.Record.Choices()); err != nil {
			rt.Fatal(err)
		}
		runs, err := echo.ReadSchedule(&file)
		if err != nil {
			rt.Fatal(err)
		}
		first := a.Record.Choices()
		a.Replay, a.Record = runs, new(echo.Schedule)
		take(echo.Repeatedly(slowly(func(int64) time.Duration { return 0 }), a), false, &again)
		if !slices.Equal(live, again) {
			rt.Fatalf("the replay differs:\n%v\n%v", live, again)
		}
		if !slices.Equal(first, a.Record.Choices()) {
			rt.Fatalf("the replay took down another schedule:\n%v\n%v", first, a.Record.Choices())
		}
	})
}

func TestAScheduleThatDoesNotFitIsAnError(t *testing.T) {
	a := echo.Automatic{Max: 1, Recent: 1, Replay: []echo.Choices{{Fresh: 1, Copies: 1}}}
	var got error
	for _, err := range echo.Repeatedly(slowly(func(int64) time.Duration { return 0 }), a) {
		if got = err; err != nil {
			break
		}
	}
	if got == nil || !strings.Contains(got.Error(), "of another pipeline") {
		t.Errorf("the error is %v", got)
	}
}

func TestAnAutomaticFactorPassesOnTheErrorAndTheEndOfItsInput(t *testing.T) {
	lost := errors.New("lost")
	for _, want := range []error{nil, lost} {
		in := func(yield func(data.Origin, error) bool) {
			for read := range int64(3) {
				if !yield(data.Origin{Read: read}, nil) {
					return
				}
			}
			if want != nil {
				yield(data.Origin{}, want)
			}
		}
		fresh, failed := 0, error(nil)
		for o, err := range echo.Repeatedly(in, echo.Automatic{Max: 2, Recent: 2, Fill: 10}) {
			if err != nil {
				failed = err
				continue
			}
			if o.Fresh() {
				fresh++
			}
		}
		if fresh != 3 || failed != want {
			t.Errorf("%d items and the error %v, want 3 and %v", fresh, failed, want)
		}
	}
}

func TestAutomaticFactorsOutOfRangeAreRefused(t *testing.T) {
	for _, a := range []echo.Automatic{{Max: 0, Recent: 1}, {Max: 1025, Recent: 1}, {Max: 2, Recent: 0}, {Max: 2, Recent: 1, Fill: -1}} {
		if a.Check() == nil {
			t.Errorf("%+v passes", a)
		}
		for _, err := range echo.Repeatedly(slowly(func(int64) time.Duration { return 0 }), a) {
			if err == nil {
				t.Errorf("%+v yields", a)
			}
			break
		}
	}
}

func FuzzReadSchedule(f *testing.F) {
	f.Add("4096 12\n1 1\n")
	f.Add("4096")
	f.Add("-1 2")
	f.Fuzz(func(t *testing.T, text string) {
		runs, err := echo.ReadSchedule(strings.NewReader(text))
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := echo.WriteSchedule(&b, runs); err != nil {
			t.Fatal(err)
		}
		again, err := echo.ReadSchedule(&b)
		if err != nil || !slices.Equal(runs, again) {
			t.Errorf("%v is written and read as %v, %v", runs, again, err)
		}
	})
}

func ExampleRepeatedly() {
	// A step that asks whenever it likes, and an upstream that has three items at once.
	in := func(yield func(data.Origin, error) bool) {
		for read := range int64(3) {
			if !yield(data.Origin{Read: read}, nil) {
				return
			}
		}
	}
	replay := []echo.Choices{{Fresh: 2, Copies: 3}, {Fresh: 1}}
	for o := range echo.Repeatedly(in, echo.Automatic{Max: 4, Recent: 2, Replay: replay}) {
		fmt.Println("read", o.Read, "copy", o.Copy)
		if o.Read == 2 {
			break
		}
	}
	// Output:
	// read 0 copy 0
	// read 1 copy 0
	// read 0 copy 1
	// read 1 copy 1
	// read 0 copy 2
	// read 2 copy 0
}

func TestTheMemoryOfABatchIsNotUsedAgainWhileAnAutomaticFactorMayCopyIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := func(yield func(data.Example, error) bool) {
			for o := range slowly(func(int64) time.Duration { return 3 * time.Millisecond }) {
				p := data.Picture{Pix: []uint8{uint8(o.Read), 0, 0}, Width: 1, Height: 1}
				if !yield(data.Example{Input: p, Target: data.Class(0), Origin: o}, nil) {
					return
				}
			}
		}
		batches := data.Batches(in, 2, data.Format{}.Reusing())
		copies := 0
		n := 0
		for b, err := range echo.Repeatedly(batches, echo.Automatic{Max: 4, Recent: 3}) {
			if err != nil {
				t.Fatal(err)
			}
			for row, o := range b.Origins {
				if got := b.Inputs[0].F32[3*row] * 255; got < float32(o.Read)-0.5 || got > float32(o.Read)+0.5 {
					t.Fatalf("batch %d, copy %d: row %d is %g, want %d", n, o.Copy, row, got, o.Read)
				}
			}
			copies += 2 - b.Fresh()
			time.Sleep(2 * time.Millisecond)
			b.Release()
			if n++; n == 100 {
				break
			}
		}
		if copies < 50 {
			t.Errorf("%d copies in %d batches", copies, n)
		}
	})
}
