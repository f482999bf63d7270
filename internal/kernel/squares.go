package kernel

import "unsafe"

// SumOfSquares is Σ x², squared and added in float64.
func SumOfSquares(x []float32) float64 {
	if path := ActivePath(); path != Generic && len(x) > 0 {
		return sumOfSquares(path, x)
	}
	var a, b, c, d float64
	for ; len(x) >= 4; x = x[4:] {
		x0, x1, x2, x3 := float64(x[0]), float64(x[1]), float64(x[2]), float64(x[3])
		a += x0 * x0
		b += x1 * x1
		c += x2 * x2
		d += x3 * x3
	}
	for _, v := range x {
		a += float64(v) * float64(v)
	}
	return (a + b) + (c + d)
}

// sumOfSquares is SumOfSquares in assembly: the statistics of as many columns as fill its registers.
func sumOfSquares(path Path, x []float32) (sum float64) {
	var sums, squares [64]float64
	lanes := fold(path, 1, len(x))
	for {
		p := pass{a: floats(x), sums: unsafe.Pointer(&sums)}
		p.p[3] = unsafe.Pointer(&squares)
		rows := min(len(x), chunk) / lanes
		p.columns(path, kStatistics, lanes, rows)
		if x = x[rows*lanes:]; len(x) == 0 {
			break
		}
		lanes = min(lanes, len(x))
	}
	for _, s := range squares {
		sum += s
	}
	return sum
}
