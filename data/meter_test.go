package data_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reprise-ml/reprise/data"
)

// slow is an augmentation that takes a time.
type slow time.Duration

func (s slow) Augment(p data.Picture, _ *rand.Rand) (data.Picture, error) {
	time.Sleep(time.Duration(s))
	return p, nil
}

func TestAMeterAddsUpHowLongTheWorkersOfAStageAreBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		m := &data.Meter{Clock: func() time.Duration { return time.Since(begun) }}
		ctx := data.WithMeter(context.Background(), m)
		read := func(context.Context, data.Origin) (data.Example, error) {
			time.Sleep(2 * time.Millisecond)
			return data.Example{Input: data.Picture{Pix: make([]uint8, 3), Width: 1, Height: 1}}, nil
		}
		examples := data.Read(ctx, data.Once(10), 4, read, nil)
		examples = data.Decode(ctx, examples, 2, nil)
		examples = data.Augment(ctx, examples, 2, 0, slow(3*time.Millisecond))
		for _, err := range examples {
			if err != nil {
				t.Fatal(err)
			}
		}
		for stage, want := range map[string]data.Timing{
			data.StageRead:    {Calls: 10, Busy: 20 * time.Millisecond},
			data.StageDecode:  {Calls: 10},
			data.StageAugment: {Calls: 10, Busy: 30 * time.Millisecond},
		} {
			if got := m.Timing(stage); got != want {
				t.Errorf("%s: %+v, want %+v", stage, got, want)
			}
		}
	})
}

func TestWorkThatFallsInAPauseDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		m := &data.Meter{Clock: func() time.Duration { return time.Since(begun) }}
		ctx := data.WithMeter(t.Context(), m)
		work := data.Measured(ctx, "work", func(_ context.Context, d time.Duration) (int, error) {
			time.Sleep(d)
			return 0, nil
		})
		work(ctx, time.Second)
		go work(ctx, 3*time.Second) // begins before the pause
		time.Sleep(time.Second)
		m.Pause()
		work(ctx, 10*time.Millisecond)
		data.Report(ctx, "work", time.Hour)
		go work(ctx, 4*time.Second) // ends after it
		m.Pause()
		m.Resume()
		time.Sleep(3 * time.Second)
		m.Resume()
		time.Sleep(5 * time.Second)
		work(ctx, 2*time.Second)
		data.Report(ctx, "work", 5*time.Second)
		data.Report(t.Context(), "work", time.Hour) // has no meter
		if got, want := m.Timing("work"), (data.Timing{Calls: 3, Busy: 8 * time.Second}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	})
}

// batches are made every so often, with 8 new reads each.
func batches(every time.Duration) data.Seq[data.Batch] {
	return func(yield func(data.Batch, error) bool) {
		for n := int64(1); ; n++ {
			time.Sleep(every)
			if !yield(data.Batch{Inputs: make([]data.Array, 1), Reads: 8*n + 100}, nil) {
				return
			}
		}
	}
}

func TestTheOutletTellsHowFastBatchesAreMadeWhileTheyAreWaitedFor(t *testing.T) {
	const every = 10 * time.Millisecond
	for _, c := range []struct {
		name    string
		step    func(n int) time.Duration
		starved bool
	}{
		{"steps faster than the pipeline", func(int) time.Duration { return time.Millisecond }, true},
		{"steps of uneven length", func(n int) time.Duration { return time.Duration(n%3) * 9 * time.Millisecond }, true},
		{"steps slower than the pipeline", func(int) time.Duration { return 20 * time.Millisecond }, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			m := &data.Meter{Clock: func() time.Duration { return time.Since(begun) }}
			ready := new(data.Gauge)
			taken := 0
			for _, err := range data.Taken(data.WithMeter(t.Context(), m), data.Prefetch(batches(every), 4, ready), 4, ready) {
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(c.step(taken))
				if taken++; taken == 60 {
					m.Pause() // while the queue fills up
					time.Sleep(time.Second)
					m.Resume()
				}
				if taken == 120 {
					break
				}
			}
			o := m.Outlet()
			if s := o.Starved; o.Taken != 120 || o.Pauses != 1 || s.Reads != 8*s.Batches || s.Time != time.Duration(s.Batches)*every || (s.Batches > 80) != c.starved || (s.Batches == 0) == c.starved {
				t.Errorf("%s: %+v", c.name, o)
			}
		})
	}
}
