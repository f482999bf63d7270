package kernel

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func random(n int, seed uint64) []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// The convolutions of a ResNet for CIFAR at batch 128, and some of a ResNet-50.
var benchShapes = map[string]ConvShape{
	"first":     {N: 128, H: 32, W: 32, In: 3, KernelH: 3, KernelW: 3, Out: 16, Stride: 1, Pad: 1},
	"16":        {N: 128, H: 32, W: 32, In: 16, KernelH: 3, KernelW: 3, Out: 16, Stride: 1, Pad: 1},
	"32":        {N: 128, H: 16, W: 16, In: 32, KernelH: 3, KernelW: 3, Out: 32, Stride: 1, Pad: 1},
	"64":        {N: 128, H: 8, W: 8, In: 64, KernelH: 3, KernelW: 3, Out: 64, Stride: 1, Pad: 1},
	"16-32/2":   {N: 128, H: 32, W: 32, In: 16, KernelH: 3, KernelW: 3, Out: 32, Stride: 2, Pad: 1},
	"32-64/2":   {N: 128, H: 16, W: 16, In: 32, KernelH: 3, KernelW: 3, Out: 64, Stride: 2, Pad: 1},
	"7x7/2":     {N: 4, H: 112, W: 112, In: 3, KernelH: 7, KernelW: 7, Out: 64, Stride: 2, Pad: 3},
	"56x56x64":  {N: 8, H: 56, W: 56, In: 64, KernelH: 3, KernelW: 3, Out: 64, Stride: 1, Pad: 1},
	"28x28x128": {N: 8, H: 28, W: 28, In: 128, KernelH: 3, KernelW: 3, Out: 128, Stride: 1, Pad: 1},
	"7x7x512":   {N: 8, H: 7, W: 7, In: 512, KernelH: 3, KernelW: 3, Out: 512, Stride: 1, Pad: 1},
	"depthwise": {N: 8, H: 28, W: 28, In: 192, KernelH: 3, KernelW: 3, Out: 192, Stride: 1, Pad: 1, Groups: 192},
	"grouped":   {N: 8, H: 28, W: 28, In: 128, KernelH: 3, KernelW: 3, Out: 128, Stride: 1, Pad: 1, Groups: 4},
	"1x1":       {N: 8, H: 14, W: 14, In: 1024, KernelH: 1, KernelW: 1, Out: 256, Stride: 1},
}

