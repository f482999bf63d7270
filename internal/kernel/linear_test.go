package kernel

import (
	"testing"

	"pgregory.net/rapid"
)

func TestLinearAgreesWithTheReferenceForAnyShape(t *testing.T) {
	p := NewPool(3)
	defer p.Close()
	rapid.Check(t, func(t *rapid.T) {
		s := LinearShape{
			N:   rapid.IntRange(1, 40).Draw(t, "n"),
			In:  rapid.IntRange(1, 20).Draw(t, "in"),
			Out: rapid.IntRange(1, 40).Draw(t, "out"),
		}
		x, w, b, dy := random(s.N*s.In, 1), random(s.Out*s.In, 2), random(s.Out, 3), random(s.N*s.Out, 4)
		wantY, wantX, wantW, wantB := make([]float64, len(dy)), make([]float64, len(x)), make([]float64, len(w)), make([]float64, len(b))
		for n := range s.N {
			for o := range s.Out {
				d := float64(dy[n*s.Out+o])
				wantB[o] += d
				wantY[n*s.Out+o] = float64(b[o])
				for i := range s.In {
					wantY[n*s.Out+o] += float64(x[n*s.In+i]) * float64(w[o*s.In+i])
					wantX[n*s.In+i] += d * float64(w[o*s.In+i])
					wantW[o*s.In+i] += d * float64(x[n*s.In+i])
				}
			}
		}
		y, dx, dw, db := garbage(len(dy)), garbage(len(x)), garbage(len(w)), garbage(len(b))
		NewLinearForward(p, s).Run(y, x, w, b)
		checkClose(t, "output", y, wantY, 5e-6)
		NewLinearBackwardData(p, s).Run(dx, w, dy)
		checkClose(t, "input gradient", dx, wantX, 5e-6)
		NewLinearBackwardWeights(p, s).Run(dw, db, x, dy)
		checkClose(t, "weight gradient", dw, wantW, 5e-6)
		checkClose(t, "bias gradient", db, wantB, 5e-6)

		for i := range wantY {
			wantY[i] -= float64(b[i%s.Out])
		}
		NewLinearForward(nil, s).Run(y, x, w, nil)
		checkClose(t, "output without bias", y, wantY, 5e-6)
	})
}

func TestLinearGivesTheSameBitsForAnyPool(t *testing.T) {
	s := LinearShape{N: 50, In: 33, Out: 41}
	x, w, b, dy := random(s.N*s.In, 1), random(s.Out*s.In, 2), random(s.Out, 3), random(s.N*s.Out, 4)
	all := func(p *Pool) (r []float32) {
		y, dx, dw, db := garbage(len(dy)), garbage(len(x)), garbage(len(w)), garbage(len(b))
		NewLinearForward(p, s).Run(y, x, w, b)
		NewLinearBackwardData(p, s).Run(dx, w, dy)
		NewLinearBackwardWeights(p, s).Run(dw, db, x, dy)
		return append(append(append(append(r, y...), dx...), dw...), db...)
	}
	want := all(nil)
	for _, threads := range []int{1, 2, 8} {
		p := NewPool(threads)
		defer p.Close()
		checkSameBits(t, "results", all(p), want)
	}
}
