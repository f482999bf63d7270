package kernel

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// reference walks every product of a convolution: f gets the indices of input, weight and output.
func (s ConvShape) reference(f func(x, w, y int)) {
	for n := range s.N {
		for oy := range s.OutH() {
			for ox := range s.OutW() {
				for r := range s.KernelH {
					for c := range s.KernelW {
						iy, ix := oy*s.Stride+r-s.Pad, ox*s.Stride+c-s.Pad
						if iy < 0 || iy >= s.H || ix < 0 || ix >= s.W {
							continue
						}
						inG, outG := s.In/s.groups(), s.Out/s.groups()
						for i := range inG {
							for o := range s.Out {
								f(((n*s.H+iy)*s.W+ix)*s.In+o/outG*inG+i, ((r*s.KernelW+c)*inG+i)*s.Out+o, ((n*s.OutH()+oy)*s.OutW()+ox)*s.Out+o)
							}
						}
					}
				}
			}
		}
	}
}

type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// checkClose compares with a float64 reference, to a tolerance relative to the largest value.
func checkClose(t failer, what string, got []float32, want []float64, tolerance float64) {
	t.Helper()
	scale := 1e-6
	for _, w := range want {
		scale = max(scale, math.Abs(w))
	}
	checkWithin(t, what, got, want, tolerance*scale)
}

func checkWithin(t failer, what string, got []float32, want []float64, distance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	for i, w := range want {
		if !(math.Abs(float64(got[i])-w) <= distance) {
			t.Fatalf("%s: value %d is %v, want %v ± %v", what, i, got[i], w, distance)
		}
	}
}

func checkSameBits(t failer, what string, got, want []float32) {
	t.Helper()
	for i, w := range want {
		if math.Float32bits(got[i]) != math.Float32bits(w) {
			t.Fatalf("%s: value %d is %v, want %v", what, i, got[i], w)
		}
	}
}

// sums are reference sums of products, and of their sizes: what rounding errors are measured by.
type sums struct{ value, size []float64 }

func newSums(n int) sums { return sums{make([]float64, n), make([]float64, n)} }

func (s sums) add(i int, a, b float32) {
	p := float64(a) * float64(b)
	s.value[i] += p
	s.size[i] += math.Abs(p)
}

func (s sums) check(t failer, what string, got []float32) {
	t.Helper()
	checkWithin(t, what, got, s.value, 1e-6*slices.Max(s.size)+1e-30)
}

// garbage is what an output holds before a kernel writes it.
func garbage(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(math.NaN())
	}
	return x
}

func checkConv(t failer, s ConvShape, p *Pool) {
	x, w, dy := random(s.inputLen(), 1), random(s.weightsLen(), 2), random(s.outputLen(), 3)
	wantY, wantX, wantW := newSums(len(dy)), newSums(len(x)), newSums(len(w))
	s.reference(func(i, j, k int) {
		wantY.add(k, x[i], w[j])
		wantX.add(i, w[j], dy[k])
		wantW.add(j, x[i], dy[k])
	})
	forward, data, weights := NewConvForward(p, s), NewConvBackwardData(p, s), NewConvBackwardWeights(p, s)
	for range 2 { // the second run meets the scratch of the first
		y, dx, dw := garbage(len(dy)), garbage(len(x)), garbage(len(w))
		forward.Run(y, x, w)
		wantY.check(t, "output", y)
		data.Run(dx, w, dy)
		wantX.check(t, "input gradient", dx)
		weights.Run(dw, x, dy)
		wantW.check(t, "weight gradient", dw)
	}
}

func TestConvolutionsAgreeWithTheReferenceForAnyShape(t *testing.T) {
	p := NewPool(3)
	defer p.Close()
	everyPath(t, func(t *testing.T) { rapid.Check(t, func(t *rapid.T) { checkConv(t, drawConv(t), p) }) })
}

// drawConv is a random convolution.
func drawConv(t *rapid.T) ConvShape {
	draw := func(name string, lo, hi int) int { return rapid.IntRange(lo, hi).Draw(t, name) }
	s := ConvShape{
		N: draw("n", 1, 3), H: draw("h", 1, 9), W: draw("w", 1, 9), In: draw("in", 1, 9),
		KernelH: draw("kh", 1, 5), KernelW: draw("kw", 1, 5), Out: draw("out", 1, 9),
		Stride: draw("stride", 1, 4), Pad: draw("pad", 0, 3),
	}
	switch draw("kind", 0, 5) {
	case 0:
		s.N = draw("many", 4, 20)
	case 1:
		s.In, s.Out = draw("wide in", 10, 40), draw("wide out", 10, 70)
	case 2:
		s.Groups = draw("groups", 2, 5)
		s.In, s.Out = s.Groups*draw("in of a group", 1, 5), s.Groups*draw("out of a group", 1, 20)
	case 3:
		s.In = draw("depth", 2, 70)
		s.Out, s.Groups = s.In, s.In
	}
	if s.Check() != nil {
		t.Skip("the kernel does not fit")
	}
	return s
}

