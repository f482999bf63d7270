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
	everyPath(t, checkAnyNorm)
}

func checkAnyNorm(t *testing.T) {
	p := NewPool(3)
	defer p.Close()
	rapid.Check(t, func(t *rapid.T) {
		s := NormShape{
			Groups:   rapid.IntRange(1, 3).Draw(t, "groups"),
			Rows:     rapid.IntRange(2, 60).Draw(t, "rows"),
			Channels: rapid.OneOf(rapid.IntRange(1, 40), rapid.IntRange(60, 150)).Draw(t, "channels"),
		}
		checkNorm(t, p, s, rapid.Bool().Draw(t, "fixed"))
	})
	checkNorm(t, p, NormShape{1, 5000, 13}, false) // several parts
	checkNorm(t, p, NormShape{3, 3000, 17}, false)
	checkNorm(t, p, NormShape{1, 3, 20000}, false) // less than a row a part
	checkNorm(t, p, NormShape{2, 2050, 16}, false) // rows that do not fill the last block
	checkNorm(t, p, NormShape{1, 700, 64}, true)
}

// composed does in single steps what the fused forms do in one pass.
func composed(n *BatchNorm, x, skip, gamma, beta, dy []float32, fixed bool) (y, dx, dskip, dgamma, dbeta []float32) {
	y, dx, dskip, dgamma, dbeta = garbage(len(x)), garbage(len(x)), garbage(len(x)), garbage(len(gamma)), garbage(len(gamma))
	n.Normalise(y, x, gamma, beta)
	if skip != nil {
		Add(y, y, skip)
	}
	ReLU(y, y)
	ReLUBackward(dskip, y, dy)
	n.Backward(dx, dgamma, dbeta, x, gamma, dskip, fixed)
	return y, dx, dskip, dgamma, dbeta
}

func TestFusedBatchNormHasTheBitsOfItsSteps(t *testing.T) {
	p := NewPool(2)
	defer p.Close()
	everyPath(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			s := NormShape{
				Groups:   rapid.IntRange(1, 3).Draw(t, "groups"),
				Rows:     rapid.IntRange(2, 90).Draw(t, "rows"),
				Channels: rapid.OneOf(rapid.IntRange(1, 40), rapid.IntRange(60, 150)).Draw(t, "channels"),
			}
			fixed := rapid.Bool().Draw(t, "fixed")
			ch := s.Channels
			x, skip, dy, gamma, beta := random(s.len(), 1), random(s.len(), 2), random(s.len(), 3), random(ch, 4), random(ch, 5)
			if rapid.Bool().Draw(t, "NaN") {
				skip[len(skip)/2], dy[len(dy)/3] = nan, nan
			}
			n := NewBatchNorm(p, s)
			n.Statistics(x, 1e-5)

			wantY, wantX, _, wantGamma, wantBeta := composed(n, x, nil, gamma, beta, dy, fixed)
			y, dx, dgamma, dbeta := garbage(len(x)), garbage(len(x)), garbage(ch), garbage(ch)
			n.NormaliseReLU(y, x, gamma, beta)
			n.BackwardReLU(dx, dgamma, dbeta, x, gamma, y, dy, fixed)
			checkAlike(t, "output", y, wantY)
			checkAlike(t, "input gradient", dx, wantX)
			checkNear(t, "gamma gradient", dgamma, wantGamma)
			checkNear(t, "beta gradient", dbeta, wantBeta)

			wantY, wantX, wantSkip, wantGamma, wantBeta := composed(n, x, skip, gamma, beta, dy, fixed)
			y, dx, dgamma, dbeta = garbage(len(x)), garbage(len(x)), garbage(ch), garbage(ch)
			dskip := garbage(len(x))
			n.NormaliseAddReLU(y, x, skip, gamma, beta)
			n.BackwardSkip(dskip, dgamma, dbeta, x, gamma, y, dy, fixed)
			n.BackwardInput(dx, x, dskip)
			checkAlike(t, "output with skip", y, wantY)
			checkAlike(t, "input gradient with skip", dx, wantX)
			checkAlike(t, "skip gradient", dskip, wantSkip)
			checkNear(t, "gamma gradient with skip", dgamma, wantGamma)
			checkNear(t, "beta gradient with skip", dbeta, wantBeta)
		})
	})
}

