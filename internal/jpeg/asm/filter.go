package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Shifts of jpeg.vertical and jpeg.horizontal, and a column of a strip in bytes.
const (
	verticalShift   = 7
	horizontalShift = 15
	column          = 64
)

func (v *vectors) param(name string) reg.GPVirtual {
	return v.Load(v.Param(name), v.GP64()).(reg.GPVirtual)
}

func (v *vectors) round(shift int) operand.Mem {
	return constant(v, map[int]string{verticalShift: "halfVertical", horizontalShift: "halfHorizontal"}[shift], int32(1)<<(shift-1))
}

// madd adds the products of the words of a and b with a pair of weights to sums of low and high words.
func (v *vectors) madd(a, b, weights reg.VecVirtual, sums []reg.VecVirtual) {
	low, high := v.vec(), v.vec()
	v.VPUNPCKLWD(b, a, low)
	v.VPUNPCKHWD(b, a, high)
	v.VPMADDWD(weights, low, low)
	v.VPMADDWD(weights, high, high)
	v.VPADDD(low, sums[0], sums[0])
	v.VPADDD(high, sums[1], sums[1])
}

// pack makes words of sums.
func (v *vectors) pack(sums []reg.VecVirtual, shift int, to operand.Mem) {
	for _, s := range sums[:2] {
		v.VPSRAD(operand.U8(shift), s, s)
	}
	v.VPACKSSDW(sums[1], sums[0], sums[0])
	v.store(sums[0], to)
}

// vertical writes the sum of rows.
func (v *vectors) vertical() {
	v.function("vertical", "is vertical of n·32 columns and pairs of weights.",
		"func(dst *int16, src *byte, stride int, w *int16, pairs int, n int)")
	dst, src, stride, w, pairs, n := v.param("dst"), v.param("src"), v.param("stride"), v.param("w"), v.param("pairs"), v.param("n")
	parts := 64 / v.size()
	half := v.vec()
	v.load(v.round(verticalShift), half)
	loop(v.Context, "columns", n, func() {
		p, q, k := v.GP64(), v.GP64(), v.GP64()
		v.MOVQ(src, p)
		v.MOVQ(w, q)
		v.MOVQ(pairs, k)
		sums := make([]reg.VecVirtual, 2*parts)
		for i := range sums {
			sums[i] = v.vec()
			v.move(half, sums[i])
		}
		loop(v.Context, "pairs", k, func() {
			weights := v.vec()
			v.VPBROADCASTD(at(q, 0), weights)
			for i := range parts {
				a, b := v.vec(), v.vec()
				v.VPMOVZXBW(at(p, i*v.size()/2), a)
				v.VPMOVZXBW(operand.Mem{Base: p, Index: stride, Scale: 1, Disp: i * v.size() / 2}, b)
				v.madd(a, b, weights, sums[2*i:])
			}
			v.LEAQ(operand.Mem{Base: p, Index: stride, Scale: 2}, p)
			v.ADDQ(operand.U8(4), q)
		})
		for i := range parts {
			v.pack(sums[2*i:], verticalShift, at(dst, i*v.size()))
		}
		v.ADDQ(operand.U8(32), src)
		v.ADDQ(operand.U8(64), dst)
	})
	v.VZEROUPPER()
	v.RET()
}

func (v *vectors) move(from, to reg.VecVirtual) {
	if v.wide {
		v.VMOVDQA64(from, to)
		return
	}
	v.VMOVDQA(from, to)
}

// horizontal writes the sum of columns.
func (v *vectors) horizontal() {
	v.function("horizontal", "is horizontal of n results. The column of sample 0 would be at src, and columns are step bytes apart.",
		"func(dst *int16, src *int16, start *int32, w *int16, pairs int, step int, n int)")
	dst, src, start, w, pairs, step, n := v.param("dst"), v.param("src"), v.param("start"), v.param("w"), v.param("pairs"), v.param("step"), v.param("n")
	parts := column / v.size()
	half := v.vec()
	v.load(v.round(horizontalShift), half)
	loop(v.Context, "results", n, func() {
		p, k := v.GP64(), v.GP64()
		v.MOVLQSX(at(start, 0), p)
		v.IMULQ(step, p)
		v.ADDQ(src, p)
		v.MOVQ(pairs, k)
		sums := make([]reg.VecVirtual, 2*parts)
		for i := range sums {
			sums[i] = v.vec()
			v.move(half, sums[i])
		}
		loop(v.Context, "taps", k, func() {
			weights := v.vec()
			v.VPBROADCASTD(at(w, 0), weights)
			for i := range parts {
				a, b := v.vec(), v.vec()
				v.load(at(p, i*v.size()), a)
				v.load(operand.Mem{Base: p, Index: step, Scale: 1, Disp: i * v.size()}, b)
				v.madd(a, b, weights, sums[2*i:])
			}
			v.LEAQ(operand.Mem{Base: p, Index: step, Scale: 2}, p)
			v.ADDQ(operand.U8(4), w)
		})
		for i := range parts {
			v.pack(sums[2*i:], horizontalShift, at(dst, i*v.size()))
		}
		v.ADDQ(operand.U8(4), start)
		v.ADDQ(operand.U8(column), dst)
	})
	v.VZEROUPPER()
	v.RET()
}

