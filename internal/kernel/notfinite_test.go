package kernel

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// spoil puts NaN and infinities at random places, up to three.
func spoil(t *rapid.T, what string, values []float32) {
	for i, at := range rapid.SliceOfN(rapid.IntRange(0, len(values)-1), 0, 3).Draw(t, what) {
		values[at] = []float32{nan, float32(math.Inf(1)), float32(math.Inf(-1))}[i%3]
	}
}

func TestProductsPassOnWhatIsNotFiniteAndNothingElse(t *testing.T) {
	p := NewPool(2)
	defer p.Close()
	everyPath(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			draw := func(name string, hi int) int { return rapid.IntRange(1, hi).Draw(t, name) }
			s := ProductShape{Batch: draw("batch", 3), M: draw("m", 40), N: draw("n", 40), K: draw("k", 30),
				TransposeA: rapid.Bool().Draw(t, "transpose a"), TransposeB: rapid.Bool().Draw(t, "transpose b"),
				Accumulate: rapid.Bool().Draw(t, "accumulate"), ReLU: rapid.Bool().Draw(t, "relu")}
			a, b, bias, y := random(s.Batch*s.M*s.K, 1), random(s.Batch*s.K*s.N, 2), random(s.N, 3), random(s.Batch*s.M*s.N, 4)
			spoil(t, "a", a)
			spoil(t, "b", b)
			spoil(t, "bias", bias)
			spoil(t, "before", y)
			want := s.product(a, b, bias, y)
			NewProduct(p, s).Run(y, a, b, bias)
			checkKinds(t, "product", y, want.value)
		})
	})
}

func TestLinearLayersPassOnWhatIsNotFiniteAndNothingElse(t *testing.T) {
	p := NewPool(2)
	defer p.Close()
	everyPath(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			draw := func(name string) int { return rapid.IntRange(1, 40).Draw(t, name) }
			s := LinearShape{N: draw("n"), In: draw("in"), Out: draw("out")}
			x, w, b, dy := random(s.N*s.In, 1), random(s.Out*s.In, 2), random(s.Out, 3), random(s.N*s.Out, 4)
			spoil(t, "x", x)
			spoil(t, "w", w)
			spoil(t, "b", b)
			spoil(t, "dy", dy)
			checkLinear(t, s, p, x, w, b, dy, func(what string, got []float32, want sums) { checkKinds(t, what, got, want.value) })
		})
	})
}

func TestBiasAndColumnSumsPassOnWhatIsNotFiniteAndNothingElse(t *testing.T) {
	everyPath(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			rows, ch := rapid.IntRange(1, 40).Draw(t, "rows"), rapid.IntRange(1, 150).Draw(t, "channels")
			x, b := random(rows*ch, 1), random(ch, 2)
			spoil(t, "x", x)
			spoil(t, "b", b)
			wantY, wantSums := newSums(len(x)), newSums(ch)
			for i, v := range x {
				wantY.add(i, v, 1)
				wantY.add(i, b[i%ch], 1)
				wantSums.add(i%ch, v, 1)
			}
			y, columns := garbage(len(x)), make([]float64, ch)
			AddBias(y, x, b)
			checkKinds(t, "biased", y, wantY.value)
			ColumnSums(columns, x)
			checkKinds(t, "column sums", single(columns), wantSums.value)
		})
	})
}

// single rounds to float32.
func single(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}

// checkFiniteOutside demands that the numbers of channel bad, of one or more channels, are not finite and all others are.
func checkFiniteOutside(t failer, what string, got []float32, channels, bad int) {
	t.Helper()
	for i, v := range got {
		if finite := v-v == 0; finite == (i%channels == bad) {
			t.Fatalf("%s: value %d is %v, channel %d alone being bad", what, i, v, bad)
		}
	}
}

func TestANormalisedChannelDoesNotSpoilTheOthers(t *testing.T) {
	p := NewPool(2)
	defer p.Close()
	everyPath(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			rows, ch := rapid.IntRange(2, 60).Draw(t, "rows"), rapid.IntRange(1, 100).Draw(t, "channels")
			at := rapid.IntRange(0, rows*ch-1).Draw(t, "at")
			bad, value := at%ch, rapid.SampledFrom([]float32{nan, float32(math.Inf(1)), float32(math.Inf(-1))}).Draw(t, "value")
			x, dy, gamma, beta := random(rows*ch, 1), random(rows*ch, 2), random(ch, 3), random(ch, 4)
			n := NewBatchNorm(p, NormShape{1, rows, ch})
			y, dx, dgamma, dbeta := garbage(len(x)), garbage(len(x)), garbage(ch), garbage(ch)

			n.Statistics(x, 1e-5)
			dy[at] = value
			n.Backward(dx, dgamma, dbeta, x, gamma, dy, false)
			checkFiniteOutside(t, "input gradient", dx, ch, bad)
			checkFiniteOutside(t, "gamma gradient", dgamma, ch, bad)
			checkFiniteOutside(t, "beta gradient", dbeta, ch, bad)

			x[at] = value
			n.Statistics(x, 1e-5)
			n.Normalise(y, x, gamma, beta)
			checkFiniteOutside(t, "output", y, ch, bad)
		})
	})
}

func TestANormalisedRowDoesNotSpoilTheOthers(t *testing.T) {
	p := NewPool(2)
	defer p.Close()
	everyPath(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			rows, ch := rapid.IntRange(1, 20).Draw(t, "rows"), rapid.IntRange(2, 100).Draw(t, "channels")
			at := rapid.IntRange(0, rows*ch-1).Draw(t, "at")
			value := rapid.SampledFrom([]float32{nan, float32(math.Inf(1)), float32(math.Inf(-1))}).Draw(t, "value")
			x, dy, gamma, beta := random(rows*ch, 1), random(rows*ch, 2), random(ch, 3), random(ch, 4)
			l := NewLayerNorm(p, rows, ch)
			y, dx, dgamma, dbeta := garbage(len(x)), garbage(len(x)), garbage(ch), garbage(ch)
			checkRow := func(what string, got []float32) {
				for i, v := range got {
					if finite := v-v == 0; finite == (i/ch == at/ch) {
						t.Fatalf("%s: value %d is %v, row %d alone being bad", what, i, v, at/ch)
					}
				}
			}
			dy[at] = value
			l.Forward(y, x, gamma, beta, 1e-5)
			l.Backward(dx, dgamma, dbeta, x, gamma, dy)
			checkRow("input gradient", dx)
			checkFiniteOutside(t, "gamma gradient", dgamma, ch, at%ch)
			checkFiniteOutside(t, "beta gradient", dbeta, ch, at%ch)
			x[at] = value
			l.Forward(y, x, gamma, beta, 1e-5)
			checkRow("output", y)
		})
	})
}
