package kernel

import (
	"testing"

	"pgregory.net/rapid"
)

func TestLinearAgreesWithTheReferenceForAnyShape(t *testing.T) {
	p := NewPool(3)
	defer p.Close()
	everyPath(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			s := LinearShape{
				N:   rapid.IntRange(1, 40).Draw(t, "n"),
				In:  rapid.IntRange(1, 90).Draw(t, "in"),
				Out: rapid.IntRange(1, 90).Draw(t, "out"),
			}
			x, w, b, dy := random(s.N*s.In, 1), random(s.Out*s.In, 2), random(s.Out, 3), random(s.N*s.Out, 4)
			checkLinear(t, s, p, x, w, b, dy, func(what string, got []float32, want sums) { want.check(t, what, got) })
		})
	})
}

// checkLinear calls check with each result of a linear layer and its reference.
func checkLinear(t failer, s LinearShape, p *Pool, x, w, b, dy []float32, check func(what string, got []float32, want sums)) {
	t.Helper()
	wantY, plain, wantX, wantW, wantB := newSums(len(dy)), newSums(len(dy)), newSums(len(x)), newSums(len(w)), newSums(len(b))
	for n := range s.N {
		for o := range s.Out {
			d := dy[n*s.Out+o]
			wantB.add(o, d, 1)
			wantY.add(n*s.Out+o, b[o], 1)
			for i := range s.In {
				wantY.add(n*s.Out+o, x[n*s.In+i], w[o*s.In+i])
				plain.add(n*s.Out+o, x[n*s.In+i], w[o*s.In+i])
				wantX.add(n*s.In+i, d, w[o*s.In+i])
				wantW.add(o*s.In+i, d, x[n*s.In+i])
			}
		}
	}
	y, dx, dw, db := garbage(len(dy)), garbage(len(x)), garbage(len(w)), garbage(len(b))
	NewLinearForward(p, s).Run(y, x, w, b)
	check("output", y, wantY)
	NewLinearBackwardData(p, s).Run(dx, w, dy)
	check("input gradient", dx, wantX)
	NewLinearBackwardWeights(p, s).Run(dw, db, x, dy)
	check("weight gradient", dw, wantW)
	check("bias gradient", db, wantB)
	NewLinearForward(nil, s).Run(y, x, w, nil)
	check("output without bias", y, plain)
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