// benchProducts reports the speed of a kernel that does so many floating-point operations a run, by the clock,
// by the clock in the best run, and by the processor time of the process. Other programs on the machine disturb
// the last two less.
func benchProducts(b *testing.B, flop float64, run func()) {
	run()
	cpu, best := processorTime(), time.Hour
	for b.Loop() {
		begin := time.Now()
		run()
		best = min(best, time.Since(begin))
	}
	b.ReportMetric(flop/best.Seconds()/1e9, "best-GFLOP/s")
	b.ReportMetric(flop*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
	if cpu = processorTime() - cpu; cpu > 0 {
		b.ReportMetric(flop*float64(b.N)/cpu.Seconds()/1e9, "GFLOP/cpu-s")
	}
}

func benchConv(b *testing.B, f func(p *Pool, s ConvShape, x, w, y []float32) func()) {
	for _, name := range slices.Sorted(maps.Keys(benchShapes)) {
		b.Run(name, func(b *testing.B) {
			p := NewPool(0)
			defer p.Close()
			s := benchShapes[name]
			run := f(p, s, random(s.inputLen(), 1), random(s.weightsLen(), 2), random(s.outputLen(), 3))
			if run == nil {
				b.Skip("not of this shape, or not on this path")
			}
			benchProducts(b, 2*float64(s.work()), run)
		})
	}
}

func BenchmarkConvForward(b *testing.B) {
	benchConv(b, func(p *Pool, s ConvShape, x, w, y []float32) func() {
		c := NewConvForward(p, s)
		return func() { c.Run(y, x, w) }
	})
}

// BenchmarkConvForwardGather leaves the sums for a batch normalisation too.
func BenchmarkConvForwardGather(b *testing.B) {
	benchConv(b, func(p *Pool, s ConvShape, x, w, y []float32) func() {
		c := NewConvForward(p, s)
		sums := c.Gather()
		if sums == nil {
			return nil
		}
		n := NewBatchNorm(p, NormShape{1, len(y) / s.Out, s.Out})
		return func() {
			c.Run(y, x, w)
			n.StatisticsFrom(sums, 1e-5)
		}
	})
}

func BenchmarkConvBackwardData(b *testing.B) {
	benchConv(b, func(p *Pool, s ConvShape, x, w, y []float32) func() {
		c := NewConvBackwardData(p, s)
		return func() { c.Run(x, w, y) }
	})
}

func BenchmarkConvBackwardWeights(b *testing.B) {
	benchConv(b, func(p *Pool, s ConvShape, x, w, y []float32) func() {
		c := NewConvBackwardWeights(p, s)
		return func() { c.Run(w, x, y) }
	})
}

func BenchmarkLinear(b *testing.B) {
	for _, s := range []LinearShape{{128, 512, 256}, {512, 512, 512}, {4096, 512, 512}} {
		x, w, y, bias := random(s.N*s.In, 1), random(s.Out*s.In, 2), random(s.N*s.Out, 3), random(s.Out, 4)
		for name, f := range map[string]func(p *Pool) func(){
			"forward": func(p *Pool) func() { l := NewLinearForward(p, s); return func() { l.Run(y, x, w, bias) } },
			"data":    func(p *Pool) func() { l := NewLinearBackwardData(p, s); return func() { l.Run(x, w, y) } },
			"weights": func(p *Pool) func() { l := NewLinearBackwardWeights(p, s); return func() { l.Run(w, bias, x, y) } },
		} {
			b.Run(fmt.Sprintf("%dx%dx%d/%s", s.N, s.In, s.Out, name), func(b *testing.B) {
				p := NewPool(0)
				defer p.Close()
				benchProducts(b, 2*float64(s.N*s.In*s.Out), f(p))
			})
		}
	}
}

func BenchmarkProduct(b *testing.B) {
	for name, s := range map[string]ProductShape{
		"scores":  {Batch: 64, M: 128, N: 128, K: 64, TransposeB: true},
		"context": {Batch: 64, M: 128, N: 64, K: 128},
		"256":     {M: 256, N: 256, K: 256},
		"1024":    {M: 1024, N: 1024, K: 1024},
	} {
		b.Run(name, func(b *testing.B) {
			p := NewPool(0)
			defer p.Close()
			batch := max(1, s.Batch)
			x, y, z := random(batch*s.M*s.K, 1), random(batch*s.K*s.N, 2), random(batch*s.M*s.N, 3)
			product := NewProduct(p, s)
			benchProducts(b, 2*float64(batch*s.M*s.N*s.K), func() { product.Run(z, x, y, nil) })
		})
	}
}

// BenchmarkTile is of the micro-kernels alone, on factors that stay in the nearest cache: the widest tile of the
// most rows comes close to the peak of a core.
func BenchmarkTile(b *testing.B) {
	const k, calls = 64, 1000
	for _, path := range Paths() {
		kernels := kernelsOf(path)
		if kernels == nil {
			continue
		}
		columns := kernels.width
		rows := kernels.maxRows(columns)
		b.Run(fmt.Sprintf("%s/%dx%d", path, rows, columns), func(b *testing.B) {
			x, y, z := random(rows*k, 1), random(k*columns, 2), random(rows*columns, 3)
			m := newMultipliers(1, kernels)[0]
			m.k, m.ai, m.ak, m.bk, m.ci = k, 4*k, 4, 4*columns, 4*columns
			m.setBatches(1, 0, 0, 1, 0, 0)
			benchProducts(b, 2*float64(rows*columns*k*calls), func() {
				for range calls {
					m.multiply(address(x, 0), address(y, 0), address(z, 0), rows, columns)
				}
			})
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

// BenchmarkRows is of what is plain Go on every path; BenchmarkPasses has the rest.
func BenchmarkRows(b *testing.B) {
	const n = 1 << 18
	x, y := random(n, 1), random(n, 2)
	mask := make([]uint64, n/64)
	from := make([]int32, n/4)
	pool := PoolShape{H: 128, W: 128, Channels: 16, Kernel: 2, Stride: 2}
	short := ShortcutShape{H: 128, W: 128, In: 16, Out: 32, Stride: 2}
	for name, run := range map[string]func(){
		"dropoutMask":      func() { DropoutMask(mask, 0, len(mask), 1, 0.3) },
		"dropout":          func() { Dropout(y, x, mask, 1.5) },
		"avgPool":          func() { GlobalAvgPool(y[:16], x) },
		"avgPoolBackward":  func() { GlobalAvgPoolBackward(y, x[:16]) },
		"maxPool":          func() { MaxPool(y[:n/4], from, x, pool) },
		"maxPoolBackward":  func() { MaxPoolBackward(x, y[:n/4], from) },
		"shortcut":         func() { Shortcut(y[:n/2], x, short) },
		"shortcutBackward": func() { ShortcutBackward(x, y[:n/2], short) },
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
