package kernel

// transpose sets dst[k*dstStride+j] = src[j*srcStride+k] for j in [0, rows) and k in [0, columns).
func transpose(dst []float32, dstStride int, src []float32, srcStride, rows, columns int) {
	side := 1
	switch ActivePath() {
	case AVX512:
		side = 16
	case AVX2:
		side = 8
	}
	whole, across := 0, 0
	if side > 1 {
		whole, across = rows-rows%side, columns-columns%side
		for j := 0; j < whole; j += side {
			for k := 0; k < across; k += side {
				// The last element of both blocks, so that a short slice panics here.
				d, s := dst[k*dstStride+j:(k+side-1)*dstStride+j+side], src[j*srcStride+k:(j+side-1)*srcStride+k+side]
				transposeBlock(d, dstStride, s, srcStride, side)
			}
		}
	}
	for j := range rows {
		k := 0
		if j < whole {
			k = across
		}
		for ; k < columns; k++ {
			dst[k*dstStride+j] = src[j*srcStride+k]
		}
	}
}
