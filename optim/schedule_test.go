package optim

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestSchedulesAgreeWithTheirFormulas(t *testing.T) {
	linear, cosine := Linear{From: 1, To: 0.5, Over: 100}, Cosine{From: 1, To: 0.2, Over: 100}
	step := Step{From: 0.8, Factor: 0.5, At: []float64{80, 30, 60}}
	decay := Exponential{From: 2, Factor: 0.5, Every: 10}
	stairs := Exponential{From: 2, Factor: 0.5, Every: 10, Staircase: true}
	warm := Warmup{From: 0.1, Over: 10, Then: linear}
	for _, c := range []struct {
		s       Schedule
		t, want float64
	}{
		{Constant{}, 5, 0},
		{Constant{0.3}, -1, 0.3},
		{Constant{0.3}, 0, 0.3},
		{Constant{0.3}, 1e12, 0.3},
		{linear, -5, 1},
		{linear, 0, 1},
		{linear, 50, 0.75},
		{linear, 99, 0.505},
		{linear, 100, 0.5},
		{linear, 1e9, 0.5},
		{Linear{From: 1, To: 0.5}, 0, 0.5},
		{Linear{From: 1, To: 0.5}, -1, 0.5},
		{Linear{From: 0, To: 4, Over: 8}, 3, 1.5},
		{cosine, -5, 1},
		{cosine, 0, 1},
		{cosine, 25, 0.2 + 0.8*(1+math.Sqrt2/2)/2},
		{cosine, 50, 0.6},
		{cosine, 75, 0.2 + 0.8*(1-math.Sqrt2/2)/2},
		{cosine, 100, 0.2},
		{cosine, 101, 0.2},
		{Cosine{From: 1, To: 0.5}, 0, 0.5},
		{step, -5, 0.8},
		{step, 0, 0.8},
		{step, 29.99, 0.8},
		{step, 30, 0.4},
		{step, 60, 0.2},
		{step, 79, 0.2},
		{step, 80, 0.1},
		{step, 1e9, 0.1},
		{Step{From: 1, At: []float64{5}}, 5, 0.1},
		{Step{From: 1, At: []float64{0}}, -1, 0.1},
		{Step{From: 1, Factor: 3}, 5, 1},
		{decay, -5, 2},
		{decay, 0, 2},
		{decay, 5, math.Sqrt2},
		{decay, 10, 1},
		{decay, 30, 0.25},
		{stairs, -5, 2},
		{stairs, 0, 2},
		{stairs, 9.99, 2},
		{stairs, 10, 1},
		{stairs, 35, 0.25},
		{Exponential{From: 2}, 7, 2},
		{Exponential{From: 2, Every: 1}, 2, 0.02},
		{warm, -5, 0.1},
		{warm, 0, 0.1},
		{warm, 5, 0.1 + (0.95-0.1)/2},
		{warm, 10, 0.95},
		{warm, 50, 0.75},
		{warm, 1000, 0.5},
		{Warmup{Then: linear}, 0, 1},
		{Warmup{From: 7, Then: linear}, -5, 1},
		{Warmup{Over: 4, Then: Constant{2}}, 1, 0.5},
	} {
		if got := c.s.Rate(c.t); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%+v at %g is %g, want %g", c.s, c.t, got, c.want)
		}
	}
}

// drawSchedule returns a schedule that falls or stays from one rate to another.
func drawSchedule(t *rapid.T) (s Schedule, low, high float64) {
	low = rapid.Float64Range(0, 1).Draw(t, "low")
	high = low + rapid.Float64Range(0, 1).Draw(t, "above")
	over := rapid.Float64Range(0, 1000).Draw(t, "over")
	factor := rapid.Float64Range(0.01, 1).Draw(t, "factor")
	switch rapid.IntRange(0, 4).Draw(t, "kind") {
	case 0:
		return Constant{high}, high, high
	case 1:
		return Linear{high, low, over}, low, high
	case 2:
		return Cosine{high, low, over}, low, high
	case 3:
		at := rapid.SliceOfN(rapid.Float64Range(0, 1000), 0, 5).Draw(t, "at")
		return Step{high, factor, at}, high * math.Pow(factor, float64(len(at))), high
	default:
		return Exponential{high, factor, over, rapid.Bool().Draw(t, "staircase")}, 0, high
	}
}

func TestSchedulesAreMonotoneAndBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, low, high := drawSchedule(t)
		a := rapid.Float64Range(-10, 2000).Draw(t, "a")
		b := a + rapid.Float64Range(0, 2000).Draw(t, "distance")
		ra, rb := s.Rate(a), s.Rate(b)
		if !(ra >= rb) {
			t.Fatalf("%+v rises from %g at %g to %g at %g", s, ra, a, rb, b)
		}
		const slack = 1 + 1e-12 // a product of factors is not a power of one, to the last bit
		if !(ra <= high) || !(rb*slack >= low) {
			t.Fatalf("%+v is %g and %g, outside of [%g, %g]", s, ra, rb, low, high)
		}
	})
}

func TestWarmupRisesAndJoinsItsSchedule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		then, _, _ := drawSchedule(t)
		over := rapid.Float64Range(1, 100).Draw(t, "warm-up")
		end := then.Rate(over)
		w := Warmup{From: end * rapid.Float64Range(0, 1).Draw(t, "start"), Over: over, Then: then}
		if got := w.Rate(0); got != w.From {
			t.Fatalf("begins at %g, want %g", got, w.From)
		}
		if before := w.Rate(math.Nextafter(over, 0)); math.Abs(before-end) > 1e-12 || w.Rate(over) != end {
			t.Fatalf("jumps at its end from %g to %g, want %g", before, w.Rate(over), end)
		}
		a := rapid.Float64Range(0, over).Draw(t, "a")
		b := rapid.Float64Range(a, over).Draw(t, "b")
		if ra, rb := w.Rate(a), w.Rate(b); !(w.From <= ra && ra <= rb && rb <= end) {
			t.Fatalf("%g at %g, then %g at %g, between %g and %g", ra, a, rb, b, w.From, end)
		}
		if after := rapid.Float64Range(over, 2000).Draw(t, "after"); w.Rate(after) != then.Rate(after) {
			t.Fatalf("at %g it is %g, not %g", after, w.Rate(after), then.Rate(after))
		}
	})
}

func ExampleWarmup() {
	s := Warmup{Over: 500, Then: Cosine{From: 0.4, Over: 10_000}}
	for _, step := range []float64{0, 250, 500, 5_000, 10_000} {
		fmt.Printf("step %5.0f: %.4f\n", step, s.Rate(step))
	}
	// Output:
	// step     0: 0.0000
	// step   250: 0.1988
	// step   500: 0.3975
	// step  5000: 0.2000
	// step 10000: 0.0000
}
