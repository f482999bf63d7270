package kernel

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func random(n int, seed uint64) []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// The convolutions of a ResNet for CIFAR, and the first layer.
var benchShapes = []ConvShape{
	{N: 8, H: 32, W: 32, In: 3, KernelH: 3, KernelW: 3, Out: 16, Stride: 1, Pad: 1},
	{N: 8, H: 32, W: 32, In: 16, KernelH: 3, KernelW: 3, Out: 16, Stride: 1, Pad: 1},
	{N: 8, H: 32, W: 32, In: 16, KernelH: 3, KernelW: 3, Out: 32, Stride: 2, Pad: 1},
	{N: 8, H: 16, W: 16, In: 32, KernelH: 3, KernelW: 3, Out: 32, Stride: 1, Pad: 1},
	{N: 8, H: 8, W: 8, In: 64, KernelH: 3, KernelW: 3, Out: 64, Stride: 1, Pad: 1},
	{N: 8, H: 8, W: 8, In: 64, KernelH: 1, KernelW: 1, Out: 256, Stride: 1},
}

func benchConv(b *testing.B, f func(s ConvShape, x, w, y []float32) func()) {
	for _, s := range benchShapes {
		b.Run(fmt.Sprintf("%dx%d/%d/%dx%dx%d-%d", s.KernelH, s.KernelW, s.Stride, s.H, s.W, s.In, s.Out), func(b *testing.B) {
			run := f(s, random(s.inputLen(), 1), random(s.weightsLen(), 2), random(s.outputLen(), 3))
			for b.Loop() {
				run()
			}
			flop := 2 * float64(s.outputLen()) * float64(s.KernelH*s.KernelW*s.In)
			b.ReportMetric(flop*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}

func BenchmarkConvForward(b *testing.B) {
	benchConv(b, func(s ConvShape, x, w, y []float32) func() {
		c := NewConvForward(nil, s)
		return func() { c.Run(y, x, w) }
	})
}

func BenchmarkConvBackwardData(b *testing.B) {
	benchConv(b, func(s ConvShape, x, w, y []float32) func() {
		c := NewConvBackwardData(nil, s)
		return func() { c.Run(x, w, y) }
	})
}

func BenchmarkConvBackwardWeights(b *testing.B) {
	benchConv(b, func(s ConvShape, x, w, y []float32) func() {
		c := NewConvBackwardWeights(nil, s)
		return func() { c.Run(w, x, y) }
	})
}

func BenchmarkLinear(b *testing.B) {
	s := LinearShape{N: 128, In: 512, Out: 256}
	x, w, y, bias := random(s.N*s.In, 1), random(s.Out*s.In, 2), random(s.N*s.Out, 3), random(s.Out, 4)
	forward, data, weights := NewLinearForward(nil, s), NewLinearBackwardData(nil, s), NewLinearBackwardWeights(nil, s)
	for name, run := range map[string]func(){
		"forward": func() { forward.Run(y, x, w, bias) },
		"data":    func() { data.Run(x, w, y) },
		"weights": func() { weights.Run(w, bias, x, y) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				run()
			}
			b.ReportMetric(2*float64(s.N*s.In*s.Out)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}

func BenchmarkBatchNorm(b *testing.B) {
	for _, ch := range []int{16, 64} {
		s := NormShape{Groups: 1, Rows: 8 * 16384 / ch, Channels: ch}
		n := NewBatchNorm(nil, s)
		x, y, dy, gamma, beta := random(s.len(), 1), random(s.len(), 2), random(s.len(), 3), random(ch, 4), random(ch, 5)
		for name, run := range map[string]func(){
			"statistics": func() { n.Statistics(x, 1e-5) },
			"normalise":  func() { n.Normalise(y, x, gamma, beta) },
			"backward":   func() { n.Backward(y, gamma, beta, x, gamma, dy, false) },
		} {
			b.Run(fmt.Sprintf("%s/%d", name, ch), func(b *testing.B) {
				b.SetBytes(int64(4 * s.len()))
				for b.Loop() {
					run()
				}
			})
		}
	}
}

func BenchmarkRows(b *testing.B) {
	const n = 1 << 18 // more signs than a branch predictor learns by heart
	x, y, dy, relu := random(n, 1), random(n, 2), random(n, 3), make([]float32, n)
	ReLU(relu, x)
	mask := make([]uint64, n/64)
	from := make([]int32, n/4)
	pool := PoolShape{H: 128, W: 128, Channels: 16, Kernel: 2, Stride: 2}
	short := ShortcutShape{H: 128, W: 128, In: 16, Out: 32, Stride: 2}
	for name, run := range map[string]func(){
		"relu":         func() { ReLU(y, x) },
		"reluBackward": func() { ReLUBackward(y, relu, dy) },
		"add":          func() { Add(y, x, dy) },
		"bias":         func() { AddBias(y, x, dy[:16]) },
		"dropoutMask":  func() { DropoutMask(mask, 0, len(mask), 1, 0.3) },
		"dropout":      func() { Dropout(y, x, mask, 1.5) },
		"avgPool":      func() { GlobalAvgPool(y[:16], x) },
		"maxPool":      func() { MaxPool(y[:n/4], from, x, pool) },
		"shortcut":     func() { Shortcut(y[:n/2], x, short) },
		"softmax":      func() { Softmax(y, x) },
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(4 * n)
			for b.Loop() {
				run()
			}
		})
	}
}

func BenchmarkPoolRun(b *testing.B) {
	p := NewPool(2)
	defer p.Close()
	f := func(_, _ int) {}
	b.ReportAllocs()
	for b.Loop() {
		p.Run(8, f)
	}
}
