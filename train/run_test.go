package train_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/train"
)

// stepper is a function that is a Stepper.
type stepper func(b data.Batch, at train.Progress) (train.Stats, error)

func (f stepper) Step(b data.Batch, at train.Progress) (train.Stats, error) { return f(b, at) }

// still is a Stepper that does nothing.
var still = stepper(func(data.Batch, train.Progress) (train.Stats, error) { return train.Stats{}, nil })

func forever(train.Progress) bool { return false }

func steps(n int64) func(train.Progress) bool {
	return func(p train.Progress) bool { return p.Steps >= n }
}

// of is a batch with rows of the given origins, written read·copy.
func of(reads int64, origins ...[2]int) data.Batch {
	b := data.Batch{Reads: reads}
	for _, o := range origins {
		b.Origins = append(b.Origins, data.Origin{Read: int64(o[0]), Copy: o[1]})
	}
	return b
}

func batches(all ...data.Batch) data.Seq[data.Batch] {
	return func(yield func(data.Batch, error) bool) {
		for _, b := range all {
			if !yield(b, nil) {
				return
			}
		}
	}
}

func TestRunCountsWhatTheBatchesHold(t *testing.T) {
	var seen []train.Progress
	watch := train.ObserverFunc(func(p train.Progress, _ data.Batch) error {
		p.Fill, p.Elapsed, p.Wait, p.Compute, p.CPU = 0, 0, 0, 0, 0
		seen = append(seen, p)
		return nil
	})
	learn := stepper(func(b data.Batch, at train.Progress) (train.Stats, error) {
		return train.Stats{Loss: float64(at.Steps), Correct: len(b.Origins)}, nil
	})
	first := of(7, [2]int{0, 0}, [2]int{4, 0}, [2]int{0, 1})                // two reads, one of them twice
	second := of(5, [2]int{1, 1}, [2]int{1, 2}, [2]int{1, 3}, [2]int{2, 0}) // formed before the first, as after a shuffle of batches
	third := of(9, [2]int{8, 0})
	p, err := train.Run(t.Context(), train.Progress{}, learn, batches(first, second, third, first.Echo(1)), forever, watch)
	if err != nil {
		t.Fatal(err)
	}
	want := []train.Progress{
		{Steps: 1, Examples: 3, Fresh: 2, Reads: 7, Duplicates: 1, Last: train.Stats{Loss: 0, Correct: 3}},
		{Steps: 2, Examples: 7, Fresh: 3, Reads: 7, Duplicates: 3, Last: train.Stats{Loss: 1, Correct: 4}},
		{Steps: 3, Examples: 8, Fresh: 4, Reads: 9, Duplicates: 3, Last: train.Stats{Loss: 2, Correct: 1}},
		{Steps: 4, Examples: 11, Fresh: 4, Reads: 9, Duplicates: 4, Last: train.Stats{Loss: 3, Correct: 3}},
	}
	if !slices.Equal(seen, want) {
		t.Errorf("the books are\n%v, want\n%v", seen, want)
	}
	if p.Steps != 4 || p.Examples != 11 || p.Last.Loss != 3 {
		t.Errorf("Run returned %+v", p)
	}
}

func TestRunAsksBeforeTheFirstStepWhetherItIsDone(t *testing.T) {
	from := train.Progress{Steps: 5, Examples: 40}
	never := func(func(data.Batch, error) bool) { t.Error("a batch was asked for") }
	p, err := train.Run(t.Context(), from, still, never, steps(5))
	if err != nil || p != from {
		t.Errorf("got %+v, %v", p, err)
	}
}

func TestRunTakesNoBatchBeyondTheLastStep(t *testing.T) {
	taken, left := 0, false
	endless := func(yield func(data.Batch, error) bool) {
		defer func() { left = true }()
		for taken++; yield(of(1, [2]int{0, 0}), nil); taken++ {
		}
	}
	p, err := train.Run(t.Context(), train.Progress{}, still, endless, steps(3))
	if err != nil || p.Steps != 3 || taken != 3 || !left {
		t.Errorf("%d steps, %d batches taken, stream left: %v, %v", p.Steps, taken, left, err)
	}
}

// sleepy yields n batches, each after a time.
func sleepy(n int, times ...time.Duration) data.Seq[data.Batch] {
	return func(yield func(data.Batch, error) bool) {
		for i := range n {
			time.Sleep(times[min(i, len(times)-1)])
			if !yield(of(1, [2]int{i, 0}), nil) {
				return
			}
		}
		time.Sleep(time.Hour) // finding the end is no part of a step
	}
}

