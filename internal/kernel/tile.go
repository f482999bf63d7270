package kernel

// The two register tiles below do nearly all arithmetic of convolutions and products. Both keep
// eight sums in registers and read packed operands as arrays, so that the inner loops have no
// bounds checks.

// dotTile adds to two rows of four sums the products of two inputs with a packed panel:
//
//	for k := range x0 {
//		for j := range 4 {
//			acc[j] += x0[k] * w[k][j]
//			acc[4+j] += x1[k] * w[k][j]
//		}
//	}
//
// x1 and w are at least as long as x0.
func dotTile(acc *[8]float32, x0, x1 []float32, w [][4]float32) {
	x1 = x1[:len(x0)]
	w = w[:len(x0)]
	a0, a1, a2, a3 := acc[0], acc[1], acc[2], acc[3]
	b0, b1, b2, b3 := acc[4], acc[5], acc[6], acc[7]
	for k, u := range x0 {
		v, q := x1[k], &w[k]
		a0 += u * q[0]
		a1 += u * q[1]
		a2 += u * q[2]
		a3 += u * q[3]
		b0 += v * q[0]
		b1 += v * q[1]
		b2 += v * q[2]
		b3 += v * q[3]
	}
	acc[0], acc[1], acc[2], acc[3] = a0, a1, a2, a3
	acc[4], acc[5], acc[6], acc[7] = b0, b1, b2, b3
}

// outerTile adds to a 2 by 4 block of sums the products of two packed operands, over rows
// of cols pixels:
//
//	for r := range rows {
//		for k := range cols {
//			for i := range 2 {
//				for j := range 4 {
//					acc[4*i+j] += x[r*xrow+k][i] * g[r*cols+k][j]
//				}
//			}
//		}
//	}
func outerTile(acc *[8]float32, x [][2]float32, xrow int, g [][4]float32, rows, cols int) {
	a0, a1, a2, a3 := acc[0], acc[1], acc[2], acc[3]
	b0, b1, b2, b3 := acc[4], acc[5], acc[6], acc[7]
	for r := range rows {
		gr := g[r*cols : (r+1)*cols]
		xr := x[r*xrow:][:len(gr)]
		for k := range gr {
			p, q := &xr[k], &gr[k]
			u, v := p[0], p[1]
			a0 += u * q[0]
			a1 += u * q[1]
			a2 += u * q[2]
			a3 += u * q[3]
			b0 += v * q[0]
			b1 += v * q[1]
			b2 += v * q[2]
			b3 += v * q[3]
		}
	}
	acc[0], acc[1], acc[2], acc[3] = a0, a1, a2, a3
	acc[4], acc[5], acc[6], acc[7] = b0, b1, b2, b3
}

// segments says where the inputs of one sum lie: count runs of length consecutive floats, one
// every stride.
type segments struct{ count, stride, length int }

// correlate computes up to four neighbouring outputs (lanes) of n pixels:
//
//	for p := range n {
//		for j := range lanes {
//			var sum float32
//			for r := range s.count {
//				for k := range s.length {
//					sum += x[p*xstep+r*s.stride+k] * w[r*s.length+k][j]
//				}
//			}
//			y[p*ystep+j] = sum
//		}
//	}
func correlate(y []float32, ystep, lanes, n int, x []float32, xstep int, s segments, w [][4]float32) {
	for p := 0; p < n; p += 2 {
		x0 := x[p*xstep:]
		x1 := x0
		if p+1 < n {
			x1 = x[(p+1)*xstep:]
		}
		var acc [8]float32
		for r := range s.count {
			at := r * s.stride
			dotTile(&acc, x0[at:at+s.length], x1[at:], w[r*s.length:])
		}
		y0 := y[p*ystep:]
		if lanes == 4 {
			*(*[4]float32)(y0) = [4]float32(acc[:4])
			if p+1 < n {
				*(*[4]float32)(y0[ystep:]) = [4]float32(acc[4:])
			}
			continue
		}
		copy(y0[:lanes], acc[:lanes])
		if p+1 < n {
			copy(y0[ystep:][:lanes], acc[4:4+lanes])
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
