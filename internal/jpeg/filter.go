package jpeg

// Fractions: samples are integers, then have 7 bits after vertical resampling and 6 after horizontal, so that they fit
// into int16. All arithmetic is exact up to these roundings and thus the same on every path.
const (
	verticalShift   = weightBits - 7
	horizontalShift = weightBits + 7 - 6
)

// vertical sets dst to the sums of w[k] times the samples of row k of src. len(dst) is a multiple of width, that of w
// even.
func vertical(path Path, dst []int16, src []byte, stride int, w []int16) {
	if path != Generic && len(dst) > 0 && len(w) > 0 {
		_ = src[(len(w)-1)*stride+len(dst)-1]
		verticalSIMD(path, dst, src, stride, w)
		return
	}
	for x := range dst {
		sum := int32(1 << (verticalShift - 1))
		for k, w := range w {
			sum += int32(w) * int32(src[k*stride+x])
		}
		dst[x] = int16(sum >> verticalShift)
	}
}

// turn makes columns of a strip of rows, n values each.
func turn(path Path, dst, src []int16, n int) {
	if path != Generic {
		_, _ = dst[strip*n-1], src[strip*n-1]
		turnSIMD(dst, src, n)
		return
	}
	for x := range n {
		for y := range strip {
			dst[x*strip+y] = src[y*n+x]
		}
	}
}

// horizontal resamples columns: dst has a column for each result of a. Those of src are step values apart, and begin with
// that of the first sample that a needs.
func horizontal(path Path, dst, src []int16, a *axis, step int) {
	if path != Generic {
		_, _ = dst[strip*len(a.start)-1], src[(a.count-1)*step+strip-1]
		horizontalSIMD(path, dst, src, a.start, a.w, a.taps, step)
		return
	}
	for i, start := range a.start {
		w, from := a.w[i*a.taps:][:a.taps], src[int(start)*step:]
		for y := range strip {
			sum := int32(1 << (horizontalShift - 1))
			for k, w := range w {
				sum += int32(w) * int32(from[k*step+y])
			}
			dst[i*strip+y] = int16(sum >> horizontalShift)
		}
	}
}

// Factors of the conversion from YCbCr (JFIF 1.02, page 3), less the integers next to them, with 15 bits of fraction:
// red is y + 1.402·cr, green y − 0.344136·cb − 0.714136·cr and blue y + 1.772·cb.
const (
	redCr   = 13173 // 1.402 − 1
	greenCb = 11277
	greenCr = 23401
	blueCb  = 7471 // 2 − 1.772
	middle  = 128 << 6
)

// scaled is a times a factor of 15 bits of fraction, rounded.
func scaled(a int16, factor int32) int16 { return int16((int32(a)*factor + 1<<14) >> 15) }

// level rounds a value with 6 bits of fraction to 0 to 255.
func level(v int16) byte { return byte(min(max((int32(v)+32)>>6, 0), 255)) }

// fromYCbCr makes colours of columns: of each, one of red, of green and of blue.
func fromYCbCr(path Path, dst []byte, y, cb, cr []int16) {
	if path != Generic {
		_, _, _ = dst[3*len(y)-1], cb[len(y)-1], cr[len(y)-1]
		fromYCbCrSIMD(path, dst, y, cb, cr)
		return
	}
	for i, y := range y {
		cb, cr := cb[i]-middle, cr[i]-middle
		d := dst[i/strip*3*strip+i%strip:][:2*strip+1]
		d[0] = level(y + cr + scaled(cr, redCr))
		d[strip] = level(y - scaled(cb, greenCb) - scaled(cr, greenCr))
		d[2*strip] = level(y + cb + cb - scaled(cb, blueCb))
	}
}

// fromRGB is fromYCbCr of what has been colours before.
func fromRGB(path Path, dst []byte, red, green, blue []int16) {
	if path != Generic {
		_, _, _ = dst[3*len(red)-1], green[len(red)-1], blue[len(red)-1]
		fromRGBSIMD(path, dst, red, green, blue)
		return
	}
	for i := range red {
		d := dst[i/strip*3*strip+i%strip:][:2*strip+1]
		d[0], d[strip], d[2*strip] = level(red[i]), level(green[i]), level(blue[i])
	}
}

// spread makes a strip of rows of n columns.
func spread(path Path, dst, src []byte, n int) {
	_, _ = dst[strip*n-1], src[strip*n-1]
	if path != Generic && n >= 16 {
		spreadSIMD(dst, src, n)
		return
	}
	for x := range n {
		for y := range strip {
			dst[y*n+x] = src[x*strip+y]
		}
	}
}

// Normalize sets dst to scale[c]·v + shift[c] for each value v of pixels of three channels. For the mean and deviation of
// a channel, on a scale of 0 to 1, scale is 1/(255·deviation) and shift −mean/deviation.
func Normalize(path Path, dst []float32, src []byte, scale, shift [3]float32) {
	src = src[:len(dst)]
	if path = path.resolve(); path != Generic {
		const whole = 48
		n := len(src) / whole * whole
		if n > 0 {
			normalizeSIMD(path, dst[:n], src[:n], &scale, &shift)
		}
		dst, src = dst[n:], src[n:]
	}
	for len(src) >= 3 {
		for c, v := range src[:3] {
			dst[c] = float32(scale[c]*float32(v)) + shift[c]
		}
		dst, src = dst[3:], src[3:]
	}
}
