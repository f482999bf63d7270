package kernel

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// checkNorm compares statistics, output and gradients of one shape with sums in float64. With
// fixed set, the statistics are given instead of computed.
func checkNorm(t failer, p *Pool, s NormShape, fixed bool) {
	const epsilon = 1e-3
	ch := s.Channels
	x, dy, gamma, beta := random(s.len(), 1), random(s.len(), 2), random(ch, 3), random(ch, 4)
	for i := range x {
		x[i] = x[i]*2 + 3
	}
	n := NewBatchNorm(p, s)
	mean, variance := make([]float64, s.Groups*ch), make([]float64, s.Groups*ch)
	at := func(g, r, c int) int { return (g*s.Rows+r)*ch + c }
	if fixed {
		m, v := random(ch, 5), random(ch, 6)
		for i := range v {
			v[i] *= v[i]
		}
		for i := range mean {
			mean[i], variance[i] = float64(m[i%ch]), float64(v[i%ch])
		}
		n.Fixed(m, v, epsilon)
	} else {
		for g := range s.Groups {
			for c := range ch {
				for r := range s.Rows {
					mean[g*ch+c] += float64(x[at(g, r, c)]) / float64(s.Rows)
				}
				for r := range s.Rows {
					d := float64(x[at(g, r, c)]) - mean[g*ch+c]
					variance[g*ch+c] += d * d / float64(s.Rows)
				}
			}
		}
		n.Statistics(x, epsilon)
	}
	checkClose(t, "mean", n.Mean, mean, 1e-6)
	checkClose(t, "variance", n.Variance, variance, 1e-6)

	wantY, wantX := make([]float64, len(x)), make([]float64, len(x))
	var output, input float64 // the largest terms of outputs and input gradients: terms may cancel
	wantGamma, wantBeta := newSums(ch), newSums(ch)
	for g := range s.Groups {
		for c := range ch {
			is := 1 / math.Sqrt(variance[g*ch+c]+epsilon)
			hat := func(r int) float64 { return (float64(x[at(g, r, c)]) - mean[g*ch+c]) * is }
			var sum, product float64
			for r := range s.Rows {
				wantY[at(g, r, c)] = hat(r)*float64(gamma[c]) + float64(beta[c])
				sum += float64(dy[at(g, r, c)])
				product += float64(dy[at(g, r, c)]) * hat(r)
				wantGamma.size[c] += math.Abs(float64(dy[at(g, r, c)]) * is * mean[g*ch+c])
				wantBeta.add(c, dy[at(g, r, c)], 1)
			}
			wantGamma.value[c] += product
			if fixed {
				sum, product = 0, 0
			}
			for r := range s.Rows {
				m := float64(s.Rows)
				input = max(input, math.Abs(float64(gamma[c])*is*float64(dy[at(g, r, c)])))
				output = max(output, math.Abs(float64(gamma[c])*is*float64(x[at(g, r, c)])), math.Abs(float64(gamma[c])*is*mean[g*ch+c]))
				wantX[at(g, r, c)] = float64(gamma[c]) * is * (float64(dy[at(g, r, c)]) - sum/m - hat(r)*product/m)
			}
		}
	}
	y, dx, dgamma, dbeta := garbage(len(x)), garbage(len(x)), garbage(ch), garbage(ch)
	n.Normalise(y, x, gamma, beta)
	checkWithin(t, "output", y, wantY, 1e-6*(output+1))
	n.Backward(dx, dgamma, dbeta, x, gamma, dy, fixed)
	checkWithin(t, "input gradient", dx, wantX, 1e-5*input)
	wantGamma.check(t, "gamma gradient", dgamma)
	wantBeta.check(t, "beta gradient", dbeta)
}

func TestBatchNormAgreesWithTheReferenceForAnyShape(t *testing.T) {
	p := NewPool(3)
	defer p.Close()
	rapid.Check(t, func(t *rapid.T) {
		s := NormShape{
			Groups:   rapid.IntRange(1, 3).Draw(t, "groups"),
			Rows:     rapid.IntRange(2, 60).Draw(t, "rows"),
			Channels: rapid.IntRange(1, 11).Draw(t, "channels"),
		}
		checkNorm(t, p, s, rapid.Bool().Draw(t, "fixed"))
	})
	checkNorm(t, p, NormShape{1, 5000, 13}, false) // several parts
	checkNorm(t, p, NormShape{3, 3000, 17}, false)
	checkNorm(t, p, NormShape{1, 3, 20000}, false) // less than a row a part
}

func TestBatchNormGivesTheSameBitsForAnyPool(t *testing.T) {
	s := NormShape{2, 7001, 9}
	x, dy, gamma, beta := random(s.len(), 1), random(s.len(), 2), random(9, 3), random(9, 4)
	all := func(p *Pool) []float32 {
		y, dx, dgamma, dbeta := garbage(len(x)), garbage(len(x)), garbage(9), garbage(9)
		n := NewBatchNorm(p, s)
		n.Statistics(x, 1e-5)
		n.Normalise(y, x, gamma, beta)
		n.Backward(dx, dgamma, dbeta, x, gamma, dy, false)
		return append(append(append(y, dx...), dgamma...), dbeta...)
	}
	want := all(nil)
	for _, threads := range []int{1, 2, 8} {
		p := NewPool(threads)
		defer p.Close()
		checkSameBits(t, "results", all(p), want)
	}
}

func TestBatchNormShowsNaNAndInfinity(t *testing.T) {
	n := NewBatchNorm(nil, NormShape{1, 3, 3})
	inf := float32(math.Inf(1))
	n.Statistics([]float32{1, inf, 1, 2, 1, 2, float32(math.NaN()), 1, 3}, 1e-5)
	for c, bad := range []bool{true, true, false} {
		if got := n.InvStd[c] != n.InvStd[c]; got != bad {
			t.Errorf("channel %d: 1/std is %v", c, n.InvStd[c])
		}
	}
}

func TestBatchNormWithoutInputGradientHasTheOthers(t *testing.T) {
	n := NewBatchNorm(nil, NormShape{1, 4, 1})
	x := []float32{1, 2, 3, 4}
	n.Statistics(x, 1e-5)
	dgamma, dbeta := garbage(1), garbage(1)
	n.Backward(nil, dgamma, dbeta, x, []float32{1}, []float32{1, 1, 1, 1}, false)
	checkClose(t, "beta gradient", dbeta, []float64{4}, 1e-6)
}
