package kernel

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestLayerNormAgreesWithTheReferenceForAnyShape(t *testing.T) {
	p := NewPool(3)
	defer p.Close()
	everyPath(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			checkLayerNorm(t, p, rapid.IntRange(1, 20).Draw(t, "rows"), rapid.IntRange(2, 150).Draw(t, "channels"))
		})
		checkLayerNorm(t, p, 700, 33) // several parts
		checkLayerNorm(t, p, 2, chunk+9)
	})
}

func checkLayerNorm(t failer, p *Pool, rows, ch int) {
	const epsilon = 1e-5
	x, dy, gamma, beta := random(rows*ch, 1), random(rows*ch, 2), random(ch, 3), random(ch, 4)
	wantY, wantX := make([]float64, len(x)), make([]float64, len(x))
	wantGamma, wantBeta := newSums(ch), newSums(ch)
	var largest float64
	for r := range rows {
		var mean, variance, sum, product float64
		for c := range ch {
			x[r*ch+c] += 2
			mean += float64(x[r*ch+c]) / float64(ch)
		}
		for c := range ch {
			d := float64(x[r*ch+c]) - mean
			variance += d * d / float64(ch)
		}
		is := 1 / math.Sqrt(variance+epsilon)
		hat := func(c int) float64 { return (float64(x[r*ch+c]) - mean) * is }
		for c := range ch {
			d := float64(dy[r*ch+c])
			wantY[r*ch+c] = hat(c)*float64(gamma[c]) + float64(beta[c])
			wantGamma.value[c] += d * hat(c)
			wantGamma.size[c] += math.Abs(d) * (math.Abs(hat(c)) + is*mean)
			wantBeta.add(c, dy[r*ch+c], 1)
			sum += d * float64(gamma[c])
			product += d * float64(gamma[c]) * hat(c)
		}
		for c := range ch {
			d := float64(dy[r*ch+c]) * float64(gamma[c])
			largest = max(largest, is*math.Abs(d))
			wantX[r*ch+c] = is * (d - sum/float64(ch) - hat(c)*product/float64(ch))
		}
	}
	l := NewLayerNorm(p, rows, ch)
	y, dx, dgamma, dbeta := garbage(len(x)), garbage(len(x)), garbage(ch), garbage(ch)
	l.Forward(y, x, gamma, beta, epsilon)
	l.Backward(dx, dgamma, dbeta, x, gamma, dy)
	checkWithin(t, "output", y, wantY, 1e-5*(1+largest))
	checkWithin(t, "input gradient", dx, wantX, 1e-5*(1+largest))
	wantGamma.check(t, "gamma gradient", dgamma)
	wantBeta.check(t, "beta gradient", dbeta)
}

func TestLayerNormGivesTheSameBitsForAnyPoolAndDoesNotAllocate(t *testing.T) {
	everyPath(t, func(t *testing.T) {
		const rows, ch = 901, 37
		x, dy, gamma, beta := random(rows*ch, 1), random(rows*ch, 2), random(ch, 3), random(ch, 4)
		all := func(p *Pool) []float32 {
			y, dx, dgamma, dbeta := garbage(len(x)), garbage(len(x)), garbage(ch), garbage(ch)
			l := NewLayerNorm(p, rows, ch)
			run := func() {
				l.Forward(y, x, gamma, beta, 1e-5)
				l.Backward(dx, dgamma, dbeta, x, gamma, dy)
			}
			if n := testing.AllocsPerRun(2, run); n != 0 {
				t.Errorf("%v allocations a run", n)
			}
			return append(append(append(y, dx...), dgamma...), dbeta...)
		}
		want := all(nil)
		for _, threads := range []int{1, 2, 8} {
			p := NewPool(threads)
			defer p.Close()
			checkSameBits(t, "results", all(p), want)
		}
	})
}

func TestLayerNormShowsNaN(t *testing.T) {
	everyPath(t, func(t *testing.T) {
		l := NewLayerNorm(nil, 2, 19)
		x, y := random(38, 1), garbage(38)
		x[17] = nan
		l.Forward(y, x, random(19, 2), random(19, 3), 1e-5)
		if y[0] == y[0] || y[20] != y[20] {
			t.Errorf("NaN in the first row gives %v and %v", y[0], y[20])
		}
	})
}
