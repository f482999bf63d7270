package echo_test

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-ml/reprise/echo"
)

func ExampleBalance() {
	b := echo.Balance{Up: 0.3, Down: 0.1}
	fmt.Printf("R = %.1f\n", b.R())
	for _, e := range []float64{1, 2, 3, 6} {
		fmt.Printf("%g: %.1f s, speed-up up to %.1f\n", e, b.Time(e), b.Speedup(e))
	}
	// Output:
	// R = 3.0
	// 1: 0.3 s, speed-up up to 1.0
	// 2: 0.3 s, speed-up up to 2.0
	// 3: 0.3 s, speed-up up to 3.0
	// 6: 0.6 s, speed-up up to 3.0
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(math.Abs(a), math.Abs(b), 1) }

func TestWithoutSharedCoresTheFormulasAreThoseOfThePaper(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := echo.Balance{Up: rapid.Float64Range(0.01, 10).Draw(t, "up"), Down: rapid.Float64Range(0.01, 10).Draw(t, "down")}
		e, r := rapid.Float64Range(1, 20).Draw(t, "e"), b.R()
		bound := 1.0
		if r >= 1 {
			bound = min(e, r)
		}
		if !near(b.Relative(e), max(r, e)/max(r, 1)) || !near(b.Speedup(e), bound) || !near(b.Free(), max(r, 1)) || !near(b.Limit(), max(r, 1)) || b.Shared(e) {
			t.Errorf("%+v at %g: %g, %g, %g, %g", b, e, b.Relative(e), b.Speedup(e), b.Free(), b.Limit())
		}
	})
}

func TestCoresThatAreSharedMakeEveryFurtherUseCost(t *testing.T) {
	// Two cores: making a batch takes 2 s on both, the step 1 s on both.
	b := echo.Balance{Up: 2, Down: 1, CPUUp: 4, CPUDown: 2, Cores: 2}
	for e, want := range map[float64]float64{1: 3, 2: 4, 4: 6} {
		if !b.Shared(e) || b.Time(e) != want {
			t.Errorf("at %g: %g s, want %g", e, b.Time(e), want)
		}
	}
	if b.Free() != 1 || !math.IsInf(b.Limit(), 1) || b.Speedup(2) != 1.5 || b.Speedup(1000) > 3 {
		t.Errorf("free up to %g, limit %g, speed-up %g and %g", b.Free(), b.Limit(), b.Speedup(2), b.Speedup(1000))
	}
	// The step keeps one core of the two busy.
	b.CPUDown = 1
	if b.Time(1) != 2.5 || b.Limit() != 4 || !near(b.Speedup(4), 2.5) || !near(b.Speedup(9), 2.5) {
		t.Errorf("%g s, limit %g, speed-up %g and %g", b.Time(1), b.Limit(), b.Speedup(4), b.Speedup(9))
	}
}

func TestTheSpeedupRisesUpToTheLimitAndNoFurther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		of := func(name string) float64 { return rapid.Float64Range(0.01, 10).Draw(t, name) }
		b := echo.Balance{Up: of("up"), Down: of("down"), Cores: 2}
		b.CPUUp, b.CPUDown = 2*b.Up*rapid.Float64Range(0, 1).Draw(t, "busy up"), 2*b.Down*rapid.Float64Range(0, 1).Draw(t, "busy down")
		limit := b.Limit()
		if math.IsInf(limit, 1) || limit > 1e6 {
			limit = 1e6
		} else if !near(b.Speedup(limit), b.Speedup(2*limit)) {
			t.Errorf("%+v: %g at the limit %g, %g beyond", b, b.Speedup(limit), limit, b.Speedup(2*limit))
		}
		if below := 1 + 0.9*(limit-1); b.Speedup(below) > b.Speedup(limit)+1e-9 {
			t.Errorf("%+v: %g below the limit, %g at it", b, b.Speedup(below), b.Speedup(limit))
		}
		if free := b.Free(); !near(b.Time(free), b.Time(1)) {
			t.Errorf("%+v: up to %g uses are free, and take %g s for %g", b, free, b.Time(free), b.Time(1))
		}
	})
}
