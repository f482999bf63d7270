package train_test

import (
	"math"
	"testing"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/echo"
	"github.com/reprise-ml/reprise/train"
)

// follow runs steps of batches of reads that are echoed by factor before a
// shuffle buffer of m rows.
func follow(t *testing.T, factor echo.Factor, m, batch, steps int) (train.Uses, train.Progress) {
	t.Helper()
	origins := echo.Repeat(data.Order(1000, data.Permuted, 1), factor, 1)
	examples := func(yield func(data.Example, error) bool) {
		for o, err := range origins {
			if !yield(data.Example{Origin: o}, err) {
				return
			}
		}
	}
	batches := data.Batches(data.Shuffle(examples, m, 1), batch, func(group []data.Example) (b data.Batch, _ error) {
		for _, e := range group {
			b.Origins = append(b.Origins, e.Origin)
			b.Reads = max(b.Reads, e.Reads)
		}
		return b, nil
	})
	reuse := &train.Reuse{Window: train.Window(m, batch, float64(factor))}
	var half train.Uses
	var from train.Progress
	p, err := train.Run(t.Context(), train.Progress{}, idle{}, batches, func(p train.Progress) bool {
		if p.Steps == int64(steps/5) { // the buffer is mixed by then
			half, from = reuse.Total, p
		}
		return p.Steps == int64(steps)
	}, train.ObserverFunc(func(p train.Progress, b data.Batch) error { reuse.Follow(p.Steps, b); return nil }))
	if err != nil {
		t.Fatal(err)
	}
	u := reuse.Total
	p.Duplicates -= from.Duplicates
	p.Examples -= from.Examples
	return train.Uses{Rows: u.Rows - half.Rows, Reads: u.Reads - half.Reads, Steps: u.Steps - half.Steps}, p
}

// idle is a step that does nothing.
type idle struct{}

func (idle) Step(data.Batch, train.Progress) (train.Stats, error) { return train.Stats{}, nil }

func TestRepeatsAreTheFactorAndTheLagThatOfTheBuffer(t *testing.T) {
	for _, c := range []struct {
		factor   echo.Factor
		m, batch int
	}{{2, 200, 10}, {2, 1000, 50}, {3, 500, 20}, {1.5, 300, 10}, {5, 400, 10}} {
		u, _ := follow(t, c.factor, c.m, c.batch, 20*c.m/c.batch*10)
		if got := u.Repeats(train.Uses{}); math.Abs(got/float64(c.factor)-1) > 0.02 {
			t.Errorf("%+v: a read is used %g times", c, got)
		}
		// A row leaves the buffer after m rows on average, exponentially. So
		// the k of n uses of a read that are left are m/k rows apart.
		f := float64(c.factor)
		low := math.Floor(f)
		harmonic := func(n float64) (sum float64) {
			for k := 1.0; k < n; k++ {
				sum += 1 / k
			}
			return sum
		}
		gaps := (1-(f-low))*harmonic(low) + (f-low)*harmonic(low+1)
		want := float64(c.m) / float64(c.batch) * gaps / (f - 1)
		if lag, ok := u.Lag(train.Uses{}); !ok || math.Abs(lag/want-1) > 0.05 {
			t.Errorf("%+v: the lag is %g steps, want %g", c, lag, want)
		}
	}
}

func TestTheShareOfDuplicatesIsThatOfTheFormula(t *testing.T) {
	for _, c := range []struct {
		factor   echo.Factor
		m, batch int
	}{{2, 2000, 64}, {3, 4000, 64}, {4, 8000, 128}} {
		_, p := follow(t, c.factor, c.m, c.batch, 60*c.m/c.batch)
		got := float64(p.Duplicates) / float64(p.Examples)
		want := float64(c.batch) * (float64(c.factor) - 1) / (4 * float64(c.m))
		if math.Abs(got/want-1) > 0.1 {
			t.Errorf("%+v: %.4f of the rows, want B·(e−1)/(4·M) = %.4f", c, got, want)
		}
	}
}

func TestTheLagIsThatBetweenUses(t *testing.T) {
	r := &train.Reuse{Window: 10}
	for step, reads := range [][]int64{{0, 1}, {0, 2}, {2, 2}, {1, 3}} {
		var b data.Batch
		for _, read := range reads {
			b.Origins = append(b.Origins, data.Origin{Read: read})
		}
		r.Follow(int64(step+1), b)
	}
	u := r.Total
	if lag, ok := u.Lag(train.Uses{}); u != (train.Uses{Rows: 8, Reads: 4, Steps: 1 + 1 + 0 + 3}) || !ok || lag != 1.25 || u.Repeats(train.Uses{}) != 2 {
		t.Errorf("%+v, lag %g", u, lag)
	}
	if _, ok := u.Lag(u); ok || u.Repeats(u) != 0 {
		t.Error("nothing happened and has a lag, or repeats")
	}
}

func TestWhatIsRememberedIsNotCountedAndItsNextUseIs(t *testing.T) {
	r := &train.Reuse{Window: 8, Total: train.Uses{Rows: 1, Reads: 1}}
	r.Remember(1, data.Batch{Origins: []data.Origin{{Read: 5}}})
	r.Follow(4, data.Batch{Origins: []data.Origin{{Read: 5}}})
	if r.Total != (train.Uses{Rows: 2, Reads: 1, Steps: 3}) {
		t.Errorf("%+v", r.Total)
	}
}

func TestAUseAfterTheWindowIsAFirstOne(t *testing.T) {
	r := &train.Reuse{Window: 3}
	for step, read := range []int64{0, 1, 2, 3, 0} {
		r.Follow(int64(step+1), data.Batch{Origins: []data.Origin{{Read: read}}})
	}
	if u := r.Total; u != (train.Uses{Rows: 5, Reads: 5}) {
		t.Errorf("%+v", u)
	}
}
