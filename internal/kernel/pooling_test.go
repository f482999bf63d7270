package kernel

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestGlobalAvgPoolAgreesWithTheReferenceForAnyShape(t *testing.T) {
	everyPath(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			pixels, ch := rapid.IntRange(1, 80).Draw(t, "pixels"), rapid.IntRange(1, 90).Draw(t, "channels")
			x, dy := random(pixels*ch, 1), random(ch, 2)
			mean, gradient := make([]float64, ch), make([]float64, len(x))
			for i, v := range x {
				mean[i%ch] += float64(v) / float64(pixels)
				gradient[i] = float64(dy[i%ch]) / float64(pixels)
			}
			y, dx := garbage(ch), garbage(len(x))
			GlobalAvgPool(y, x)
			checkClose(t, "mean", y, mean, 1e-6)
			GlobalAvgPoolBackward(dx, dy)
			checkClose(t, "gradient", dx, gradient, 1e-6)
			spoil(t, "pixels", x)
			clear(mean)
			for i, v := range x {
				mean[i%ch] += float64(v)
			}
			GlobalAvgPool(y, x)
			checkKinds(t, "mean", y, mean)
		})
	})
}

func TestMaxPoolAgreesWithTheReferenceForAnyShape(t *testing.T) {
	everyPath(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			draw := func(name string, lo, hi int) int { return rapid.IntRange(lo, hi).Draw(t, name) }
			s := PoolShape{H: draw("h", 1, 9), W: draw("w", 1, 9), Channels: draw("channels", 1, 20), Kernel: draw("kernel", 1, 4), Stride: draw("stride", 1, 4)}
			s.Pad = draw("pad", 0, s.Kernel/2)
			if s.Kernel > min(s.H, s.W)+2*s.Pad {
				t.Skip("the window does not fit")
			}
			x := random(s.H*s.W*s.Channels, 1)
			spoil(t, "pixels", x)
			n := s.OutH() * s.OutW() * s.Channels
			dy, want, wantX := random(n, 2), make([]float64, n), make([]float64, len(x))
			for i := range n {
				oy, ox, c := i/s.Channels/s.OutW(), i/s.Channels%s.OutW(), i%s.Channels
				best, from := math.Inf(-1), -1
				for r := range s.Kernel {
					for k := range s.Kernel {
						iy, ix := oy*s.Stride+r-s.Pad, ox*s.Stride+k-s.Pad
						if iy < 0 || iy >= s.H || ix < 0 || ix >= s.W {
							continue
						}
						at := (iy*s.W+ix)*s.Channels + c
						if v := float64(x[at]); from < 0 || v > best || math.IsNaN(v) {
							best, from = v, at
						}
					}
				}
				want[i] = best
				wantX[from] += float64(dy[i])
			}
			y, from, dx := garbage(n), make([]int32, n), garbage(len(x))
			MaxPool(y, from, x, s)
			checkAlike(t, "maximum", y, single(want))
			MaxPoolBackward(dx, dy, from)
			checkClose(t, "gradient", dx, wantX, 1e-6)
		})
	})
}

func TestShortcutAgreesWithTheReferenceForAnyShape(t *testing.T) {
	everyPath(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			draw := func(name string, lo, hi int) int { return rapid.IntRange(lo, hi).Draw(t, name) }
			s := ShortcutShape{H: draw("h", 1, 7), W: draw("w", 1, 7), In: draw("in", 1, 9), Stride: draw("stride", 1, 3)}
			s.Out = s.In + draw("more", 0, 7)
			x, dy := random(s.H*s.W*s.In, 1), random(s.OutH()*s.OutW()*s.Out, 2)
			spoil(t, "pixels", x)
			spoil(t, "gradients", dy)
			wantY, wantX := make([]float32, len(dy)), make([]float32, len(x))
			for i := range x {
				y, xc, c := i/s.In/s.W, i/s.In%s.W, i%s.In
				if y%s.Stride == 0 && xc%s.Stride == 0 {
					at := (y/s.Stride*s.OutW()+xc/s.Stride)*s.Out + (s.Out-s.In)/2 + c
					wantY[at], wantX[i] = x[i], dy[at]
				}
			}
			y, dx := garbage(len(dy)), garbage(len(x))
			Shortcut(y, x, s)
			checkAlike(t, "output", y, wantY)
			ShortcutBackward(dx, dy, s)
			checkAlike(t, "gradient", dx, wantX)
		})
	})
}

func TestDropoutKeepsWhatTheMaskSaysAtAnyLength(t *testing.T) {
	everyPath(t, func(t *testing.T) {
		for _, n := range []int{0, 1, 7, 63, 64, 65, 200} {
			x, y, mask := random(n, 1), garbage(n), make([]uint64, (n+63)/64)
			if n > 2 {
				x[1], x[2] = nan, float32(math.Inf(-1))
			}
			DropoutMask(mask, 0, len(mask), 5, 0.4)
			Dropout(y, x, mask, 1.25)
			want := make([]float32, n)
			for i, v := range x {
				if mask[i/64]>>(i%64)&1 == 1 {
					want[i] = float32(1.25 * float64(v))
				}
			}
			checkAlike(t, "dropout", y, want)
		}
	})
}
