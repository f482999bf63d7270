package kernel

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// bothStatistics are those from a convolution's sums and those from reading its output, after a run on other numbers. The path has
// micro-kernels.
func bothStatistics(t failer, p *Pool, s ConvShape, x, w []float32) (gathered, read *BatchNorm) {
	t.Helper()
	c := NewConvForward(p, s)
	sums := c.Gather()
	if sums == nil {
		t.Fatalf("%+v: no sums are gathered", s)
	}
	y, want := garbage(s.outputLen()), garbage(s.outputLen())
	c.Run(y, make([]float32, len(x)), w)
	c.Run(y, x, w)
	NewConvForward(p, s).Run(want, x, w)
	checkSameBits(t, "output", y, want)
	n := NormShape{1, len(y) / s.Out, s.Out}
	gathered, read = NewBatchNorm(p, n), NewBatchNorm(p, n)
	gathered.StatisticsFrom(sums, 1e-5)
	read.Statistics(y, 1e-5)
	return gathered, read
}

// everyFastPath runs f on the paths on which sums are gathered.
func everyFastPath(t *testing.T, f func(t *testing.T)) {
	everyPath(t, func(t *testing.T) {
		if ActivePath() != Generic {
			f(t)
		}
	})
}

func checkGathered(t failer, p *Pool, s ConvShape) {
	gathered, read := bothStatistics(t, p, s, random(s.inputLen(), 1), random(s.weightsLen(), 2))
	checkNear(t, "mean", gathered.Mean, read.Mean)
	checkNear(t, "variance", gathered.Variance, read.Variance)
}

func TestGatheredStatisticsAgreeWithTheSeparatePass(t *testing.T) {
	p := NewPool(3)
	defer p.Close()
	everyFastPath(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			s := ConvShape{
				N: rapid.IntRange(1, 20).Draw(t, "images"), H: rapid.IntRange(1, 9).Draw(t, "height"), W: rapid.IntRange(1, 9).Draw(t, "width"),
				In: rapid.IntRange(1, 5).Draw(t, "in"), Out: rapid.IntRange(1, 80).Draw(t, "out"),
				KernelH: rapid.IntRange(1, 3).Draw(t, "kernel height"), KernelW: rapid.IntRange(1, 3).Draw(t, "kernel width"),
				Stride: rapid.IntRange(1, 3).Draw(t, "stride"), Pad: rapid.IntRange(1, 2).Draw(t, "padding"),
			}
			if s.Groups = rapid.IntRange(1, 4).Draw(t, "groups"); s.Groups > 1 {
				s.In, s.Out = s.Groups*s.In, s.Groups*rapid.IntRange(1, 30).Draw(t, "out of a group")
			}
			if rapid.IntRange(0, 5).Draw(t, "depthwise") == 0 {
				s.In, s.Groups = s.Out, s.Out
			}
			checkGathered(t, p, s)
		})
		for _, s := range []ConvShape{
			{N: 1, H: 50, W: 41, In: 3, KernelH: 3, KernelW: 3, Out: 13, Stride: 2, Pad: 1}, // strips of an image
			{N: 2, H: 19, W: 7, In: 2, KernelH: 5, KernelW: 1, Out: 70, Stride: 1},
			{N: 33, H: 32, W: 32, In: 3, KernelH: 3, KernelW: 3, Out: 16, Stride: 1, Pad: 1},
			{N: 9, H: 6, W: 7, In: 40, KernelH: 3, KernelW: 3, Out: 40, Stride: 2, Pad: 1, Groups: 40},
			{N: 9, H: 6, W: 7, In: 8, KernelH: 3, KernelW: 3, Out: 12, Stride: 1, Pad: 1, Groups: 4},
		} {
			checkGathered(t, p, s)
		}
	})
}

