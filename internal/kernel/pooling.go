package kernel

// GlobalAvgPool computes the mean of the pixels of one image: y[c] = Σ over p of x[p, c] / pixels,
// where y has one float a channel and x is [pixels, channels].
func GlobalAvgPool(y, x []float32) {
	ch := len(y)
	pixels := len(x) / ch
	for c := range y {
		var s float64
		for i := c; i < len(x); i += ch {
			s += float64(x[i])
		}
		y[c] = float32(s / float64(pixels))
	}
}

// GlobalAvgPoolBackward computes dx[p, c] = dy[c] / pixels for one image.
func GlobalAvgPoolBackward(dx, dy []float32) {
	ch := len(dy)
	scale := 1 / float32(len(dx)/ch)
	first := dx[:ch]
	for c, d := range dy {
		first[c] = d * scale
	}
	for lo := ch; lo < len(dx); lo += ch {
		copy(dx[lo:lo+ch], first)
	}
}

// PoolShape is the shape of a max pool of one image [H, W, Channels].
type PoolShape struct {
	H, W, Channels      int
	Kernel, Stride, Pad int
}

// OutH is the height of the output, which leaves out windows that do not fit.
func (s PoolShape) OutH() int { return (s.H+2*s.Pad-s.Kernel)/s.Stride + 1 }

// OutW is the width of the output.
func (s PoolShape) OutW() int { return (s.W+2*s.Pad-s.Kernel)/s.Stride + 1 }

// MaxPool computes for one image
//
//	y[oy, ox, c] = max over r, k of x[oy*Stride+r-Pad, ox*Stride+k-Pad, c], inside the image
//
// and the index in x of the pixel it came from, the first of equals; NaN wins. Pad is at most half of Kernel, so
// that no window is empty.
func MaxPool(y []float32, from []int32, x []float32, s PoolShape) {
	ch, ow := s.Channels, s.OutW()
	for oy := range s.OutH() {
		for ox := range ow {
			at := (oy*ow + ox) * ch
			out, src := y[at:at+ch], from[at:at+ch]
			y0, x0 := oy*s.Stride-s.Pad, ox*s.Stride-s.Pad
			first := (max(0, y0)*s.W + max(0, x0)) * ch
			for c := range src {
				src[c] = int32(first + c)
			}
			for iy := max(0, y0); iy < min(s.H, y0+s.Kernel); iy++ {
				for ix := max(0, x0); ix < min(s.W, x0+s.Kernel); ix++ {
					larger(src, x, (iy*s.W+ix)*ch)
				}
			}
			for c, i := range src {
				out[c] = x[i]
			}
		}
	}
}

// larger computes from[c] = i+c where x[i+c] is larger than x[from[c]] or NaN. A choice between integers
// compiles to a conditional move; a choice between floats would be a branch that cannot be predicted.
func larger(from []int32, x []float32, i int) {
	for c, v := range x[i : i+len(from)] {
		old := from[c]
		chosen := old
		if v > x[old] {
			chosen = int32(i + c)
		}
		if v != v {
			chosen = int32(i + c)
		}
		from[c] = chosen
	}
}

// MaxPoolBackward computes, for one image, dx = 0 and then dx[from[i]] += dy[i] in order.
func MaxPoolBackward(dx, dy []float32, from []int32) {
	clear(dx)
	from = from[:len(dy)]
	for i, d := range dy {
		dx[from[i]] += d
	}
}
