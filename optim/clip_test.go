package optim

import (
	"math"
	"slices"
	"testing"

	"gorgonia.org/gorgonia"
	"pgregory.net/rapid"
)

func TestClipNormScalesToMaxAndKeepsTheDirection(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gradients := rapid.SliceOfN(rapid.SliceOfN(rapid.Float32Range(-100, 100), 1, 11), 1, 4).Draw(t, "gradients")
		limit := rapid.Float64Range(0.01, 1000).Draw(t, "max")
		var ws []gorgonia.ValueGrad
		var sum float64
		for _, g := range gradients {
			ws = append(ws, newVariable("w", true, g, g))
			for _, x := range g {
				sum += float64(x) * float64(x)
			}
		}
		norm, err := ClipNorm(ws, limit)
		if err != nil || math.Abs(norm-math.Sqrt(sum)) > 1e-12*norm {
			t.Fatalf("norm %g, %v, want %g", norm, err, math.Sqrt(sum))
		}
		for i, g := range gradients {
			for j, got := range ws[i].(*variable).grad.Float32s() {
				want := float64(g[j]) * min(1, limit/norm)
				if norm <= limit && got != g[j] || math.Abs(float64(got)-want) > 1e-6*math.Abs(want)+1e-44 {
					t.Fatalf("%g became %g, want %g", g[j], got, want)
				}
			}
		}
	})
}

func TestClipNormLeavesADivergedGradientAlone(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, g := range [][]float32{{5, nan, 5}, {5, inf, 5}, {5, -inf, 5, 5}, {inf, nan}} {
		w := newVariable("w", true, g, g)
		norm, err := ClipNorm([]gorgonia.ValueGrad{w}, 1)
		if err != nil || !math.IsNaN(norm) && !math.IsInf(norm, 1) {
			t.Errorf("%v: norm %g, %v", g, norm, err)
		}
		if got := w.grad.Float32s(); got[0] != g[0] {
			t.Errorf("%v became %v", g, got)
		}
	}
}

func TestClipNormDoesNotOverflow(t *testing.T) {
	w := newVariable("w", true, []float32{0, 0}, []float32{3e38, 3e38})
	norm, err := ClipNorm([]gorgonia.ValueGrad{w}, 1)
	if err != nil || math.Abs(norm-math.Sqrt2*3e38) > 1e32 {
		t.Errorf("norm %g, %v", norm, err)
	}
	if err := near(w.grad.Float32s(), []float32{math.Sqrt2 / 2, math.Sqrt2 / 2}); err != nil {
		t.Error(err)
	}
}

func TestClipNormToZeroOnlyMeasures(t *testing.T) {
	w := newVariable("w", true, []float32{0, 0}, []float32{3, 4})
	if norm, err := ClipNorm([]gorgonia.ValueGrad{w}, 0); norm != 5 || err != nil {
		t.Errorf("norm %g, %v", norm, err)
	}
	if got := w.grad.Float32s(); !slices.Equal(got, []float32{3, 4}) {
		t.Errorf("the gradient became %v", got)
	}
	for _, limit := range []float64{-1, math.NaN()} {
		if _, err := ClipNorm([]gorgonia.ValueGrad{w}, limit); err == nil {
			t.Errorf("max %g was accepted", limit)
		}
	}
	if _, err := ClipNorm([]gorgonia.ValueGrad{&variable{name: "w", value: dense(1)}}, 1); err == nil {
		t.Error("a missing gradient was accepted")
	}
}

func TestClipNormScalesASharedGradientOnce(t *testing.T) {
	a, b := newVariable("a", true, []float32{0, 0}, []float32{3, 4}), newVariable("b", true, []float32{0, 0}, []float32{0, 0})
	b.grad = a.grad
	norm, err := ClipNorm([]gorgonia.ValueGrad{a, b}, 1)
	if err != nil || math.Abs(norm-math.Sqrt(50)) > 1e-12 {
		t.Fatalf("norm %g, %v", norm, err)
	}
	if norm, err = ClipNorm([]gorgonia.ValueGrad{a, b}, 0); err != nil || math.Abs(norm-1) > 1e-6 {
		t.Errorf("the norm became %g, %v", norm, err)
	}
}
