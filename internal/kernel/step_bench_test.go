package kernel

import (
	"fmt"
	"testing"
)

// BenchmarkTransformerProducts are the products of a small transformer: 2,048 tokens.
func BenchmarkTransformerProducts(b *testing.B) {
	for _, s := range []LinearShape{{2048, 256, 768}, {2048, 256, 256}, {2048, 256, 1024}, {2048, 1024, 256}, {2048, 256, 8192}} {
		x, w, y, bias := random(s.N*s.In, 1), random(s.Out*s.In, 2), random(s.N*s.Out, 3), random(s.Out, 4)
		for name, f := range map[string]func(p *Pool) func(){
			"forward": func(p *Pool) func() { l := NewLinearForward(p, s); return func() { l.Run(y, x, w, bias) } },
			"data":    func(p *Pool) func() { l := NewLinearBackwardData(p, s); return func() { l.Run(x, w, y) } },
			"weights": func(p *Pool) func() { l := NewLinearBackwardWeights(p, s); return func() { l.Run(w, bias, x, y) } },
		} {
			b.Run(fmt.Sprintf("%dx%d/%s", s.In, s.Out, name), func(b *testing.B) {
				p := NewPool(0)
				defer p.Close()
				benchProducts(b, 2*float64(s.N*s.In*s.Out), f(p))
			})
		}
	}
}

// BenchmarkTransformerStep is all kernels of a training step of a small language model, without what joins them: 4 layers of width 256 with 4
// heads, 16 sequences of 128 tokens, a vocabulary of 8,192, AdamW. It reports tokens and floating-point operations of products a second.
func BenchmarkTransformerStep(b *testing.B) {
	const layers, width, vocabulary, n = 4, 256, 8192, 2048
	p := NewPool(0)
	defer p.Close()
	floats := func(n int) []float32 { return random(n, 1) }
	type linear struct {
		LinearShape
		forward      *LinearForward
		data         *LinearBackwardData
		weights      *LinearBackwardWeights
		w, b, dw, db []float32
	}
	flop := 6.0 * n * width * vocabulary
	newLinear := func(in, out int) *linear {
		s := LinearShape{n, in, out}
		flop += layers * 6 * float64(n*in*out)
		w := floats(in * out)
		Scale(w, w, 0.02)
		return &linear{s, NewLinearForward(p, s), NewLinearBackwardData(p, s), NewLinearBackwardWeights(p, s), w, floats(out), floats(in * out), floats(out)}
	}
	norm := NewLayerNorm(p, n, width)
	gamma, beta, dgamma, dbeta := floats(width), floats(width), floats(width), floats(width)
	qkv, project, up, down := newLinear(width, 3*width), newLinear(width, width), newLinear(width, 4*width), newLinear(4*width, width)
	attention := NewAttention(p, AttentionShape{Batch: 16, Context: 128, Heads: 4, HeadSize: 64, Causal: true})
	flop += 3.5 * layers * float64(attention.FLOPs())
	head := LinearCrossEntropyShape{N: n, In: width, Classes: vocabulary}
	x, w, labels, weights := head.inputs()
	Scale(w, w, 0.02)
	dw, losses := floats(len(w)), floats(n)
	loss := NewLinearCrossEntropy(p, head)
	embedding := NewEmbedding(p, n, width)
	// Memory of a layer each, as in a training.
	var h, y, in, wide, pre [layers][]float32
	for i := range layers {
		h[i], y[i], in[i], wide[i], pre[i] = floats(n*width), floats(n*width), floats(3*n*width), floats(4*n*width), floats(4*n*width)
	}
	dh, dwide, dx := floats(n*width), floats(4*n*width), floats(n*width)
	moments := [2][]float32{make([]float32, len(w)), make([]float32, len(w))}
	adam := Adam{Beta1: 0.9, Rest1: 0.1, Beta2: 0.999, Rest2: 0.001, Shrink: 1, Root: 1, Epsilon: 1e-8, Size: 1e-9}
	update := func(w, dw []float32) {
		p.Run(Chunks(len(w)), func(_, part int) {
			lo, hi := Chunk(len(w), part)
			adam.Step(w[lo:hi], dw[lo:hi], moments[0][lo:hi], moments[1][lo:hi])
		})
	}
	add := func(y, x []float32) {
		p.Run(Chunks(len(x)), func(_, part int) {
			lo, hi := Chunk(len(x), part)
			Add(y[lo:hi], y[lo:hi], x[lo:hi])
		})
	}
	backward := func(l *linear, dx, x, dy []float32) {
		l.data.Run(dx, l.w, dy)
		l.weights.Run(l.dw, l.db, x, dy)
	}
	benchProducts(b, flop, func() {
		embedding.Gather(x, w, labels)
		for i := range layers {
			norm.Forward(h[i], x, gamma, beta, 1e-5)
			qkv.forward.Run(in[i], h[i], qkv.w, qkv.b)
			attention.Forward(y[i], in[i])
			project.forward.Run(dh, y[i], project.w, project.b)
			add(x, dh)
			norm.Forward(h[i], x, gamma, beta, 1e-5)
			up.forward.RunGELU(wide[i], pre[i], h[i], up.w, up.b)
			down.forward.Run(dh, wide[i], down.w, down.b)
			add(x, dh)
		}
		norm.Forward(h[0], x, gamma, beta, 1e-5)
		loss.Run(dx, dw, losses, h[0], w, labels, weights)
		norm.Backward(dh, dgamma, dbeta, x, gamma, dx)
		for i := range layers {
			down.data.RunGELU(dwide, pre[i], down.w, dh)
			down.weights.Run(down.dw, down.db, wide[i], dh)
			backward(up, dx, h[i], dwide)
			norm.Backward(dx, dgamma, dbeta, x, gamma, dx)
			add(dh, dx)
			backward(project, dx, y[i], dh)
			attention.Backward(dwide[:3*n*width], dx, y[i], in[i])
			backward(qkv, dx, h[i], dwide[:3*n*width])
			norm.Backward(dx, dgamma, dbeta, x, gamma, dx)
			add(dh, dx)
		}
		embedding.ScatterAdd(dw, dh, labels)
		for range 2 {
			update(w, dw) // of the table and of the head
		}
		for range layers {
			for _, l := range []*linear{qkv, project, up, down} {
				update(l.w, l.dw)
			}
		}
	})
	b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "tokens/s")
}
