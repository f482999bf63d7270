package kernel

import (
	"math"
	"unsafe"
)

// ReLU computes y[i] = max(x[i], 0), keeping NaN.
func ReLU(y, x []float32) {
	y = y[:len(x)]
	if path := ActivePath(); path != Generic {
		pass{y: floats(y), a: floats(x)}.stream(path, kReLU, len(x))
		return
	}
	for i, v := range x {
		y[i] = max(v, 0)
	}
}

// ReLUBackward computes dx[i] = dy[i] where y[i] is not 0, else 0; y is what ReLU returned. There is no
// branch in it: the signs of activations cannot be predicted.
func ReLUBackward(dx, y, dy []float32) {
	dx, dy = dx[:len(y)], dy[:len(y)]
	if path := ActivePath(); path != Generic {
		pass{y: floats(dx), a: floats(y), b: floats(dy)}.stream(path, kReLUBackward, len(y))
		return
	}
	for i, v := range y {
		dx[i] = gate(dy[i], v)
	}
}

// gate is dy where y is not 0, else 0.
func gate(dy, y float32) float32 {
	bits := int32(math.Float32bits(y))
	return math.Float32frombits(math.Float32bits(dy) & uint32((bits|-bits)>>31))
}

// Add computes y[i] = a[i] + b[i]; y may be a or b.
func Add(y, a, b []float32) {
	y, b = y[:len(a)], b[:len(a)]
	if path := ActivePath(); path != Generic {
		pass{y: floats(y), a: floats(a), b: floats(b)}.stream(path, kAdd, len(a))
		return
	}
	for i, v := range a {
		y[i] = v + b[i]
	}
}

// Scale computes y[i] = k * x[i]; y may be x.
func Scale(y, x []float32, k float32) {
	y = y[:len(x)]
	if path := ActivePath(); path != Generic {
		pass{y: floats(y), a: floats(x), k: [9]float32{k}}.stream(path, kScale, len(x))
		return
	}
	for i, v := range x {
		y[i] = k * v
	}
}

// AddBias computes y[r, c] = x[r, c] + b[c] for rows of len(b) floats; y may be x.
func AddBias(y, x, b []float32) {
	n := len(b)
	if len(x) == 0 {
		return
	}
	y = y[:len(x)]
	if path := ActivePath(); path != Generic && len(x)%n == 0 {
		rows := len(x) / n
		var tile [64]float32
		times := fold(path, n, rows)
		if times > 1 {
			b = tiled(tile[:times*n], b)
		}
		for step := max(times, chunk/n/times*times); rows > 0; rows -= step {
			if rows < step {
				step = rows
			}
			rowsPass(pass{y: floats(y), a: floats(x), p: [4]unsafe.Pointer{floats(b)}}, path, kBias, n, times, step)
			x, y = x[step*n:], y[step*n:]
		}
		return
	}
	for lo := 0; lo < len(x); lo += n {
		row := y[lo : lo+n]
		for c, v := range x[lo : lo+n] {
			row[c] = v + b[c]
		}
	}
}

// tiled repeats x until dst is full.
func tiled(dst, x []float32) []float32 {
	for n := 0; n < len(dst); {
		n += copy(dst[n:], x)
	}
	return dst
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
