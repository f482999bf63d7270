package kernel

import (
	"testing"

	"pgregory.net/rapid"
)

func TestLinearAgreesWithTheReferenceForAnyShape(t *testing.T) {
	p := NewPool(3)
	defer p.Close()
	everyPath(t, func(t *testing.T) { rapid.Check(t, func(t *rapid.T) { checkLinear(t, p) }) })
}

func checkLinear(t *rapid.T, p *Pool) {
	s := LinearShape{
		N:   rapid.IntRange(1, 40).Draw(t, "n"),
		In:  rapid.IntRange(1, 90).Draw(t, "in"),
		Out: rapid.IntRange(1, 90).Draw(t, "out"),
	}
	x, w, b, dy := random(s.N*s.In, 1), random(s.Out*s.In, 2), random(s.Out, 3), random(s.N*s.Out, 4)
	wantY, wantX, wantW, wantB := newSums(len(dy)), newSums(len(x)), newSums(len(w)), newSums(len(b))
	for n := range s.N {
		for o := range s.Out {
			d := dy[n*s.Out+o]
			wantB.add(o, d, 1)
			wantY.add(n*s.Out+o, b[o], 1)
			for i := range s.In {
				wantY.add(n*s.Out+o, x[n*s.In+i], w[o*s.In+i])
				wantX.add(n*s.In+i, d, w[o*s.In+i])
				wantW.add(o*s.In+i, d, x[n*s.In+i])
			}
		}
	}
	y, dx, dw, db := garbage(len(dy)), garbage(len(x)), garbage(len(w)), garbage(len(b))
	NewLinearForward(p, s).Run(y, x, w, b)
	wantY.check(t, "output", y)
	NewLinearBackwardData(p, s).Run(dx, w, dy)
	wantX.check(t, "input gradient", dx)
	NewLinearBackwardWeights(p, s).Run(dw, db, x, dy)
	wantW.check(t, "weight gradient", dw)
	wantB.check(t, "bias gradient", db)

	for i := range wantY.value {
		wantY.value[i] -= float64(b[i%s.Out])
	}
	NewLinearForward(nil, s).Run(y, x, w, nil)
	wantY.check(t, "output without bias", y)
}

func TestLinearGivesTheSameBitsForAnyPool(t *testing.T) { everyPath(t, checkLinearBits) }

func checkLinearBits(t *testing.T) {
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

func TestLinearWithGELUIsLinearAndGELU(t *testing.T) {
	p := NewPool(2)
	defer p.Close()
	everyPath(t, func(t *testing.T) {
		for _, s := range []LinearShape{{1, 1, 1}, {7, 5, 33}, {300, 40, 100}, {150, 1100, 70}} {
			x, w, b, dy, pre := random(s.N*s.In, 1), random(s.Out*s.In, 2), random(s.Out, 3), random(s.N*s.Out, 4), random(s.N*s.In, 5)
			want, gotPre, got := garbage(len(dy)), garbage(len(dy)), garbage(len(dy))
			l := NewLinearForward(p, s)
			l.RunGELU(got, gotPre, x, w, b)
			l.Run(want, x, w, b)
			checkSameBits(t, "before GELU", gotPre, want)
			GELU(want, want)
			checkSameBits(t, "GELU", got, want)
			l.RunGELU(got, got, x, w, b)
			checkSameBits(t, "GELU in place", got, want)

			want, got = garbage(len(x)), garbage(len(x))
			d := NewLinearBackwardData(p, s)
			d.RunGELU(got, pre, w, dy)
			d.Run(want, w, dy)
			GELUBackward(want, pre, want)
			checkSameBits(t, "gradient", got, want)
			if n := testing.AllocsPerRun(5, func() {
				l.RunGELU(dy, dy, x, w, b)
				d.RunGELU(got, pre, w, dy)
			}); n != 0 {
				t.Errorf("%v allocations a run", n)
			}
		}
	})
}