// wideShapes need several strips an image, few images, many images, and several groups of panels.
var wideShapes = []ConvShape{
	{N: 1, H: 9, W: 70, In: 66, KernelH: 3, KernelW: 3, Out: 5, Stride: 1, Pad: 1},
	{N: 2, H: 11, W: 70, In: 40, KernelH: 3, KernelW: 2, Out: 9, Stride: 2, Pad: 1},
	{N: 19, H: 4, W: 4, In: 3, KernelH: 3, KernelW: 3, Out: 17, Stride: 1, Pad: 1},
}

func TestConvolutionsInStripsAgreeWithTheReference(t *testing.T) {
	everyPath(t, func(t *testing.T) {
		for _, s := range wideShapes {
			checkConv(t, s, nil)
		}
	})
}

func TestConvolutionsGiveTheSameBitsForAnyPool(t *testing.T) {
	shapes := append(wideShapes,
		ConvShape{N: 3, H: 8, W: 7, In: 5, KernelH: 3, KernelW: 3, Out: 6, Stride: 2, Pad: 1},
		ConvShape{N: 37, H: 8, W: 8, In: 16, KernelH: 3, KernelW: 3, Out: 40, Stride: 1, Pad: 1},
		ConvShape{N: 9, H: 17, W: 15, In: 20, KernelH: 3, KernelW: 3, Out: 35, Stride: 2, Pad: 1},
		ConvShape{N: 9, H: 14, W: 14, In: 70, KernelH: 3, KernelW: 3, Out: 70, Stride: 1, Pad: 1, Groups: 70},
		ConvShape{N: 9, H: 14, W: 14, In: 64, KernelH: 3, KernelW: 3, Out: 64, Stride: 1, Pad: 1, Groups: 64},
		ConvShape{N: 9, H: 14, W: 14, In: 24, KernelH: 3, KernelW: 3, Out: 48, Stride: 2, Pad: 1, Groups: 3},
		ConvShape{N: 9, H: 14, W: 14, In: 70, KernelH: 1, KernelW: 1, Out: 18, Stride: 1})
	everyPath(t, func(t *testing.T) {
		for _, s := range shapes {
			x, w, dy := random(s.inputLen(), 1), random(s.weightsLen(), 2), random(s.outputLen(), 3)
			all := func(p *Pool) (y, dx, dw []float32) {
				y, dx, dw = garbage(len(dy)), garbage(len(x)), garbage(len(w))
				NewConvForward(p, s).Run(y, x, w)
				NewConvBackwardData(p, s).Run(dx, w, dy)
				NewConvBackwardWeights(p, s).Run(dw, x, dy)
				return y, dx, dw
			}
			y, dx, dw := all(nil)
			for _, threads := range []int{1, 2, 8} {
				p := NewPool(threads)
				y2, dx2, dw2 := all(p)
				p.Close()
				checkSameBits(t, "output", y2, y)
				checkSameBits(t, "input gradient", dx2, dx)
				checkSameBits(t, "weight gradient", dw2, dw)
			}
		}
	})
}

func TestKernelsDoNotAllocate(t *testing.T) { everyPath(t, checkNoAllocations) }

func checkNoAllocations(t *testing.T) {
	p := NewPool(2)
	defer p.Close()
	s := ConvShape{N: 9, H: 17, W: 15, In: 20, KernelH: 3, KernelW: 3, Out: 35, Stride: 2, Pad: 1}
	x, w, y := random(s.inputLen(), 1), random(s.weightsLen(), 2), random(s.outputLen(), 3)
	forward, data, weights := NewConvForward(p, s), NewConvBackwardData(p, s), NewConvBackwardWeights(p, s)
	ls := LinearShape{N: 40, In: 9, Out: 20}
	lx, lw, ly, lb := random(360, 1), random(180, 2), random(800, 3), random(20, 4)
	linear, lData, lWeights := NewLinearForward(p, ls), NewLinearBackwardData(p, ls), NewLinearBackwardWeights(p, ls)
	norm := NewBatchNorm(p, NormShape{2, 20, 9})
	gamma, beta, z := random(9, 5), random(9, 6), random(360, 7)
	if n := testing.AllocsPerRun(5, func() {
		forward.Run(y, x, w)
		data.Run(x, w, y)
		weights.Run(w, x, y)
		linear.Run(ly, lx, lw, lb)
		lData.Run(lx, lw, ly)
		lWeights.Run(lw, lb, lx, ly)
		norm.Statistics(lx, 1e-5)
		norm.Normalise(z, lx, gamma, beta)
		norm.Backward(z, gamma, beta, lx, gamma, lx, false)
		norm.Fixed(beta, gamma, 1e-5)
	}); n != 0 {
		t.Errorf("%v allocations a run", n)
	}
}