func TestTimeIsBookedWhereItWasSpent(t *testing.T) {
	const s = time.Second
	learn := stepper(func(data.Batch, train.Progress) (train.Stats, error) {
		time.Sleep(5 * s)
		return train.Stats{}, nil
	})
	evaluate := train.ObserverFunc(func(train.Progress, data.Batch) error {
		time.Sleep(1000 * s)
		return nil
	})
	done := func(train.Progress) bool {
		time.Sleep(100 * s)
		return false
	}
	for _, c := range []struct{ from, want train.Progress }{
		{
			train.Progress{},
			train.Progress{Fill: 60 * s, Wait: 2 * 3 * s, Compute: 3 * 5 * s, Elapsed: 21 * s},
		},
		{
			train.Progress{Fill: 1 * s, Wait: 10 * s, Compute: 20 * s, Elapsed: 30 * s},
			train.Progress{Fill: 61 * s, Wait: 16 * s, Compute: 35 * s, Elapsed: 51 * s},
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			p, err := train.Run(t.Context(), c.from, learn, sleepy(3, 60*s, 3*s), done, evaluate, evaluate)
			if err != nil {
				t.Fatal(err)
			}
			if p.Fill != c.want.Fill || p.Wait != c.want.Wait || p.Compute != c.want.Compute || p.Elapsed != c.want.Elapsed {
				t.Errorf("fill %v, wait %v, compute %v, elapsed %v\nwant %v, %v, %v, %v",
					p.Fill, p.Wait, p.Compute, p.Elapsed, c.want.Fill, c.want.Wait, c.want.Compute, c.want.Elapsed)
			}
		})
	}
}

// burn uses the processor for about d.
func burn(d time.Duration) {
	for start := time.Now(); time.Since(start) < d; {
	}
}

func TestProcessorTimeLeavesObserversOut(t *testing.T) {
	observe := train.ObserverFunc(func(train.Progress, data.Batch) error {
		burn(100 * time.Millisecond)
		return nil
	})
	learn := stepper(func(data.Batch, train.Progress) (train.Stats, error) {
		burn(10 * time.Millisecond)
		return train.Stats{}, nil
	})
	p, err := train.Run(t.Context(), train.Progress{}, learn, batches(of(1), of(2)), forever, observe)
	if err != nil {
		t.Fatal(err)
	}
	if p.CPU > 150*time.Millisecond {
		t.Errorf("%v of processor time for two steps of 10 ms, observers of 100 ms left out", p.CPU)
	}
	if p.CPU == 0 {
		t.Skip("this system does not tell processor time")
	}
	if p.CPU < time.Millisecond {
		t.Errorf("%v of processor time for two steps of 10 ms", p.CPU)
	}
}

func TestErrorsEndTheRunAndLeaveTheBooksOfTheLastGoodStep(t *testing.T) {
	broken := errors.New("broken")
	good := of(1, [2]int{0, 0})
	ends := func(yield func(data.Batch, error) bool) {
		if more := yield(good, nil); more && yield(good, nil) {
			yield(data.Batch{}, broken)
		}
	}
	learn := func(failing int64) stepper {
		return func(_ data.Batch, at train.Progress) (train.Stats, error) {
			if at.Steps == failing {
				return train.Stats{}, broken
			}
			return train.Stats{Loss: 0.5}, nil
		}
	}
	observe := func(failing int64) train.Observer {
		return train.ObserverFunc(func(p train.Progress, _ data.Batch) error {
			if p.Steps == failing {
				return broken
			}
			return nil
		})
	}
	for _, c := range []struct {
		name         string
		step, notice int64
		steps        int64
		text         string
	}{
		{"of batches", -1, -1, 2, "broken"},
		{"of the stepper", 1, -1, 1, "train: step 2: broken"},
		{"of an observer", -1, 1, 1, "broken"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := train.Run(t.Context(), train.Progress{}, learn(c.step), ends, forever, observe(c.notice))
			if !errors.Is(err, broken) || err.Error() != c.text {
				t.Errorf("the error is %q, want %q", err, c.text)
			}
			if p.Steps != c.steps || p.Examples != c.steps || p.Last.Loss != 0.5 {
				t.Errorf("the books are %+v, want those of %d steps", p, c.steps)
			}
			if p.Elapsed != p.Wait+p.Compute {
				t.Errorf("elapsed %v, of which %v waiting and %v computing", p.Elapsed, p.Wait, p.Compute)
			}
		})
	}
}

