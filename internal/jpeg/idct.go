package jpeg

import "encoding/binary"

// transposed is the place of the coefficients in a block, by their position in the file: column by column, from the
// lowest frequency to the right on. Positions from 64 on do not exist.
var transposed = [64]uint8{
	0, 8, 1, 2, 9, 16, 24, 17,
	10, 3, 4, 11, 18, 25, 32, 40,
	33, 26, 19, 12, 5, 6, 13, 20,
	27, 34, 41, 48, 56, 49, 42, 35,
	28, 21, 14, 7, 15, 22, 29, 36,
	43, 50, 57, 58, 51, 44, 37, 30,
	23, 31, 38, 45, 52, 59, 60, 53,
	46, 39, 47, 54, 61, 62, 55, 63,
}

// aan are the factors by which the transformation of Arai, Agui and Nakajima differs from the cosine transformation:
// 1, and √2·cos(kπ/16).
var aan = [8]float64{1, 1.387039845322148, 1.306562964876377, 1.175875602419359, 1, 0.785694958387102, 0.541196100146197, 0.275899379282943}

// Constants of the transformation.
const (
	sqrt2 = 1.414213562373095 // 2·cos(4π/16)
	rotA  = 1.847759065022573 // 2·cos(2π/16)
	rotB  = 1.082392200292394 // 2·(cos(2π/16) − cos(6π/16))
	rotC  = 2.613125929752753 // 2·(cos(2π/16) + cos(6π/16))
	bias  = 128               // of samples
)

// inverse8 is the inverse cosine transformation of eight values, scaled as quantTable.scale is (Arai, Agui, Nakajima
// 1988, as in libjpeg's jidctflt.c). Conversions keep compilers from fusing, so that all paths have the same bits.
func inverse8(v *[64]float32, at, step int) {
	a := v[at:]
	_ = a[7*step]
	t10, t11 := a[0]+a[4*step], a[0]-a[4*step]
	t13 := a[2*step] + a[6*step]
	t12 := float32((a[2*step]-a[6*step])*sqrt2) - t13
	t0, t3, t1, t2 := t10+t13, t10-t13, t11+t12, t11-t12
	z13, z10 := a[5*step]+a[3*step], a[5*step]-a[3*step]
	z11, z12 := a[step]+a[7*step], a[step]-a[7*step]
	t7 := z11 + z13
	u11 := float32((z11 - z13) * sqrt2)
	z5 := float32((z10 + z12) * rotA)
	t6 := z5 - float32(z10*rotC) - t7
	t5 := u11 - t6
	t4 := z5 - float32(z12*rotB) - t5
	a[0], a[7*step] = t0+t7, t0-t7
	a[step], a[6*step] = t1+t6, t1-t6
	a[2*step], a[5*step] = t2+t5, t2-t5
	a[3*step], a[4*step] = t3+t4, t3-t4
}

// inverse transforms a block of coefficients to 8×8 samples and clears it; ok is as of inverseRow.
func inverse(dst []byte, stride int, coef *[64]int16, q *quantTable) (ok bool) {
	var v [64]float32
	ok = true
	for i, c := range coef {
		v[i] = float32(c) * q.scale[i]
		ok = ok && c <= q.limit[i] && c >= -q.limit[i]
	}
	*coef = [64]int16{}
	v[0] += bias
	for i := range 8 {
		inverse8(&v, i, 8)
	}
	for i := range 8 {
		inverse8(&v, 8*i, 1)
	}
	for y := range 8 {
		d := dst[y*stride:][:8]
		for x := range d {
			d[x] = sample(v[8*x+y])
		}
	}
	return ok
}

// sample rounds v, to even if it is halfway, to 0 to 255.
func sample(v float32) byte {
	const shift = 1.5 * (1 << 23) // at this size a float32 has no fraction
	return byte(float32(min(max(v, 0), 255)+shift) - shift)
}

// flat makes 8×8 samples of a block that has only a DC value, and clears it.
func flat(dst []byte, stride int, coef *[64]int16, scale *[64]float32) {
	v := uint64(sample(float32(float32(coef[0])*scale[0])+bias)) * 0x0101010101010101
	coef[0] = 0
	for y := range 8 {
		binary.LittleEndian.PutUint64(dst[y*stride:], v)
	}
}

// inverseRow transforms n blocks to n·8×8 samples, from left to right, and clears them. Last tells of each block the last
// position that is not zero. With n odd the 8 samples to the right may be written to, and the block after them cleared.
// Ok is false if a coefficient other than the DC value exceeds its limit.
func inverseRow(path Path, dst []byte, stride int, coef []int16, last []uint8, q *quantTable, n int) (ok bool) {
	if path != Generic && n > 0 {
		m := even(n)
		_, _, _ = dst[7*stride+8*m-1], coef[64*m-1], last[m-1]
		return inverseSIMD(path, dst, stride, coef, last, q, n)
	}
	ok = true
	for i := range n {
		block := (*[64]int16)(coef[64*i:])
		if last[i] == 0 {
			flat(dst[8*i:], stride, block, &q.scale)
		} else {
			ok = inverse(dst[8*i:], stride, block, q) && ok
		}
	}
	return ok
}
