package kernel

// ShortcutShape is the shape of a parameter-free residual shortcut of one image [H, W, In]: every Stride-th pixel,
// with zero channels added before and after.
type ShortcutShape struct {
	H, W, In, Out, Stride int
}

// OutH is the height of the output.
func (s ShortcutShape) OutH() int { return (s.H + s.Stride - 1) / s.Stride }

// OutW is the width of the output.
func (s ShortcutShape) OutW() int { return (s.W + s.Stride - 1) / s.Stride }

// Before is the number of zero channels before those of the input: half of what is added, rounded down.
func (s ShortcutShape) Before() int { return (s.Out - s.In) / 2 }

// Shortcut computes y[oy, ox, Before+c] = x[oy*Stride, ox*Stride, c], the other channels being 0.
func Shortcut(y, x []float32, s ShortcutShape) {
	ow, lo := s.OutW(), s.Before()
	for oy := range s.OutH() {
		for ox := range ow {
			out := y[(oy*ow+ox)*s.Out:][:s.Out]
			clear(out[:lo])
			copy(out[lo:lo+s.In], x[(oy*s.W+ox)*s.Stride*s.In:])
			clear(out[lo+s.In:])
		}
	}
}

// ShortcutBackward computes dx[oy*Stride, ox*Stride, c] = dy[oy, ox, Before+c], the other pixels being 0.
func ShortcutBackward(dx, dy []float32, s ShortcutShape) {
	ow, lo := s.OutW(), s.Before()
	if s.Stride > 1 {
		clear(dx)
	}
	for oy := range s.OutH() {
		for ox := range ow {
			copy(dx[(oy*s.W+ox)*s.Stride*s.In:][:s.In], dy[(oy*ow+ox)*s.Out+lo:])
		}
	}
}