func TestAnObserverThatFailsHidesTheStepFromLaterOnes(t *testing.T) {
	broken := errors.New("broken")
	_, err := train.Run(t.Context(), train.Progress{}, still, batches(of(1)), forever,
		train.ObserverFunc(func(train.Progress, data.Batch) error { return broken }),
		train.ObserverFunc(func(train.Progress, data.Batch) error { t.Error("observed"); return nil }))
	if err != broken {
		t.Error(err)
	}
}

func TestCancellationEndsTheRunBetweenSteps(t *testing.T) {
	for name, endsWithContext := range map[string]bool{"batches that do not heed it": false, "batches that end": true} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			seq := func(yield func(data.Batch, error) bool) {
				for !endsWithContext || ctx.Err() == nil {
					if !yield(of(1, [2]int{0, 0}), nil) {
						return
					}
				}
			}
			p, err := train.Run(ctx, train.Progress{}, still, seq, forever, train.ObserverFunc(func(p train.Progress, _ data.Batch) error {
				if p.Steps == 3 {
					cancel()
				}
				return nil
			}))
			if !errors.Is(err, context.Canceled) || p.Steps != 3 {
				t.Errorf("%d steps, %v", p.Steps, err)
			}
		})
	}
}

func TestRunGoesOnFromWhereItStood(t *testing.T) {
	all := []data.Batch{of(2, [2]int{0, 0}, [2]int{0, 1}), of(3, [2]int{1, 0}, [2]int{2, 0}), of(4, [2]int{3, 0}), of(4, [2]int{3, 1})}
	var asked []int64
	learn := stepper(func(_ data.Batch, at train.Progress) (train.Stats, error) {
		asked = append(asked, at.Steps)
		return train.Stats{Loss: float64(at.Steps)}, nil
	})
	run := func(from train.Progress, all ...data.Batch) train.Progress {
		p, err := train.Run(t.Context(), from, learn, batches(all...), forever)
		if err != nil {
			t.Fatal(err)
		}
		p.Fill, p.Wait, p.Compute, p.Elapsed, p.CPU = 0, 0, 0, 0, 0
		return p
	}
	whole := run(train.Progress{}, all...)
	parts := run(run(train.Progress{}, all[:2]...), all[2:]...)
	if whole != parts {
		t.Errorf("in one go %+v, in two %+v", whole, parts)
	}
	if want := []int64{0, 1, 2, 3, 0, 1, 2, 3}; !slices.Equal(asked, want) {
		t.Errorf("steps were taken at %v, want %v", asked, want)
	}
}

// A run is three things: batches, something that learns from them, and what is
// to happen along the way. This one learns nothing; it shows the books that
// Run keeps of batches in which every read is used twice.
func ExampleRun() {
	echoed := func(yield func(data.Batch, error) bool) {
		for read := int64(0); ; read++ {
			row := data.Origin{Index: int(read), Read: read}
			b := data.Batch{Origins: []data.Origin{row, row.Echo(1)}, Reads: read + 1}
			if !yield(b, nil) {
				return
			}
		}
	}
	guess := stepper(func(b data.Batch, at train.Progress) (train.Stats, error) {
		return train.Stats{Loss: 1 / float64(1+at.Steps)}, nil
	})
	enough := func(p train.Progress) bool { return p.Fresh >= 4 }
	report := train.ObserverFunc(func(p train.Progress, _ data.Batch) error {
		fmt.Printf("step %d: %d examples, %d fresh, loss %.2f\n", p.Steps, p.Examples, p.Fresh, p.Last.Loss)
		return nil
	})
	p, err := train.Run(context.Background(), train.Progress{}, guess, echoed, enough, report)
	fmt.Println(p.Duplicates, "duplicates", err)
	// Output:
	// step 1: 2 examples, 1 fresh, loss 1.00
	// step 2: 4 examples, 2 fresh, loss 0.50
	// step 3: 6 examples, 3 fresh, loss 0.33
	// step 4: 8 examples, 4 fresh, loss 0.25
	// 4 duplicates <nil>
}

func TestDivergenceIsFoundInTheErrorOfARun(t *testing.T) {
	learn := stepper(func(_ data.Batch, at train.Progress) (train.Stats, error) {
		return train.Stats{}, train.Diverged{Step: at.Steps + 1, What: "the loss is NaN"}
	})
	_, err := train.Run(t.Context(), train.Progress{Steps: 6}, learn, batches(of(1)), forever)
	var d train.Diverged
	if !errors.As(err, &d) || d.Step != 7 || !strings.Contains(err.Error(), "diverged at step 7: the loss is NaN") {
		t.Errorf("the error is %v", err)
	}
}
