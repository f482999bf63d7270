package kernel

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func (s LinearCrossEntropyShape) inputs() (x, w []float32, labels []int32, weights []float32) {
	x, w, weights = random(s.N*s.In, 1), random(s.Classes*s.In, 2), random(s.N, 3)
	labels = make([]int32, s.N)
	for n := range labels {
		labels[n] = int32(Mix(uint64(n)) % uint64(s.Classes))
		weights[n] *= weights[n]
	}
	return x, w, labels, weights
}

// check compares with the reference, in blocks of so many rows.
func (s LinearCrossEntropyShape) check(t failer, p *Pool, rows int) {
	x, w, labels, weights := s.inputs()
	weights[0] = 0
	labels[0] = -7 // may be anything
	if s.N > 1 {
		weights[1] = 1
	}
	var total, wantLoss float64
	for _, v := range weights {
		total += float64(v)
	}
	wantLosses, wantX, wantW := make([]float64, s.N), make([]float64, len(x)), make([]float64, len(w))
	for n := range s.N {
		if weights[n] == 0 {
			continue
		}
		z, sum := make([]float64, s.Classes), 0.0
		for c := range z {
			for i := range s.In {
				z[c] += float64(x[n*s.In+i]) * float64(w[c*s.In+i])
			}
			sum += math.Exp(z[c])
		}
		share := float64(weights[n]) / total
		for c, v := range z {
			target := float64(s.Smoothing) / float64(s.Classes)
			if c == int(labels[n]) {
				target += 1 - float64(s.Smoothing)
			}
			wantLosses[n] += target * (math.Log(sum) - v)
			g := share * (math.Exp(v)/sum - target)
			for i := range s.In {
				wantX[n*s.In+i] += g * float64(w[c*s.In+i])
				wantW[c*s.In+i] += g * float64(x[n*s.In+i])
			}
		}
		wantLoss += share * wantLosses[n]
	}
	l := newLinearCrossEntropy(p, s, rows)
	for range 2 {
		dx, dw, losses := garbage(len(x)), garbage(len(w)), garbage(s.N)
		if loss := l.Run(dx, dw, losses, x, w, labels, weights); !(math.Abs(loss-wantLoss) <= 1e-5*(1+wantLoss)) {
			t.Fatalf("loss %v, want %v", loss, wantLoss)
		}
		checkWithin(t, "losses", losses, wantLosses, 1e-4)
		checkWithin(t, "input gradient", dx, wantX, 1e-5)
		checkWithin(t, "weight gradient", dw, wantW, 1e-5)
		losses = garbage(s.N)
		l.Run(nil, nil, losses, x, w, labels, weights)
		checkWithin(t, "losses without gradient", losses, wantLosses, 1e-4)
	}
}

func TestLinearCrossEntropyAgreesWithTheReferenceForAnyShape(t *testing.T) {
	p := NewPool(3)
	defer p.Close()
	everyPath(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			draw := func(name string, hi int) int { return rapid.IntRange(1, hi).Draw(t, name) }
			s := LinearCrossEntropyShape{N: draw("n", 40), In: draw("in", 40), Classes: draw("classes", 80)}
			s.Smoothing = rapid.SampledFrom([]float32{0, 0.1, 1}).Draw(t, "smoothing")
			s.check(t, p, draw("rows", 40))
		})
		LinearCrossEntropyShape{N: 300, In: 33, Classes: 300}.check(t, p, 128)
	})
}

func TestLinearCrossEntropyGivesTheSameBitsForAnyPoolAndDoesNotAllocate(t *testing.T) {
	everyPath(t, func(t *testing.T) {
		s := LinearCrossEntropyShape{N: 130, In: 40, Classes: 290, Smoothing: 0.1}
		x, w, labels, weights := s.inputs()
		all := func(p *Pool) []float32 {
			dx, dw, losses := garbage(len(x)), garbage(len(w)), garbage(s.N)
			l := newLinearCrossEntropy(p, s, 50)
			var loss float64
			if n := testing.AllocsPerRun(10, func() { loss = l.Run(dx, dw, losses, x, w, labels, weights) }); n != 0 {
				t.Errorf("%v allocations a run", n)
			}
			return append(append(append(dx, dw...), losses...), float32(loss))
		}
		want := all(nil)
		for _, threads := range []int{1, 2, 8} {
			p := NewPool(threads)
			checkSameBits(t, "results", all(p), want)
			p.Close()
		}
	})
}

func TestLinearCrossEntropyWithoutWeightsIsZero(t *testing.T) {
	everyPath(t, func(t *testing.T) {
		s := LinearCrossEntropyShape{N: 3, In: 4, Classes: 5}
		x, w, labels, _ := s.inputs()
		dx, dw, losses := garbage(12), garbage(20), garbage(3)
		loss := NewLinearCrossEntropy(nil, s).Run(dx, dw, losses, x, w, labels, make([]float32, 3))
		for i, v := range append(append(append(dx, dw...), losses...), float32(loss)) {
			if v != 0 {
				t.Fatalf("value %d is %v", i, v)
			}
		}
	})
}

func BenchmarkLinearCrossEntropy(b *testing.B) {
	s := LinearCrossEntropyShape{N: 2048, In: 256, Classes: 8192}
	x, w, labels, weights := s.inputs()
	dx, dw, losses := garbage(len(x)), garbage(len(w)), garbage(s.N)
	p := NewPool(0)
	defer p.Close()
	l := NewLinearCrossEntropy(p, s)
	benchProducts(b, 6*float64(s.N*s.In*s.Classes), func() { l.Run(dx, dw, losses, x, w, labels, weights) })
}
