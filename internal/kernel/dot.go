package kernel

// segments says where the inputs of one sum lie: count runs of length consecutive floats, the first at 0 and
// one every stride. Their weights are one every weights.
type segments struct{ count, stride, length, weights int }

// dot4 is the inner loop of all convolutions and products, four sums of products of the
// same inputs with a packed panel of four columns:
//
//	for r := range s.count {
//		for k := range s.length {
//			for j := range 4 {
//				a[j] += x[r*s.stride+k] * w[r*s.weights+k][j]
//			}
//		}
//	}
//
// Four sums are few enough for the compiler to keep all of them in registers and cover
// the latency of the additions: a tile of eight runs at half the speed.
func dot4(x []float32, s segments, w [][4]float32) (a0, a1, a2, a3 float32) {
	for r := range s.count {
		xr := x[r*s.stride:][:s.length]
		wr := w[r*s.weights:][:len(xr)]
		for k, v := range xr {
			q := &wr[k]
			a0 += v * q[0]
			a1 += v * q[1]
			a2 += v * q[2]
			a3 += v * q[3]
		}
	}
	return a0, a1, a2, a3
}

// correlate computes up to four neighbouring outputs (lanes) of n pixels:
//
//	for p := range n {
//		for j := range lanes {
//			var sum float32
//			for r := range s.count {
//				for k := range s.length {
//					sum += x[p*xstep+r*s.stride+k] * w[r*s.weights+k][j]
//				}
//			}
//			y[p*ystep+j] = sum
//		}
//	}
func correlate(y []float32, ystep, lanes, n int, x []float32, xstep int, s segments, w [][4]float32) {
	for p := range n {
		a0, a1, a2, a3 := dot4(x[p*xstep:], s, w)
		if out := y[p*ystep:]; lanes == 4 {
			*(*[4]float32)(out) = [4]float32{a0, a1, a2, a3}
		} else {
			sums := [4]float32{a0, a1, a2, a3}
			copy(out[:lanes], sums[:])
		}
	}
}

// packPanel fills a panel of four columns from a matrix: dst[k][j] = m[k*krow+j*jrow], lanes of
// them, the rest zero.
func packPanel(dst [][4]float32, lanes int, m []float32, krow, jrow int) {
	if lanes == 4 && jrow == 1 {
		for k := range dst {
			dst[k] = [4]float32(m[k*krow : k*krow+4])
		}
		return
	}
	for k := range dst {
		var q [4]float32
		for j := range lanes {
			q[j] = m[k*krow+j*jrow]
		}
		dst[k] = q
	}
}
