package kernel

import "math"

// Exp computes y[i] = exp(x[i]) to a relative error of about 1e-7; y may be x.
func Exp(y, x []float32) {
	y = y[:len(x)]
	if path := ActivePath(); path != Generic {
		pass{y: floats(y), a: floats(x)}.stream(path, kExp, len(x))
		return
	}
	for i, v := range x {
		y[i] = float32(math.Exp(float64(v)))
	}
}

// √(2/π), and what GELU multiplies the cube by.
const (
	geluLinear = math.Sqrt2 / (math.SqrtPi)
	geluCube   = 0.044715
)

// GELU computes the Gaussian error linear unit in its tanh form; y may be x:
//
//	u = √(2/π) * (x[i] + 0.044715*x[i]³)
//	y[i] = x[i] * (1 + tanh(u)) / 2
func GELU(y, x []float32) {
	y = y[:len(x)]
	if path := ActivePath(); path != Generic {
		pass{y: floats(y), a: floats(x)}.stream(path, kGELU, len(x))
		return
	}
	for i, v := range x {
		a := float64(v)
		y[i] = float32(a / (1 + math.Exp(-2*geluLinear*a*(1+geluCube*a*a))))
	}
}

// GELUBackward computes dx[i] = dy[i] times the derivative of GELU at x[i]; dx may be x or dy.
func GELUBackward(dx, x, dy []float32) {
	dx, dy = dx[:len(x)], dy[:len(x)]
	if path := ActivePath(); path != Generic {
		pass{y: floats(dx), a: floats(x), b: floats(dy)}.stream(path, kGELUBackward, len(x))
		return
	}
	for i, v := range x {
		a := max(-10, min(10, float64(v))) // beyond, the derivative is 0 or 1
		e := math.Exp(-2 * geluLinear * a * (1 + geluCube*a*a))
		s := 1 / (1 + e)
		dx[i] = float32(float64(dy[i]) * s * (1 + a*(1-s)*2*geluLinear*(1+3*geluCube*a*a)))
	}
}
