//go:build amd64 && !purego

package jpeg

// What comes before the assembly. Callers have checked lengths.

func (r *reader) blocksSIMD(jobs []job, mcus int, coef []int16, last []uint8, pred *[3]int32, end int) (ok bool) {
	return decodeBlocksBMI2(&r.acc, &jobs[0].dc, len(jobs), mcus, &coef[0], &last[0], &pred[0], end)
}

func inverseSIMD(path Path, dst []byte, stride int, coef []int16, last []uint8, q *quantTable, n int) bool {
	if path == AVX512 {
		return inverseAVX512(&dst[0], stride, &coef[0], &last[0], &q.scale[0], &q.limit[0], (n+1)/2) == 0
	}
	return inverseAVX2(&dst[0], stride, &coef[0], &last[0], &q.scale[0], &q.limit[0], n) == 0
}

func verticalSIMD(path Path, dst []int16, src []byte, stride int, w []int16) {
	if path == AVX512 {
		verticalAVX512(&dst[0], &src[0], stride, &w[0], len(w)/2, len(dst)/width)
		return
	}
	verticalAVX2(&dst[0], &src[0], stride, &w[0], len(w)/2, len(dst)/width)
}

func turnSIMD(dst, src []int16, n int) { turnAVX2(&dst[0], &src[0], 2*n, n/16) }

func horizontalSIMD(path Path, dst, src []int16, start []int32, w []int16, taps, step int) {
	if path == AVX512 {
		horizontalAVX512(&dst[0], &src[0], &start[0], &w[0], taps/2, 2*step, len(start))
		return
	}
	horizontalAVX2(&dst[0], &src[0], &start[0], &w[0], taps/2, 2*step, len(start))
}

func fromYCbCrSIMD(path Path, dst []byte, y, cb, cr []int16) {
	if path == AVX512 {
		fromYCbCrAVX512(&dst[0], &y[0], &cb[0], &cr[0], len(y)/strip)
		return
	}
	fromYCbCrAVX2(&dst[0], &y[0], &cb[0], &cr[0], len(y)/strip)
}

func fromRGBSIMD(path Path, dst []byte, red, green, blue []int16) {
	if path == AVX512 {
		fromRGBAVX512(&dst[0], &red[0], &green[0], &blue[0], len(red)/strip)
		return
	}
	fromRGBAVX2(&dst[0], &red[0], &green[0], &blue[0], len(red)/strip)
}

func spreadSIMD(dst, src []byte, n int) {
	for x := 0; x < n; x += 16 {
		x := min(x, n-16)
		spreadAVX2(&dst[x], &src[x*strip], n)
	}
}

func normalizeSIMD(path Path, dst []float32, src []byte, scale, shift *[3]float32) {
	var scales, shifts [48]float32
	for i := range scales {
		scales[i], shifts[i] = scale[i%3], shift[i%3]
	}
	if path == AVX512 {
		normalizeAVX512(&dst[0], &src[0], &scales, &shifts, len(src)/48)
		return
	}
	normalizeAVX2(&dst[0], &src[0], &scales, &shifts, len(src)/48)
}
