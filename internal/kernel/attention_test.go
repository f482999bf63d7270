package kernel

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// attentionReference computes y and dqkv in float64.
func attentionReference(s AttentionShape, qkv, dy []float32) (y, dqkv []float64) {
	w, size, scale := s.width(), s.HeadSize, 1/math.Sqrt(float64(s.HeadSize))
	y, dqkv = make([]float64, len(dy)), make([]float64, len(qkv))
	for b := range s.Batch {
		for h := range s.Heads {
			at := func(i, third, d int) int { return (b*s.Context+i)*3*w + third*w + h*size + d }
			for i := range s.Context {
				out := (b*s.Context+i)*w + h*size
				n := s.Context
				if s.Causal {
					n = i + 1
				}
				p, dp := make([]float64, n), make([]float64, n)
				var sum, mean float64
				top := math.Inf(-1)
				for j := range p {
					for d := range size {
						p[j] += float64(qkv[at(i, 0, d)]) * float64(qkv[at(j, 1, d)]) * scale
					}
					top = max(top, p[j])
				}
				for j := range p {
					p[j] = math.Exp(p[j] - top)
					sum += p[j]
				}
				for j := range p {
					p[j] /= sum
					for d := range size {
						y[out+d] += p[j] * float64(qkv[at(j, 2, d)])
						dp[j] += float64(dy[out+d]) * float64(qkv[at(j, 2, d)])
						dqkv[at(j, 2, d)] += p[j] * float64(dy[out+d])
					}
					mean += p[j] * dp[j]
				}
				for j := range p {
					g := p[j] * (dp[j] - mean) * scale
					for d := range size {
						dqkv[at(i, 0, d)] += g * float64(qkv[at(j, 1, d)])
						dqkv[at(j, 1, d)] += g * float64(qkv[at(i, 0, d)])
					}
				}
			}
		}
	}
	return y, dqkv
}

func (s AttentionShape) inputs() (qkv, dy []float32) {
	n := s.Batch * s.Context * s.width()
	return random(3*n, 1), random(n, 2)
}

func (s AttentionShape) check(t failer, p *Pool) {
	qkv, dy := s.inputs()
	wantY, want := attentionReference(s, qkv, dy)
	a := NewAttention(p, s)
	for range 2 { // the second time on used memory
		y, dqkv := garbage(len(dy)), garbage(len(qkv))
		a.Forward(y, qkv)
		checkWithin(t, "attention", y, wantY, 1e-5)
		a.Backward(dqkv, dy, y, qkv)
		checkClose(t, "gradient", dqkv, want, 1e-5)
	}
}

func TestAttentionAgreesWithTheReferenceForAnyShape(t *testing.T) {
	p := NewPool(3)
	defer p.Close()
	everyPath(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			draw := func(name string, hi int) int { return rapid.IntRange(1, hi).Draw(t, name) }
			s := AttentionShape{Batch: draw("batch", 2), Context: draw("context", 70), Heads: draw("heads", 3), HeadSize: draw("size", 40)}
			s.Causal = rapid.Bool().Draw(t, "causal")
			s.check(t, p)
		})
	})
}

// attentionShapes need several tiles, or stand at their borders.
var attentionShapes = []AttentionShape{
	{Batch: 1, Context: 1, Heads: 1, HeadSize: 1, Causal: true},
	{Batch: 2, Context: 128, Heads: 2, HeadSize: 64, Causal: true},
	{Batch: 1, Context: 257, Heads: 2, HeadSize: 33},
	{Batch: 1, Context: 300, Heads: 1, HeadSize: 20, Causal: true},
	{Batch: 1, Context: 129, Heads: 2, HeadSize: 65, Causal: true},
}

func TestAttentionOverSeveralTilesAgreesWithTheReference(t *testing.T) {
	p := NewPool(2)
	defer p.Close()
	everyPath(t, func(t *testing.T) {
		for _, s := range attentionShapes {
			s.check(t, p)
		}
	})
}

