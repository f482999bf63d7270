package kernel

import "math"

// ReLU computes y[i] = max(x[i], 0), keeping NaN.
func ReLU(y, x []float32) {
	y = y[:len(x)]
	for i, v := range x {
		y[i] = max(v, 0)
	}
}

// ReLUBackward computes dx[i] = dy[i] where y[i] is not 0, else 0; y is what ReLU returned. There is no
// branch in it: the signs of activations cannot be predicted.
func ReLUBackward(dx, y, dy []float32) {
	dx, dy = dx[:len(y)], dy[:len(y)]
	for i, v := range y {
		bits := int32(math.Float32bits(v))
		dx[i] = math.Float32frombits(math.Float32bits(dy[i]) & uint32((bits|-bits)>>31))
	}
}

// Add computes y[i] = a[i] + b[i]; y may be a or b.
func Add(y, a, b []float32) {
	y, b = y[:len(a)], b[:len(a)]
	for i, v := range a {
		y[i] = v + b[i]
	}
}

// AddBias computes y[r, c] = x[r, c] + b[c] for rows of len(b) floats; y may be x.
func AddBias(y, x, b []float32) {
	n := len(b)
	for lo := 0; lo < len(x); lo += n {
		Add(y[lo:lo+n], x[lo:lo+n], b)
	}
}

// ColumnSums computes dst[c] = Σ over r of x[r, c] in float64, for rows of len(dst) floats.
func ColumnSums(dst []float64, x []float32) {
	clear(dst)
	for n := len(dst); len(x) >= n; x = x[n:] {
		for c, v := range x[:n] {
			dst[c] += float64(v)
		}
	}
}
