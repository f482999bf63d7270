package optim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/reprise-ml/reprise/internal/kernel"
)

// normal is n normal numbers.
func normal(n int, seed uint64) []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// sized are weights of those sizes with gradients, every other one with decay.
func sized(sizes ...int) []gorgonia.ValueGrad {
	var ws []gorgonia.ValueGrad
	for i, n := range sizes {
		ws = append(ws, newVariable(fmt.Sprint("w", i), i%2 == 0, normal(n, uint64(i)), normal(n, uint64(i)+100)))
	}
	return ws
}

func TestThreadsChangeNoBitOfAStep(t *testing.T) {
	step := func(o optimizer, p *kernel.Pool) (bits []uint32) {
		ws := sized(70001, 3, 16384, 1, 50000)
		o.SetPool(p)
		for range 3 {
			if err := o.Step(ws); err != nil {
				t.Fatal(err)
			}
		}
		for _, w := range ws {
			for _, v := range w.(*variable).value.Float32s() {
				bits = append(bits, math.Float32bits(v))
			}
		}
		return bits
	}
	want := map[string][]uint32{}
	for name, o := range all() {
		want[name] = step(o, nil)
	}
	for _, threads := range []int{1, 2, 8} {
		p := kernel.NewPool(threads)
		defer p.Close()
		for name, o := range all() {
			for i, got := range step(o, p) {
				if got != want[name][i] {
					t.Fatalf("%s with %d threads: element %d has other bits", name, threads, i)
				}
			}
		}
	}
}

func TestAStepOnThreadsDoesNotAllocate(t *testing.T) {
	p := kernel.NewPool(2)
	defer p.Close()
	for name, o := range all() {
		ws := sized(70001, 3)
		o.SetPool(p)
		if n := testing.AllocsPerRun(5, func() {
			if err := o.Step(ws); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s allocates %v times a step", name, n)
		}
	}
}

// BenchmarkStep reports a step, and a measuring of the gradient's norm, for the weights of a ResNet-50 and of a transformer of
// 5 million: eight blocks of width 224 and 1000 tokens.
func BenchmarkStep(b *testing.B) {
	resNet50, in := []int{64 * 147, 64, 64, 1000 * 2048, 1000}, 64
	for _, s := range []struct{ blocks, mid int }{{3, 64}, {4, 128}, {6, 256}, {3, 512}} {
		out := 4 * s.mid
		resNet50 = append(resNet50, in*out, out, out) // the shortcut
		for range s.blocks {
			resNet50 = append(resNet50, in*s.mid, s.mid, s.mid, 9*s.mid*s.mid, s.mid, s.mid, s.mid*out, out, out)
			in = out
		}
	}
	transformer := []int{1000 * 224}
	for range 8 {
		transformer = append(transformer, 3*224*224, 3*224, 224*224, 224, 4*224*224, 4*224, 4*224*224, 224)
	}
	for _, c := range []struct {
		name  string
		sizes []int
		o     func() optimizer
	}{
		{"SGD/ResNet-50", resNet50, func() optimizer { return &SGD{Momentum: 0.9, WeightDecay: 1e-4} }},
		{"AdamW/ResNet-50", resNet50, func() optimizer { return &AdamW{WeightDecay: 0.01} }},
		{"AdamW/transformer", transformer, func() optimizer { return &AdamW{WeightDecay: 0.01} }},
	} {
		ws := sized(c.sizes...)
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/%d", c.name, threads), func(b *testing.B) {
				p := kernel.NewPool(threads)
				defer p.Close()
				o := c.o()
				o.SetPool(p)
				for b.Loop() {
					if err := o.Step(ws); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		b.Run("norm/"+c.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := ClipNorm(ws, 0); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
