package kernel

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// product is the reference of Product; bias may be nil.
func (s ProductShape) product(a, b, bias, before []float32) sums {
	batch := max(1, s.Batch)
	want := newSums(batch * s.M * s.N)
	for i := range batch {
		for m := range s.M {
			for n := range s.N {
				at := (i*s.M+m)*s.N + n
				for k := range s.K {
					l, r := (i*s.M+m)*s.K+k, (i*s.K+k)*s.N+n
					if s.TransposeA {
						l = (i*s.K+k)*s.M + m
					}
					if s.TransposeB {
						r = (i*s.N+n)*s.K + k
					}
					want.add(at, a[l], b[r])
				}
				if s.Accumulate {
					want.add(at, before[at], 1)
				}
				if bias != nil {
					want.add(at, bias[n], 1)
				}
				if s.ReLU {
					want.value[at] = max(0, want.value[at])
				}
				if s.GELU {
					v := want.value[at]
					want.value[at] = v * (1 + math.Erf(v/math.Sqrt2)) / 2
				}
			}
		}
	}
	return want
}

func (s ProductShape) check(t failer, p *Pool, biased bool) {
	batch := max(1, s.Batch)
	a, b, bias, before := random(batch*s.M*s.K, 1), random(batch*s.K*s.N, 2), random(s.N, 3), random(batch*s.M*s.N, 4)
	if !biased {
		bias = nil
	}
	want, kernel := s.product(a, b, bias, before), NewProduct(p, s)
	for range 2 {
		y := garbage(len(before))
		if s.Accumulate {
			copy(y, before)
		}
		kernel.Run(y, a, b, bias)
		want.check(t, "product", y)
	}
}

func TestProductsAgreeWithTheReferenceForAnyShape(t *testing.T) {
	p := NewPool(3)
	defer p.Close()
	everyPath(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			draw := func(name string, lo, hi int) int { return rapid.IntRange(lo, hi).Draw(t, name) }
			option := func(name string) bool { return rapid.Bool().Draw(t, name) }
			s := ProductShape{Batch: draw("batch", 0, 3), M: draw("m", 1, 70), N: draw("n", 1, 70), K: draw("k", 1, 40),
				TransposeA: option("transpose a"), TransposeB: option("transpose b"), Accumulate: option("accumulate"), ReLU: option("relu"), GELU: option("gelu")}
			s.check(t, p, option("bias"))
		})
	})
}

// largeProducts need several blocks in each dimension, and copies of a.
var largeProducts = []ProductShape{
	{M: 300, N: 70, K: 300},
	{M: 150, N: 65, K: 290, TransposeA: true, Accumulate: true},
	{M: 1024, N: 33, K: 20, TransposeA: true},
	{M: 15, N: 48, K: 1024, TransposeB: true, ReLU: true},
	{M: 5, N: 33, K: 1100, GELU: true},
	{M: 4, N: 48, K: 1025, TransposeA: true},
	{Batch: 9, M: 64, N: 64, K: 32, TransposeB: true},
}

func TestLargeProductsAgreeWithTheReference(t *testing.T) {
	p := NewPool(2)
	defer p.Close()
	everyPath(t, func(t *testing.T) {
		for _, s := range largeProducts {
			s.check(t, p, true)
		}
	})
}

func TestProductsGiveTheSameBitsForAnyPool(t *testing.T) {
	everyPath(t, func(t *testing.T) {
		for _, s := range largeProducts {
			s.Accumulate = false
			batch := max(1, s.Batch)
			a, b, want := random(batch*s.M*s.K, 1), random(batch*s.K*s.N, 2), garbage(batch*s.M*s.N)
			NewProduct(nil, s).Run(want, a, b, nil)
			for _, threads := range []int{1, 2, 8} {
				p := NewPool(threads)
				got := garbage(len(want))
				NewProduct(p, s).Run(got, a, b, nil)
				p.Close()
				checkSameBits(t, "product", got, want)
			}
		}
	})
}
