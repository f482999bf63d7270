package train_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/train"
)

func bySteps(p train.Progress) int64 { return p.Steps }
func byFresh(p train.Progress) int64 { return p.Fresh }

// calls returns the counts at which Every calls its observer.
func calls(interval int64, counts ...int64) (at []int64) {
	return callsFrom(train.Progress{}, interval, counts...)
}

func callsFrom(from train.Progress, interval int64, counts ...int64) (at []int64) {
	o := train.Every(interval, byFresh, from, train.ObserverFunc(func(p train.Progress, _ data.Batch) error {
		at = append(at, p.Fresh)
		return nil
	}))
	for _, n := range counts {
		if err := o.Observe(train.Progress{Fresh: n}, data.Batch{}); err != nil {
			panic(err)
		}
	}
	return at
}

func TestEveryCallsOnceForEachStretchThatIsLeft(t *testing.T) {
	for _, c := range []struct {
		interval     int64
		counts, want []int64
	}{
		{1, []int64{1, 2, 3}, []int64{1, 2, 3}},
		{3, []int64{1, 2, 3, 4, 5, 6, 7}, []int64{3, 6}},
		{10, []int64{4, 8, 12, 16, 20, 24}, []int64{12, 20}},
		{10, []int64{9, 35, 36, 39, 40, 41}, []int64{35, 40}}, // three at once are one call
		{10, []int64{5, 5, 5, 10, 10, 10, 11}, []int64{10}},   // batches of echoes only
		{10, []int64{100}, []int64{100}},
		{10, []int64{1, 9}, nil},
	} {
		if got := calls(c.interval, c.counts...); !slices.Equal(got, c.want) {
			t.Errorf("every %d at %v: called at %v, want %v", c.interval, c.counts, got, c.want)
		}
	}
}

func TestEveryCallsWhereAMultipleIsReached(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		interval := rapid.Int64Range(1, 50).Draw(t, "interval")
		n := int64(0)
		var counts, want []int64
		for _, step := range rapid.SliceOf(rapid.Int64Range(0, 120)).Draw(t, "steps") {
			if (n+step)/interval > n/interval {
				want = append(want, n+step)
			}
			n += step
			counts = append(counts, n)
		}
		if got := calls(interval, counts...); !slices.Equal(got, want) {
			t.Errorf("every %d at %v: called at %v, want %v", interval, counts, got, want)
		}
		if len(counts) == 0 {
			return
		}
		k := rapid.IntRange(0, len(counts)-1).Draw(t, "k")
		got := callsFrom(train.Progress{Fresh: counts[k]}, interval, counts[k+1:]...)
		if before := calls(interval, counts[:k+1]...); !slices.Equal(slices.Concat(before, got), want) {
			t.Errorf("every %d at %v: called at %v when it begins again at %d, want %v", interval, counts, slices.Concat(before, got), counts[k], want)
		}
	})
}

func TestEveryHandsOnTheBatchAndTheError(t *testing.T) {
	broken := errors.New("broken")
	o := train.Every(2, bySteps, train.Progress{}, train.ObserverFunc(func(_ train.Progress, b data.Batch) error {
		if b.Reads != 9 {
			t.Errorf("another batch, of %d reads", b.Reads)
		}
		return broken
	}))
	if err := o.Observe(train.Progress{Steps: 1}, data.Batch{}); err != nil {
		t.Error(err)
	}
	if err := o.Observe(train.Progress{Steps: 2}, data.Batch{Reads: 9}); err != broken {
		t.Error(err)
	}
}

// last returns the step at which losses end a run as diverged, 0 if they do not.
func last(losses ...float64) int64 {
	o := new(train.Divergence)
	for i, loss := range losses {
		err := o.Observe(train.Progress{Steps: int64(i + 1), Last: train.Stats{Loss: loss}}, data.Batch{})
		var d train.Diverged
		if errors.As(err, &d) {
			return d.Step
		}
		if err != nil {
			panic(err)
		}
	}
	return 0
}

func TestALossThatStaysHighIsADivergence(t *testing.T) {
	high := func(n int) []float64 { return slices.Repeat([]float64{20.1}, n) }
	join := slices.Concat[[]float64]
	for _, c := range []struct {
		name   string
		losses []float64
		want   int64
	}{
		{"a hundred steps", join([]float64{2}, high(100)), 101},
		{"one fewer", join([]float64{2}, high(99)), 0},
		{"with one good step between", join([]float64{2}, high(99), []float64{19}, high(99)), 0},
		{"after a good step", join([]float64{2, 1, 0.1}, high(50), []float64{20}, high(150)), 154},
		{"ten times is not above", slices.Repeat([]float64{2, 20}, 100), 0},
		{"not a number", join([]float64{2}, slices.Repeat([]float64{math.NaN()}, 100)), 101},
		{"infinite", join([]float64{2}, slices.Repeat([]float64{math.Inf(1)}, 100)), 101},
	} {
		if got := last(c.losses...); got != c.want {
			t.Errorf("%s: diverged at step %d, want %d", c.name, got, c.want)
		}
	}
}

func TestDivergenceSaysWhatTheLossWas(t *testing.T) {
	o := new(train.Divergence)
	var err error
	for i := int64(1); err == nil && i < 200; i++ {
		err = o.Observe(train.Progress{Steps: i, Last: train.Stats{Loss: 2.5 * float64(i*i)}}, data.Batch{})
	}
	if err == nil || !strings.Contains(err.Error(), "diverged at step 103: the loss was above 10 times its first value, 2.5, for 100 steps") {
		t.Errorf("the error is %v", err)
	}
}

func TestEachDivergenceHasItsOwnMemory(t *testing.T) {
	a, b := new(train.Divergence), new(train.Divergence)
	for i := int64(1); i <= 99; i++ {
		loss := 100.
		if i == 1 {
			loss = 1
		}
		if err := a.Observe(train.Progress{Steps: i, Last: train.Stats{Loss: loss}}, data.Batch{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Observe(train.Progress{Steps: 1, Last: train.Stats{Loss: 100}}, data.Batch{}); err != nil {
		t.Error(err)
	}
}

// Half the rows of these batches are echoes, so that ten fresh examples are
// five batches of four rows.
func ExampleEvery() {
	report := train.Every(10, byFresh, train.Progress{}, train.ObserverFunc(func(p train.Progress, _ data.Batch) error {
		fmt.Println("step", p.Steps, "fresh examples", p.Fresh)
		return nil
	}))
	for step := int64(1); step <= 12; step++ {
		if err := report.Observe(train.Progress{Steps: step, Examples: 4 * step, Fresh: 2 * step}, data.Batch{}); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// step 5 fresh examples 10
	// step 10 fresh examples 20
}
