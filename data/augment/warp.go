package augment

import "math"

// warp paints the picture from on to, both w×h, so that the pixel at (x, y)
// is the one of from at (a·x + b·y + c, d·x + e·y + f), coordinates being
// those of the middles of pixels; fill where that lies outside. It is PIL's
// Image.transform with AFFINE and NEAREST, which steps in 1/65536 of a pixel.
func warp(to, from []uint8, w, h int, m [6]float64, fill Color) {
	fixed := func(v float64) int { return int(math.Floor(v*(1<<16) + 0.5)) }
	a, b, d, e := fixed(m[0]), fixed(m[1]), fixed(m[3]), fixed(m[4])
	left, top := fixed(m[2]+0.5*m[0]+0.5*m[1]), fixed(m[5]+0.5*m[3]+0.5*m[4])
	for y := range h {
		u, v := left+b*y, top+e*y
		row := to[3*w*y : 3*w*(y+1)]
		for ; len(row) >= 3; row = row[3:] {
			q := row[:3:3]
			if i, j := u>>16, v>>16; uint(i) < uint(w) && uint(j) < uint(h) {
				p := from[3*(j*w+i):][:3:3]
				q[0], q[1], q[2] = p[0], p[1], p[2]
			} else {
				q[0], q[1], q[2] = fill[0], fill[1], fill[2]
			}
			u, v = u+a, v+d
		}
	}
}

// shearX moves row y to the left by m·y.
func shearX(to, from []uint8, w, h int, m float64, fill Color) {
	warp(to, from, w, h, [6]float64{1, m, 0, 0, 1, 0}, fill)
}

// shearY moves column x up by m·x.
func shearY(to, from []uint8, w, h int, m float64, fill Color) {
	warp(to, from, w, h, [6]float64{1, 0, 0, m, 1, 0}, fill)
}

// translateX moves the picture to the right by m pixels, rounded towards 0.
func translateX(to, from []uint8, w, h int, m float64, fill Color) {
	warp(to, from, w, h, [6]float64{1, 0, -math.Trunc(m), 0, 1, 0}, fill)
}

// translateY moves the picture down by m pixels, rounded towards 0.
func translateY(to, from []uint8, w, h int, m float64, fill Color) {
	warp(to, from, w, h, [6]float64{1, 0, 0, 0, 1, -math.Trunc(m)}, fill)
}

// rotate turns the picture about its middle by m degrees, against the clock.
func rotate(to, from []uint8, w, h int, m float64, fill Color) {
	const digits = 1e15 // PIL's rounding, which makes quarter turns exact
	sin, cos := math.Sincos(-m * math.Pi / 180)
	sin, cos = math.RoundToEven(sin*digits)/digits, math.RoundToEven(cos*digits)/digits
	x, y := float64(w)/2, float64(h)/2
	warp(to, from, w, h, [6]float64{cos, sin, x - cos*x - sin*y, -sin, cos, y + sin*x - cos*y}, fill)
}