// checkAlike compares bits, all NaN being alike.
func checkAlike(t failer, what string, got, want []float32) {
	t.Helper()
	for i, w := range want {
		if got[i] != w && !(got[i] != got[i] && w != w) {
			t.Fatalf("%s: value %d is %v, want %v", what, i, got[i], w)
		}
	}
}

// checkNear compares sums that may have been rounded in another order.
func checkNear(t failer, what string, got, want []float32) {
	t.Helper()
	for i, w := range want {
		if !(math.Abs(float64(got[i]-w)) <= 1e-6*max(1, math.Abs(float64(w)))) && !(got[i] != got[i] && w != w) {
			t.Fatalf("%s: value %d is %v, want %v", what, i, got[i], w)
		}
	}
}

func TestStatisticsOfAFarMeanAreAccurate(t *testing.T) {
	everyPath(t, func(t *testing.T) {
		for _, far := range []float32{10, 1000, 4096} { // in units of the deviation
			s := NormShape{1, 20001, 5}
			x := random(s.len(), 1)
			var mean, variance [5]float64
			for i := range x {
				x[i] += far
				mean[i%5] += float64(x[i]) / float64(s.Rows)
			}
			for i, v := range x {
				d := float64(v) - mean[i%5]
				variance[i%5] += d * d / float64(s.Rows)
			}
			n := NewBatchNorm(nil, s)
			n.Statistics(x, 1e-5)
			for c := range 5 {
				if e := math.Abs(float64(n.Mean[c])-mean[c]) / mean[c]; e > 1e-7 {
					t.Errorf("mean at %v: relative error %.2g", far, e)
				}
				if e := math.Abs(float64(n.Variance[c])-variance[c]) / variance[c]; e > 1.5e-7 {
					t.Errorf("variance at mean %v: relative error %.2g", far, e)
				}
			}
		}
	})
}

func TestBatchNormGivesTheSameBitsForAnyPool(t *testing.T) { everyPath(t, checkNormPools) }

func checkNormPools(t *testing.T) {
	s := NormShape{2, 7001, 9}
	x, dy, gamma, beta := random(s.len(), 1), random(s.len(), 2), random(9, 3), random(9, 4)
	all := func(p *Pool) []float32 {
		y, dx, dgamma, dbeta := garbage(len(x)), garbage(len(x)), garbage(9), garbage(9)
		n := NewBatchNorm(p, s)
		n.Statistics(x, 1e-5)
		n.Normalise(y, x, gamma, beta)
		n.Backward(dx, dgamma, dbeta, x, gamma, dy, false)
		all := append(append(append(y, dx...), dgamma...), dbeta...)
		z, dskip := garbage(len(x)), garbage(len(x))
		n.NormaliseReLU(z, x, gamma, beta)
		n.BackwardReLU(dx, dgamma, dbeta, x, gamma, z, dy, false)
		all = append(append(append(all, z...), dx...), dgamma...)
		n.NormaliseAddReLU(z, x, dy, gamma, beta)
		n.BackwardSkip(dskip, dgamma, dbeta, x, gamma, z, dy, false)
		n.BackwardInput(dx, x, dskip)
		return append(append(append(append(all, z...), dx...), dgamma...), dskip...)
	}
	want := all(nil)
	for _, threads := range []int{1, 2, 8} {
		p := NewPool(threads)
		defer p.Close()
		checkSameBits(t, "results", all(p), want)
	}
}

func TestBatchNormShowsNaNAndInfinity(t *testing.T) { everyPath(t, checkNormNaN) }

func checkNormNaN(t *testing.T) {
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

func TestTwinsShareStatisticsAndNothingElse(t *testing.T) {
	s := NormShape{1, 30, 3}
	x, y, dy, twice, gamma := random(90, 1), random(90, 2), random(90, 3), random(90, 3), random(3, 4)
	for i := range twice {
		twice[i] *= 2
	}
	n := NewBatchNorm(nil, s)
	one, two := n.Twin(), n.Twin()
	n.Statistics(x, 1e-5)
	dskip, want, got := garbage(90), garbage(90), garbage(90)
	one.BackwardSkip(dskip, garbage(3), garbage(3), x, gamma, y, dy, false)
	one.BackwardInput(want, x, dskip)
	two.BackwardSkip(garbage(90), garbage(3), garbage(3), x, gamma, y, twice, false)
	one.BackwardInput(got, x, dskip)
	checkSameBits(t, "gradient", got, want)
}