func TestAShapeThatCannotBeIsRefused(t *testing.T) {
	ok := ConvShape{N: 1, H: 4, W: 4, In: 1, KernelH: 3, KernelW: 3, Out: 1, Stride: 1}
	for want, change := range map[string]func(s *ConvShape){
		"empty dimension":      func(s *ConvShape) { s.N = 0 },
		"stride 0":             func(s *ConvShape) { s.Stride = 0 },
		"padding -1":           func(s *ConvShape) { s.Pad = -1 },
		"does not fit":         func(s *ConvShape) { s.KernelW = 5 },
		"cannot have 2 groups": func(s *ConvShape) { s.Groups = 2 },
	} {
		s := ok
		change(&s)
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want %q", s, err, want)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a slice of the wrong length was taken")
		}
	}()
	NewConvForward(nil, ok).Run(make([]float32, 3), make([]float32, 16), make([]float32, 9))
}

// checkKinds demands finite numbers, infinities and NaN just where they are wanted.
func checkKinds(t failer, what string, got []float32, want []float64) {
	t.Helper()
	for i, w := range want {
		g := float64(got[i])
		if math.IsNaN(w) != math.IsNaN(g) || math.IsInf(w, 1) != math.IsInf(g, 1) || math.IsInf(w, -1) != math.IsInf(g, -1) {
			t.Fatalf("%s: value %d is %v, want %v", what, i, g, w)
		}
	}
}

func TestOnlyPixelsInsideTheImageMeetWhatIsNotFinite(t *testing.T) {
	p := NewPool(2)
	defer p.Close()
	everyPath(t, func(t *testing.T) {
		for _, s := range []ConvShape{
			{N: 2, H: 5, W: 6, In: 3, KernelH: 3, KernelW: 3, Out: 5, Stride: 1, Pad: 1},
			{N: 9, H: 4, W: 4, In: 17, KernelH: 3, KernelW: 3, Out: 35, Stride: 1, Pad: 1},
			{N: 1, H: 9, W: 9, In: 2, KernelH: 5, KernelW: 5, Out: 17, Stride: 2, Pad: 2},
			{N: 2, H: 5, W: 4, In: 6, KernelH: 3, KernelW: 3, Out: 9, Stride: 1, Pad: 1, Groups: 3},
			{N: 2, H: 5, W: 5, In: 35, KernelH: 3, KernelW: 3, Out: 35, Stride: 2, Pad: 1, Groups: 35},
		} {
			all := []int{s.weightsLen(), s.inputLen(), s.outputLen()}
			for i, n := range all { // nothing but NaN in one of them
				bad := make([][]int, len(all))
				for j := range n {
					bad[i] = append(bad[i], j)
				}
				checkNotFinite(t, s, p, bad[0], bad[1], bad[2])
			}
		}
		rapid.Check(t, func(t *rapid.T) {
			s := drawConv(t)
			where := func(what string, n int) []int {
				return rapid.SliceOfN(rapid.IntRange(0, n-1), 0, 3).Draw(t, what)
			}
			checkNotFinite(t, s, p, where("weights", s.weightsLen()), where("inputs", s.inputLen()), where("outputs", s.outputLen()))
		})
	})
}

// checkNotFinite puts NaN and infinities at the given places and demands them just where a product inside the image has one.
func checkNotFinite(t failer, s ConvShape, p *Pool, weights, inputs, outputs []int) {
	t.Helper()
	x, w, dy := random(s.inputLen(), 1), random(s.weightsLen(), 2), random(s.outputLen(), 3)
	for values, places := range map[*[]float32][]int{&x: inputs, &w: weights, &dy: outputs} {
		for i, at := range places {
			(*values)[at] = []float32{nan, float32(math.Inf(1)), float32(math.Inf(-1))}[i%3]
		}
	}
	wantY, wantX, wantW := newSums(len(dy)), newSums(len(x)), newSums(len(w))
	s.reference(func(i, j, k int) {
		wantY.add(k, x[i], w[j])
		wantX.add(i, w[j], dy[k])
		wantW.add(j, x[i], dy[k])
	})
	y, dx, dw := garbage(len(dy)), garbage(len(x)), garbage(len(w))
	NewConvForward(p, s).Run(y, x, w)
	checkKinds(t, "output", y, wantY.value)
	NewConvBackwardData(p, s).Run(dx, w, dy)
	checkKinds(t, "input gradient", dx, wantX.value)
	NewConvBackwardWeights(p, s).Run(dw, x, dy)
	checkKinds(t, "weight gradient", dw, wantW.value)
}

func FuzzConvolutionsAgreeWithTheReference(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) { checkConv(t, drawConv(t), nil) }))
}