// level stores what jpeg.level is of one column of words.
func (v *vectors) level(words []reg.VecVirtual, to operand.Mem) {
	half := constant(v, "halfLevel", uint16(32))
	for _, x := range words {
		v.VPADDW(half, x, x)
		v.VPSRAW(operand.U8(6), x, x)
	}
	if v.wide {
		bytes, zero := v.YMM(), v.vec()
		v.VPXORQ(zero, zero, zero)
		v.VPMAXSW(zero, words[0], words[0])
		v.VPMOVUSWB(words[0], bytes)
		v.VMOVDQU(bytes, to)
		return
	}
	v.VPACKUSWB(words[1], words[0], words[0])
	v.VPERMQ(operand.U8(0xd8), words[0], words[0])
	v.VMOVDQU(words[0], to)
}

// colours writes the conversions to RGB.
func (v *vectors) colours() {
	parts := column / v.size()
	columns := func(n reg.GPVirtual, from []reg.GPVirtual, dst reg.GPVirtual, body func()) {
		loop(v.Context, "column", n, func() {
			body()
			for _, p := range from {
				v.ADDQ(operand.U8(column), p)
			}
			v.ADDQ(operand.U8(3*32), dst)
		})
		v.VZEROUPPER()
		v.RET()
	}
	v.function("fromYCbCr", "is fromYCbCr of n columns.", "func(dst *byte, y *int16, cb *int16, cr *int16, n int)")
	dst, n := v.param("dst"), v.param("n")
	from := []reg.GPVirtual{v.param("y"), v.param("cb"), v.param("cr")}
	columns(n, from, dst, func() {
		var red, green, blue []reg.VecVirtual
		for i := range parts {
			var in [3]reg.VecVirtual
			for c := range in {
				in[c] = v.vec()
				v.load(at(from[c], i*v.size()), in[c])
			}
			y, cb, cr := in[0], in[1], in[2]
			v.VPSUBW(constant(v, "middle", uint16(128<<6)), cb, cb)
			v.VPSUBW(constant(v, "middle", uint16(128<<6)), cr, cr)
			scaled := func(x reg.VecVirtual, name string, factor uint16) reg.VecVirtual {
				z := v.vec()
				v.VPMULHRSW(constant(v, name, factor), x, z)
				return z
			}
			r, g, b := scaled(cr, "redCr", 13173), v.vec(), v.vec()
			v.VPADDW(cr, r, r)
			v.VPADDW(y, r, r)
			v.VPSUBW(scaled(cb, "greenCb", 11277), y, g)
			v.VPSUBW(scaled(cr, "greenCr", 23401), g, g)
			v.VPADDW(cb, y, b)
			v.VPADDW(cb, b, b)
			v.VPSUBW(scaled(cb, "blueCb", 7471), b, b)
			red, green, blue = append(red, r), append(green, g), append(blue, b)
		}
		v.level(red, at(dst, 0))
		v.level(green, at(dst, 32))
		v.level(blue, at(dst, 64))
	})

	v.function("fromRGB", "is fromRGB of n columns.", "func(dst *byte, red *int16, green *int16, blue *int16, n int)")
	dst, n = v.param("dst"), v.param("n")
	from = []reg.GPVirtual{v.param("red"), v.param("green"), v.param("blue")}
	columns(n, from, dst, func() {
		for c := range from {
			words := make([]reg.VecVirtual, parts)
			for i := range words {
				words[i] = v.vec()
				v.load(at(from[c], i*v.size()), words[i])
			}
			v.level(words, at(dst, 32*c))
		}
	})
}

// normalize writes the conversion to float32.
func (v *vectors) normalize() {
	v.function("normalize", "is Normalize of n·48 values. Scale and shift are repeated to 48.",
		"func(dst *float32, src *byte, scale *[48]float32, shift *[48]float32, n int)")
	dst, src, scale, shift, n := v.param("dst"), v.param("src"), v.param("scale"), v.param("shift"), v.param("n")
	lanes := v.size() / 4
	var scales, shifts [3]reg.VecVirtual
	for i := range scales {
		scales[i], shifts[i] = v.vec(), v.vec()
		v.load(at(scale, i*v.size()), scales[i])
		v.load(at(shift, i*v.size()), shifts[i])
	}
	loop(v.Context, "values", n, func() {
		for i := range 48 / lanes {
			x := v.vec()
			v.VPMOVZXBD(at(src, i*lanes), x)
			v.VCVTDQ2PS(x, x)
			v.VMULPS(scales[i%3], x, x)
			v.VADDPS(shifts[i%3], x, x)
			v.store(x, at(dst, i*v.size()))
		}
		v.ADDQ(operand.U8(48), src)
		v.ADDQ(operand.U32(4*48), dst)
	})
	v.VZEROUPPER()
	v.RET()
}

