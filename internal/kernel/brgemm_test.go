package kernel

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// everyKernels runs a test with the micro-kernels of each path that has some.
func everyKernels(t *testing.T, f func(t *testing.T, k *microKernels)) {
	for _, p := range Paths() {
		if k := kernelsOf(p); k != nil {
			t.Run(p.String(), func(t *testing.T) { f(t, k) })
		}
	}
}

// batchProduct is a call of a micro-kernel over arrays no larger than it may touch.
type batchProduct struct {
	rows, columns, k, inner, outer                       int
	ai, ak, bk, ci, aInner, bInner, aOuter, bOuter, bits int
}

func (p batchProduct) check(t failer, kernels *microKernels) {
	whole := (p.columns + vector - 1) / vector * vector
	at := func(i, is, k, ks, n, ns, o, os int) int { return i*is + k*ks + n*ns + o*os }
	a := random(1+at(p.rows-1, p.ai, p.k-1, p.ak, p.inner-1, p.aInner, p.outer-1, p.aOuter), 1)
	b := random(whole+at(0, 0, p.k-1, p.bk, p.inner-1, p.bInner, p.outer-1, p.bOuter), 2)
	c, bias := random((p.rows-1)*p.ci+p.columns, 3), random(whole, 4)
	for j := range b { // what lies beyond the columns must not reach the result
		if p.bk == whole && p.bInner%whole == 0 && p.bOuter%whole == 0 && j%whole >= p.columns {
			b[j] = float32(math.Inf(1))
		}
	}
	want, size, got := make([]float64, len(c)), 1e-30, append([]float32(nil), c...)
	for i, v := range c {
		want[i] = float64(v)
	}
	for r := range p.rows {
		for j := range p.columns {
			var sum, abs float64
			for o := range p.outer {
				for n := range p.inner {
					for k := range p.k {
						v := float64(a[at(r, p.ai, k, p.ak, n, p.aInner, o, p.aOuter)]) * float64(b[j+at(0, 0, k, p.bk, n, p.bInner, o, p.bOuter)])
						sum, abs = sum+v, abs+math.Abs(v)
					}
				}
			}
			if p.bits&accumulate != 0 {
				sum += float64(c[r*p.ci+j])
			}
			if p.bits&addBias != 0 {
				sum += float64(bias[j])
			}
			if p.bits&clampNegative != 0 {
				sum = max(0, sum)
			}
			want[r*p.ci+j], size = sum, max(size, abs+4)
		}
	}
	m := newMultipliers(1, kernels)[0]
	m.k, m.ai, m.ak, m.bk, m.ci, m.flags, m.bias = p.k, 4*p.ai, 4*p.ak, 4*p.bk, 4*p.ci, p.bits, address(bias, 0)
	m.setBatches(p.inner, p.aInner, p.bInner, p.outer, p.aOuter, p.bOuter)
	m.multiply(address(a, 0), address(b, 0), address(got, 0), p.rows, p.columns)
	checkWithin(t, "tile", got, want, 4e-6*size) // equal products round alike
}

func TestEveryTileAgreesWithTheReference(t *testing.T) {
	everyKernels(t, func(t *testing.T, k *microKernels) {
		for columns := 1; columns <= k.width; columns++ {
			for rows := 1; rows <= k.maxRows(columns)+1; rows++ {
				whole := (columns + vector - 1) / vector * vector
				batchProduct{rows: rows, columns: columns, k: 3, inner: 2, outer: 2, ai: 5, ak: 1, bk: whole, ci: columns,
					aInner: 7, bInner: 3 * whole, aOuter: 20, bOuter: 6 * whole, bits: rows % 8}.check(t, k)
			}
		}
	})
}

func TestProductsOfAnyStridesAgreeWithTheReference(t *testing.T) {
	everyKernels(t, func(t *testing.T, k *microKernels) {
		rapid.Check(t, func(t *rapid.T) {
			draw := func(name string, lo, hi int) int { return rapid.IntRange(lo, hi).Draw(t, name) }
			p := batchProduct{rows: draw("rows", 1, 60), columns: draw("columns", 1, k.width), k: draw("k", 1, 9),
				inner: draw("inner", 1, 4), outer: draw("outer", 1, 3), ai: draw("ai", 0, 9), ak: draw("ak", 0, 9), bk: draw("bk", 0, 40),
				aInner: draw("aInner", 0, 20), bInner: draw("bInner", 0, 60), aOuter: draw("aOuter", 0, 20), bOuter: draw("bOuter", 0, 60),
				bits: draw("flags", 0, 7)}
			p.ci = p.columns + draw("ci", 0, 9)
			p.check(t, k)
		})
	})
}

func TestTilesPassOnWhatIsNotFinite(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	everyKernels(t, func(t *testing.T, k *microKernels) {
		b := make([]float32, vector)
		b[0], b[1], b[2], b[3] = 1, nan, inf, -inf
		a, c := []float32{1}, make([]float32, vector)
		m := newMultipliers(1, k)[0]
		m.k, m.flags = 1, clampNegative
		m.setBatches(1, 0, 0, 1, 0, 0)
		m.multiply(address(a, 0), address(b, 0), address(c, 0), 1, vector)
		if c[0] != 1 || c[1] == c[1] || c[2] != inf || c[3] != 0 {
			t.Errorf("clamped %v to %v", b[:4], c[:4])
		}
	})
}
