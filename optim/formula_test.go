package optim

import (
	"math"
	"testing"

	"gorgonia.org/gorgonia"
	"pgregory.net/rapid"
)

// formula is one element under the formula of an optimizer's doc comment, in float64.
type formula struct {
	w, m, v float64
	t       float64
}

func (f *formula) sgd(o *SGD, rate, grad float64) {
	g := grad + o.WeightDecay*f.w
	f.m = o.Momentum*f.m + g
	if o.Nesterov {
		f.w -= rate * (g + o.Momentum*f.m)
	} else {
		f.w -= rate * f.m
	}
}

func (f *formula) adam(beta1, beta2, epsilon, rate, g float64) {
	f.t++
	f.m = beta1*f.m + (1-beta1)*g
	f.v = beta2*f.v + (1-beta2)*g*g
	f.w -= rate * f.m / (1 - math.Pow(beta1, f.t)) / (math.Sqrt(f.v/(1-math.Pow(beta2, f.t))) + epsilon)
}

// agree steps o and the formula beside it.
func agree(t *rapid.T, o optimizer, step func(f *formula, rate, grad float64)) {
	start := rapid.SliceOfN(rapid.Float32Range(-2, 2), 1, 9).Draw(t, "start")
	w := newVariable("w", true, start, make([]float32, len(start)))
	want := make([]formula, len(start))
	for i, x := range start {
		want[i].w = float64(x)
	}
	for range rapid.IntRange(1, 10).Draw(t, "steps") {
		rate := rapid.Float64Range(0, 0.1).Draw(t, "rate")
		for i := range want {
			g := rapid.SampledFrom([]float32{-2, -1, -0.25, 0, 0.5, 1, 3}).Draw(t, "gradient")
			w.grad.Float32s()[i] = g
			step(&want[i], rate, float64(g))
		}
		o.SetRate(rate)
		if err := o.Step([]gorgonia.ValueGrad{w}); err != nil {
			t.Fatal(err)
		}
		for i, got := range w.value.Float32s() {
			if d := math.Abs(float64(got) - want[i].w); d > 1e-5*max(1, math.Abs(want[i].w)) {
				t.Fatalf("element %d is %g, want %g", i, got, want[i].w)
			}
		}
	}
}

func TestSGDAgreesWithItsFormula(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := &SGD{Momentum: rapid.Float64Range(0, 0.99).Draw(t, "momentum"), WeightDecay: rapid.Float64Range(0, 0.5).Draw(t, "decay")}
		o.Nesterov = o.Momentum > 0 && rapid.Bool().Draw(t, "nesterov")
		agree(t, o, func(f *formula, rate, grad float64) { f.sgd(o, rate, grad) })
	})
}

func TestAdamAgreesWithItsFormula(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// An epsilon of 1e-3 keeps the formula well conditioned where a gradient cancels the decay.
		o := &Adam{Epsilon: 1e-3, WeightDecay: rapid.Float64Range(0, 0.5).Draw(t, "decay")}
		agree(t, o, func(f *formula, rate, grad float64) { f.adam(0.9, 0.999, 1e-3, rate, grad+o.WeightDecay*f.w) })
	})
}

func TestAdamWAgreesWithItsFormula(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := &AdamW{Beta1: 0.5, Beta2: 0.75, WeightDecay: rapid.Float64Range(0, 0.5).Draw(t, "decay")}
		agree(t, o, func(f *formula, rate, grad float64) {
			f.w *= 1 - rate*o.WeightDecay
			f.adam(0.5, 0.75, 1e-8, rate, grad)
		})
	})
}

func TestTheRateBeforeSetRateIsTheDefault(t *testing.T) {
	for want, o := range map[float32]optimizer{1 - 0.01: &SGD{}, 1 - 0.001: &Adam{}} {
		w := newVariable("w", true, []float32{1}, []float32{1})
		if err := o.Step([]gorgonia.ValueGrad{w}); err != nil {
			t.Fatal(err)
		}
		if got := w.value.Float32s(); near(got, []float32{want}) != nil {
			t.Errorf("%T: 1 became %v, want %g", o, got, want)
		}
	}
}

func TestARateOfZeroMovesNothing(t *testing.T) {
	for name, o := range all() {
		w := newVariable("w", true, []float32{1, -3}, []float32{1, 2})
		o.SetRate(0)
		if err := o.Step([]gorgonia.ValueGrad{w}); err != nil {
			t.Fatal(err)
		}
		if got := w.value.Float32s(); got[0] != 1 || got[1] != -3 {
			t.Errorf("%s: became %v", name, got)
		}
	}
}