func TestAttentionGivesTheSameBitsForAnyPool(t *testing.T) {
	everyPath(t, func(t *testing.T) {
		for _, s := range attentionShapes {
			qkv, dy := s.inputs()
			all := func(p *Pool) []float32 {
				y, dqkv := garbage(len(dy)), garbage(len(qkv))
				a := NewAttention(p, s)
				a.Forward(y, qkv)
				a.Backward(dqkv, dy, y, qkv)
				return append(y, dqkv...)
			}
			want := all(nil)
			for _, threads := range []int{1, 2, 8} {
				p := NewPool(threads)
				checkSameBits(t, "results", all(p), want)
				p.Close()
			}
		}
	})
}

func TestAttentionDoesNotAllocate(t *testing.T) {
	p := NewPool(2)
	defer p.Close()
	everyPath(t, func(t *testing.T) {
		s := AttentionShape{Batch: 2, Context: 150, Heads: 2, HeadSize: 17, Causal: true}
		qkv, dy := s.inputs()
		y, dqkv := garbage(len(dy)), garbage(len(qkv))
		a := NewAttention(p, s)
		if n := testing.AllocsPerRun(10, func() {
			a.Forward(y, qkv)
			a.Backward(dqkv, dy, y, qkv)
			AttendCached(y[:2*34], qkv[:2*34], qkv[:2*150*34], dy, s, 150)
		}); n != 0 {
			t.Errorf("%v allocations a run", n)
		}
	})
}

func TestAttentionKeepsLargeScoresFinite(t *testing.T) {
	everyPath(t, func(t *testing.T) {
		s := AttentionShape{Batch: 1, Context: 40, Heads: 1, HeadSize: 16, Causal: true}
		qkv, dy := s.inputs()
		for i := range qkv {
			qkv[i] *= 300
		}
		y, dqkv := garbage(len(dy)), garbage(len(qkv))
		a := NewAttention(nil, s)
		a.Forward(y, qkv)
		a.Backward(dqkv, dy, y, qkv)
		for i, v := range append(y, dqkv...) {
			if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
				t.Fatalf("value %d is %v", i, v)
			}
		}
	})
}

// What is not finite at a position shows at those that see it and at no other.
func TestPositionsThatAreNotSeenTakeNoPartInAttention(t *testing.T) {
	inf := float32(math.Inf(1))
	everyPath(t, func(t *testing.T) {
		for _, causal := range []bool{true, false} {
			for third := range 3 {
				for _, bad := range []float32{nan, inf, -inf} {
					s := AttentionShape{Batch: 2, Context: 45, Heads: 2, HeadSize: 20, Causal: causal}
					const position, head = 30, 1
					qkv, dy := s.inputs()
					w := s.width()
					clean, dclean := garbage(len(dy)), garbage(len(qkv))
					a := NewAttention(nil, s)
					a.Forward(clean, qkv)
					a.Backward(dclean, dy, clean, qkv)
					qkv[position*3*w+third*w+head*s.HeadSize+3] = bad
					y, dqkv := garbage(len(dy)), garbage(len(qkv))
					a.Forward(y, qkv)
					for i, v := range y {
						b, at, h := i/w/s.Context, i/w%s.Context, i%w/s.HeadSize
						reached := b == 0 && h == head && (at == position || third > 0 && (!causal || at > position))
						if diff := math.Abs(float64(v - clean[i])); !reached && !(diff < 1e-5) {
							t.Fatalf("causal %v, third %d, %v: sequence %d, position %d, head %d is %v, was %v", causal, third, bad, b, at, h, v, clean[i])
						}
					}
					if at := position*w + head*s.HeadSize + 3; bad != bad && y[at] == y[at] {
						t.Errorf("causal %v, third %d: NaN is hidden", causal, third)
					}
					for i := range dy { // as if the loss did not depend on what was reached
						if b, at := i/w/s.Context, i/w%s.Context; b == 0 && (at >= position || !causal) {
							dy[i], y[i] = 0, 0
						}
					}
					if !causal {
						continue
					}
					a.Forward(clean, qkv)
					a.Backward(dqkv, dy, y, qkv)
					for i, v := range dqkv {
						if b, at := i/(3*w)/s.Context, i/(3*w)%s.Context; b == 1 && math.Abs(float64(v-dclean[i])) > 1e-5 {
							t.Fatalf("the gradient of sequence %d, position %d is %v, was %v", b, at, v, dclean[i])
						}
					}
				}
			}
		}
	})
}

