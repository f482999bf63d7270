package kernel

// Pixels computes y[i] = scale[c]*x[i] + shift[c] for pixels of len(scale) bytes, c being the channel i%len(scale). For
// the mean and deviation of a channel, on a scale of 0 to 1, scale is 1/(255·deviation) and shift -mean/deviation. The
// bits are the same on every path.
func Pixels(y []float32, x []uint8, scale, shift []float32) {
	y, shift = y[:len(x)], shift[:len(scale)]
	ch := len(scale)
	lanes := 48
	path := ActivePath()
	if path == AVX2 {
		lanes = 24
	}
	if path != Generic && lanes%ch == 0 {
		var scales, shifts [48]float32
		p := pass{}
		p.p[0], p.p[1] = floats(tiled(scales[:lanes], scale)), floats(tiled(shifts[:lanes], shift))
		for len(x) >= lanes {
			p.y, p.a, p.n = floats(y), bytes(x), min(len(x), chunk)/lanes
			p.call(path, kPixels)
			x, y = x[p.n*lanes:], y[p.n*lanes:]
		}
	}
	for len(x) > 0 { // what is done is a whole number of pixels
		for c, v := range x[:min(ch, len(x))] {
			product := scale[c] * float32(v)
			y[c] = product + shift[c]
		}
		n := min(ch, len(x))
		x, y = x[n:], y[n:]
	}
}
