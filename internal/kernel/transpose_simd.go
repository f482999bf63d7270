//go:build amd64 && !purego

package kernel

func transposeBlock(dst []float32, dstStride int, src []float32, srcStride, side int) {
	if side == 16 {
		transpose16AVX512(&dst[0], 4*dstStride, &src[0], 4*srcStride)
	} else {
		transpose8AVX2(&dst[0], 4*dstStride, &src[0], 4*srcStride)
	}
}