func TestGradientsOfPositionsBeforeAreFiniteWhenLaterOnesAreNot(t *testing.T) {
	everyPath(t, func(t *testing.T) {
		s := AttentionShape{Batch: 1, Context: 45, Heads: 1, HeadSize: 20, Causal: true}
		const position = 30
		w := s.width()
		qkv, dy := s.inputs()
		for i := position * w; i < len(dy); i++ {
			dy[i] = 0
		}
		y, want, got := garbage(len(dy)), garbage(len(qkv)), garbage(len(qkv))
		a := NewAttention(nil, s)
		a.Forward(y, qkv)
		a.Backward(want, dy, y, qkv)
		for i := position*3*w + w; i < len(qkv); i++ {
			if i%(3*w) >= w { // keys and values
				qkv[i] = float32(math.Inf(1))
			}
		}
		a.Forward(y, qkv)
		a.Backward(got, dy, y, qkv)
		for i := range position * 3 * w {
			if i%(3*w) < w && !(math.Abs(float64(got[i]-want[i])) < 1e-5) {
				t.Fatalf("the gradient of query %d is %v, want %v", i/(3*w), got[i], want[i])
			}
		}
	})
}

func TestCachedAttentionIsTheLastRowOfCausalAttention(t *testing.T) {
	everyPath(t, func(t *testing.T) {
		for _, length := range []int{1, 2, 9} {
			s := AttentionShape{Batch: 2, Context: length, Heads: 3, HeadSize: 5, Causal: true}
			qkv, dy := s.inputs()
			wantY, _ := attentionReference(s, qkv, dy)
			cache := s
			cache.Context = 9
			w := s.width()
			q, y, keys, values := garbage(2*w), garbage(2*w), garbage(2*9*w), garbage(2*9*w)
			var want []float64
			for b := range 2 {
				for i := range length {
					row := qkv[(b*length+i)*3*w:][:3*w]
					copy(q[b*w:], row[:w])
					copy(keys[(b*9+i)*w:], row[w:2*w])
					copy(values[(b*9+i)*w:], row[2*w:])
				}
				want = append(want, wantY[((b+1)*length-1)*w:(b+1)*length*w]...)
			}
			AttendCached(y, q, keys, values, cache, length)
			checkWithin(t, "attention", y, want, 1e-5)
		}
	})
}

func TestFiniteFindsWhatIsNot(t *testing.T) {
	for _, path := range Paths()[1:] {
		for _, n := range []int{0, 1, 15, 16, 17, 100, chunk + 1} {
			x := random(n+1, 1)
			x[n] = nan // behind the end
			if !finite(path, x[:n]) {
				t.Errorf("%v: %d finite numbers are not", path, n)
			}
			for _, v := range []float32{nan, float32(math.Inf(1)), float32(math.Inf(-1))} {
				for _, i := range []int{0, n / 2, n - 1} {
					if i >= 0 && i < n {
						x := random(n, 1)
						x[i] = v
						if finite(path, x) {
							t.Errorf("%v: %v at %d of %d is finite", path, v, i, n)
						}
					}
				}
			}
		}
	}
}

func BenchmarkAttention(b *testing.B) {
	for name, s := range map[string]AttentionShape{
		"128":  {Batch: 16, Context: 128, Heads: 4, HeadSize: 64, Causal: true},
		"512":  {Batch: 4, Context: 512, Heads: 4, HeadSize: 64, Causal: true},
		"2048": {Batch: 1, Context: 2048, Heads: 4, HeadSize: 64, Causal: true},
		"full": {Batch: 16, Context: 128, Heads: 4, HeadSize: 64},
	} {
		qkv, dy := s.inputs()
		y, dqkv := garbage(len(dy)), garbage(len(qkv))
		for kind, f := range map[string]func(a *Attention) (float64, func()){
			"forward":  func(a *Attention) (float64, func()) { return 1, func() { a.Forward(y, qkv) } },
			"backward": func(a *Attention) (float64, func()) { return 2.5, func() { a.Backward(dqkv, dy, y, qkv) } },
		} {
			b.Run(name+"/"+kind, func(b *testing.B) {
				p := NewPool(0)
				defer p.Close()
				a := NewAttention(p, s)
				a.Forward(y, qkv)
				times, run := f(a)
				benchProducts(b, times*float64(a.FLOPs()), run)
			})
		}
	}
}