// unpack interleaves the low and the high halves of x and y, elements of a size in bytes.
func unpack(c *build.Context, size int, x, y operand.Op) (low, high reg.VecVirtual) {
	low, high = c.YMM(), c.YMM()
	switch size {
	case 1:
		c.VPUNPCKLBW(y, x, low)
		c.VPUNPCKHBW(y, x, high)
	case 2:
		c.VPUNPCKLWD(y, x, low)
		c.VPUNPCKHWD(y, x, high)
	case 4:
		c.VPUNPCKLDQ(y, x, low)
		c.VPUNPCKHDQ(y, x, high)
	case 8:
		c.VPUNPCKLQDQ(y, x, low)
		c.VPUNPCKHQDQ(y, x, high)
	}
	return low, high
}

// interleave unpacks eight vectors three times from elements of a size on, which transposes 8×8 elements of 16 bytes
// in all, or makes 16 rows of 8 bytes of eight columns of 16.
func interleave(c *build.Context, size int, a [8]reg.VecVirtual) [8]reg.VecVirtual {
	var t, u, out [8]reg.VecVirtual
	for i := 0; i < 8; i += 2 {
		t[i], t[i+1] = unpack(c, size, a[i], a[i+1])
	}
	for q := 0; q < 8; q += 4 {
		u[q], u[q+1] = unpack(c, 2*size, t[q], t[q+2])
		u[q+2], u[q+3] = unpack(c, 2*size, t[q+1], t[q+3])
	}
	for i := range 4 {
		out[2*i], out[2*i+1] = unpack(c, 4*size, u[i], u[4+i])
	}
	return out
}

// turn writes the transposition of a strip of words.
func turn(c *build.Context) {
	v := &vectors{Context: c}
	v.function("turn", "is turn of n·16 columns. Stride is that of src in bytes.", "func(dst *int16, src *int16, stride int, n int)")
	dst, src, stride, n := v.param("dst"), v.param("src"), v.param("stride"), v.param("n")
	loop(c, "columns", n, func() {
		p := c.GP64()
		c.MOVQ(src, p)
		for group := range 4 {
			var a [8]reg.VecVirtual
			for i := range a {
				a[i] = c.YMM()
				c.VMOVDQU(at(p, 0), a[i])
				c.ADDQ(stride, p)
			}
			for i, x := range interleave(c, 2, a) {
				c.VMOVDQU(x.AsX(), at(dst, column*i+16*group))
				c.VEXTRACTI128(operand.U8(1), x, at(dst, column*(8+i)+16*group))
			}
		}
		c.ADDQ(operand.U8(32), src)
		c.ADDQ(operand.U32(16*column), dst)
	})
	c.VZEROUPPER()
	c.RET()
}

// spread writes the transposition of a strip of bytes.
func spread(c *build.Context) {
	v := &vectors{Context: c}
	v.function("spread", "is spread of 16 columns. Stride is that of dst.", "func(dst *byte, src *byte, stride int)")
	c.AllocLocal(8 * 32)
	stack := func(i int) operand.Mem { return operand.Mem{Base: reg.StackPointer, Disp: 32 * i} }
	dst, src, stride := v.param("dst"), v.param("src"), v.param("stride")
	low := c.GP64()
	c.MOVQ(stride, low)
	c.SHLQ(operand.U8(4), low)
	c.ADDQ(dst, low)
	for half := range 2 {
		var a [8]reg.VecVirtual
		for i := range a {
			a[i] = c.YMM()
			c.VMOVDQU(at(src, 32*(8*half+i)), a[i])
		}
		for i, x := range interleave(c, 1, a) {
			if half == 0 { // two rows of the first 8 columns
				c.VMOVDQU(x, stack(i))
				continue
			}
			first := c.YMM()
			c.VMOVDQU(stack(i), first)
			even, odd := unpack(c, 8, first, x)
			for _, row := range []reg.VecVirtual{even, odd} {
				c.VMOVDQU(row.AsX(), at(dst, 0))
				c.VEXTRACTI128(operand.U8(1), row, at(low, 0))
				c.ADDQ(stride, dst)
				c.ADDQ(stride, low)
			}
		}
	}
	c.VZEROUPPER()
	c.RET()
}