func TestGatheredStatisticsOfAFarMeanAreAccurate(t *testing.T) {
	everyFastPath(t, func(t *testing.T) {
		for _, far := range []float32{10, 1000, 4096} { // in units of the deviation
			s := ConvShape{N: 20, H: 31, W: 33, In: 5, KernelH: 1, KernelW: 1, Out: 5, Stride: 1}
			x, w := random(s.inputLen(), 1), make([]float32, 25)
			for c := range 5 {
				w[6*c] = 1 // the output is x
			}
			var mean, variance [5]float64
			rows := float64(len(x) / 5)
			for i := range x {
				x[i] += far
				mean[i%5] += float64(x[i]) / rows
			}
			for i, v := range x {
				d := float64(v) - mean[i%5]
				variance[i%5] += d * d / rows
			}
			n, _ := bothStatistics(t, nil, s, x, w)
			for c := range 5 {
				if e := math.Abs(float64(n.Mean[c])-mean[c]) / mean[c]; e > 1e-7 {
					t.Errorf("mean at %v: relative error %.2g", far, e)
				}
				if e := math.Abs(float64(n.Variance[c])-variance[c]) / variance[c]; e > 1.5e-7 {
					t.Errorf("variance at mean %v: relative error %.2g", far, e)
				}
			}
		}
	})
}

func TestGatheredStatisticsHaveTheSameBitsForAnyPool(t *testing.T) {
	everyFastPath(t, func(t *testing.T) {
		s := ConvShape{N: 37, H: 16, W: 15, In: 9, KernelH: 3, KernelW: 3, Out: 19, Stride: 1, Pad: 1}
		x, w := random(s.inputLen(), 1), random(s.weightsLen(), 2)
		want, _ := bothStatistics(t, nil, s, x, w)
		for _, threads := range []int{1, 2, 8} {
			p := NewPool(threads)
			defer p.Close()
			got, _ := bothStatistics(t, p, s, x, w)
			checkSameBits(t, fmt.Sprintf("mean with %d threads", threads), got.Mean, want.Mean)
			checkSameBits(t, fmt.Sprintf("variance with %d threads", threads), got.Variance, want.Variance)
		}
	})
}

func TestGatheringDoesNotAllocate(t *testing.T) {
	everyFastPath(t, func(t *testing.T) {
		s := ConvShape{N: 9, H: 8, W: 8, In: 3, KernelH: 3, KernelW: 3, Out: 16, Stride: 1, Pad: 1}
		x, w, y := random(s.inputLen(), 1), random(s.weightsLen(), 2), garbage(s.outputLen())
		c, n := NewConvForward(nil, s), NewBatchNorm(nil, NormShape{1, len(y) / 16, 16})
		sums := c.Gather()
		if allocs := testing.AllocsPerRun(3, func() {
			c.Run(y, x, w)
			n.StatisticsFrom(sums, 1e-5)
		}); allocs != 0 {
			t.Errorf("%v allocations a run", allocs)
		}
	})
}

func TestNothingIsGatheredWhereItIsNoFaster(t *testing.T) {
	everyPath(t, func(t *testing.T) {
		many := ConvShape{N: 2, H: 3, W: 3, In: 256, KernelH: 3, KernelW: 3, Out: 256, Stride: 1, Pad: 1}
		if NewConvForward(nil, many).Gather() != nil {
			t.Error("sums are gathered from parts with some of the channels")
		}
		few := ConvShape{N: 2, H: 3, W: 3, In: 2, KernelH: 3, KernelW: 3, Out: 2, Stride: 1, Pad: 1}
		if gathers := NewConvForward(nil, few).Gather() != nil; gathers != (ActivePath() != Generic) {
			t.Errorf("sums are gathered: %v", gathers)
		}
	})
}

func TestStatisticsRefuseSumsOfAnotherShape(t *testing.T) {
	everyFastPath(t, func(t *testing.T) {
		sums := NewConvForward(nil, ConvShape{N: 2, H: 3, W: 3, In: 2, KernelH: 1, KernelW: 1, Out: 4, Stride: 1}).Gather()
		defer func() {
			if recover() == nil {
				t.Error("sums of 18 rows were taken for those of two groups of 9")
			}
		}()
		NewBatchNorm(nil, NormShape{2, 9, 4}).StatisticsFrom(sums, 1e-5)
	})
}
