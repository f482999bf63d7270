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

// GELU computes the Gaussian error linear unit in its exact form, Φ being the distribution function of the normal distribution;
// y may be x:
//
//	y[i] = x[i] * Φ(x[i]) with Φ(x) = (1 + erf(x/√2)) / 2
//
// The error is about that of rounding the result, or of rounding 0.1 where that is more.
func GELU(y, x []float32) {
	y = y[:len(x)]
	if path := ActivePath(); path != Generic {
		pass{y: floats(y), a: floats(x)}.stream(path, kGELU, len(x))
		return
	}
	for i, v := range x {
		a := max(-40, float64(v)) // below, Φ is 0
		y[i] = float32(a * normal(a))
	}
}

// GELUBackward computes dx[i] = dy[i] times the derivative of GELU at x[i], Φ(x[i]) + x[i]*φ(x[i]); dx may be x or dy.
func GELUBackward(dx, x, dy []float32) {
	dx, dy = dx[:len(x)], dy[:len(x)]
	if path := ActivePath(); path != Generic {
		pass{y: floats(dx), a: floats(x), b: floats(dy)}.stream(path, kGELUBackward, len(x))
		return
	}
	for i, v := range x {
		a := max(-40, min(40, float64(v))) // beyond, the derivative is 0 or 1
		dx[i] = float32(float64(dy[i]) * (normal(a) + a*math.Exp(-a*a/2)/math.Sqrt(2*math.Pi)))
	}
}

// normal is the distribution function of the normal distribution.
func normal(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
