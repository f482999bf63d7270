package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Offsets of the fields of kernel.scores.
const (
	scoresS       = 8 * iota
	scoresD       // a second matrix
	scoresRows    // of both
	scoresStride  // bytes from a row to the next
	scoresColumns // of the first row
	scoresGrowth  // of columns from a row to the next
	scoresWidth   // the most columns
	scoresTop     // a number a row
	scoresSum     // another
	scoresScale
)

// attention writes the kernels over rows of scores.
func attention(c *build.Context) {
	t := newTables(c, "attention")
	for _, v := range []vectors{{c, t, true, "AVX512", 64}, {c, t, false, "AVX2", 32}} {
		v.attend()
		v.attendBackward()
		v.attendDots()
	}
}

// scoreRows is a kernel that goes over rows of scores.
type scoreRows struct {
	vectors
	p, s, d, columns, last reg.GPVirtual // last is the width in bytes, whole vectors
	lowest                 reg.VecVirtual
}

func (v vectors) scoreRows(name, doc string) scoreRows {
	r := scoreRows{vectors: v, p: v.begin(name, doc), s: v.GP64(), d: v.GP64(), columns: v.GP64(), last: v.GP64(), lowest: v.vec()}
	v.MOVQ(operand.Mem{Base: r.p, Disp: scoresS}, r.s)
	v.MOVQ(operand.Mem{Base: r.p, Disp: scoresD}, r.d)
	v.MOVQ(operand.Mem{Base: r.p, Disp: scoresColumns}, r.columns)
	v.MOVQ(operand.Mem{Base: r.p, Disp: scoresWidth}, r.last)
	v.ADDQ(operand.U32(uint32(v.lanes()-1)), r.last)
	v.ANDQ(operand.I32(int32(-v.lanes())), r.last)
	v.SHLQ(operand.U8(2), r.last)
	v.VBROADCASTSS(v.numbers["lowest"], r.lowest)
	return r
}

// each writes what is done with every vector of a row.
func (r scoreRows) each(label string, step func(offset reg.GPVirtual)) {
	offset := r.GP64()
	r.XORQ(offset, offset)
	r.Label(label)
	step(offset)
	r.ADDQ(operand.U32(uint32(r.bytes)), offset)
	r.CMPQ(offset, r.last)
	r.JL(to(label))
}

func at1(base, offset reg.GPVirtual) operand.Mem {
	return operand.Mem{Base: base, Index: offset, Scale: 1}
}

// hide makes the scores behind the columns of this row -Inf.
func (r scoreRows) hide() {
	offset, rest := r.GP64(), r.GP64()
	r.MOVQ(r.columns, offset)
	r.MOVQ(r.columns, rest)
	r.ANDQ(operand.I32(int32(-r.lanes())), offset)
	r.SUBQ(offset, rest)
	r.SHLQ(operand.U8(2), offset)
	r.CMPQ(offset, r.last)
	r.JGE(to("hidden"))
	mask, x := r.tail(rest, false), r.vec()
	if r.avx512 {
		r.VMOVAPS(r.lowest, x)
		r.VMOVUPS(at1(r.s, offset), mask, x)
	} else {
		r.VMOVUPS(at1(r.s, offset), x)
		r.VBLENDVPS(mask, x, r.lowest, x)
	}
	r.VMOVUPS(x, at1(r.s, offset))
	r.Label("hide")
	r.ADDQ(operand.U32(uint32(r.bytes)), offset)
	r.CMPQ(offset, r.last)
	r.JGE(to("hidden"))
	r.VMOVUPS(r.lowest, at1(r.s, offset))
	r.JMP(to("hide"))
	r.Label("hidden")
}

// next goes to the next row, whose numbers lie behind those of this one.
func (r scoreRows) next(numbers ...reg.GPVirtual) {
	stride := r.GP64()
	r.MOVQ(operand.Mem{Base: r.p, Disp: scoresStride}, stride)
	r.ADDQ(stride, r.s)
	r.ADDQ(stride, r.d)
	r.ADDQ(operand.Mem{Base: r.p, Disp: scoresGrowth}, r.columns)
	width := r.GP64()
	r.MOVQ(operand.Mem{Base: r.p, Disp: scoresWidth}, width)
	r.CMPQ(r.columns, width)
	r.CMOVQGT(width, r.columns)
	for _, n := range numbers {
		r.ADDQ(operand.U32(4), n)
	}
	r.DECQ(operand.Mem{Base: r.p, Disp: scoresRows})
	r.JNE(to("row"))
	r.vectors.end()
}

// across replaces every lane of x by what an operation makes of all of them.
func (v vectors) across(x reg.VecVirtual, op func(a, b, to reg.VecVirtual)) {
	t := v.vec()
	if v.avx512 {
		v.VSHUFF32X4(operand.U8(0x4e), x, x, t)
		op(t, x, x)
		v.VSHUFF32X4(operand.U8(0xb1), x, x, t)
		op(t, x, x)
	} else {
		v.VPERM2F128(operand.U8(1), x, x, t)
		op(t, x, x)
	}
	v.VPERMILPS(operand.U8(0x4e), x, t)
	op(t, x, x)
	v.VPERMILPS(operand.U8(0xb1), x, t)
	op(t, x, x)
}

func (v vectors) largest(a, b, to reg.VecVirtual) { v.VMAXPS(a, b, to) }
func (v vectors) plus(a, b, to reg.VecVirtual)    { v.VADDPS(a, b, to) }

func (v vectors) number(p reg.GPVirtual, field int) reg.GPVirtual {
	n := v.GP64()
	v.MOVQ(operand.Mem{Base: p, Disp: field}, n)
	return n
}

func (v vectors) attend() {
	r := v.scoreRows("attend", "s = softmax(scale·s) of every row, leaving the largest s and the sum of the exponentials")
	top, sum := v.number(r.p, scoresTop), v.number(r.p, scoresSum)
	scale := v.vec()
	v.VBROADCASTSS(operand.Mem{Base: r.p, Disp: scoresScale}, scale)
	exp, one := v.exp(), v.constant("one")
	v.Label("row")
	r.hide()
	most := v.vec()
	v.VMOVAPS(r.lowest, most)
	r.each("most", func(offset reg.GPVirtual) {
		x := v.vec()
		v.VMOVUPS(at1(r.s, offset), x)
		v.VMAXPS(most, x, most) // keeps most where x is NaN
	})
	v.across(most, v.largest)
	v.VMOVSS(most.AsX(), operand.Mem{Base: top})
	total := v.zero()
	r.each("exp", func(offset reg.GPVirtual) {
		x := v.vec()
		v.VMOVUPS(at1(r.s, offset), x)
		v.VSUBPS(most, x, x)
		v.VMULPS(scale, x, x)
		exp(x)
		v.VMOVUPS(x, at1(r.s, offset))
		v.VADDPS(x, total, total)
	})
	v.across(total, v.plus)
	v.VMOVSS(total.AsX(), operand.Mem{Base: sum})
	inverse := v.vec()
	v.VMOVUPS(one, inverse)
	v.VDIVPS(total, inverse, inverse)
	r.each("divide", func(offset reg.GPVirtual) {
		x := v.vec()
		v.VMULPS(at1(r.s, offset), inverse, x)
		v.VMOVUPS(x, at1(r.s, offset))
	})
	r.next(top, sum)
}

func (v vectors) attendBackward() {
	r := v.scoreRows("attendBackward", "s = exp(scale·s - top), d = scale·s·(d - sum), top and sum being numbers of the row")
	top, sum := v.number(r.p, scoresTop), v.number(r.p, scoresSum)
	scale := v.vec()
	v.VBROADCASTSS(operand.Mem{Base: r.p, Disp: scoresScale}, scale)
	exp := v.exp()
	v.Label("row")
	r.hide()
	log, mean := v.vec(), v.vec()
	v.VBROADCASTSS(operand.Mem{Base: top}, log)
	v.VBROADCASTSS(operand.Mem{Base: sum}, mean)
	r.each("exp", func(offset reg.GPVirtual) {
		x, d := v.vec(), v.vec()
		v.VMOVUPS(at1(r.s, offset), x)
		v.VFMSUB213PS(log, scale, x)
		exp(x)
		v.VMOVUPS(x, at1(r.s, offset))
		v.VMOVUPS(at1(r.d, offset), d)
		v.VSUBPS(mean, d, d)
		v.VMULPS(scale, d, d)
		v.VMULPS(x, d, d)
		v.VMOVUPS(d, at1(r.d, offset))
	})
	r.next(top, sum)
}

func (v vectors) attendDots() {
	p := v.begin("attendDots", "the sum of s·d over the columns of every row")
	s, d, sum := v.number(p, scoresS), v.number(p, scoresD), v.number(p, scoresSum)
	whole, rest := v.number(p, scoresColumns), v.number(p, scoresColumns)
	v.ANDQ(operand.I32(int32(-v.lanes())), whole)
	v.SUBQ(whole, rest)
	v.SHLQ(operand.U8(2), whole)
	mask := v.tail(rest, false)
	v.Label("row")
	total, offset := v.zero(), v.GP64()
	v.XORQ(offset, offset)
	v.Label("vector")
	v.CMPQ(offset, whole)
	v.JGE(to("rest"))
	x := v.vec()
	v.VMOVUPS(at1(s, offset), x)
	v.VFMADD231PS(at1(d, offset), x, total)
	v.ADDQ(operand.U32(uint32(v.bytes)), offset)
	v.JMP(to("vector"))
	v.Label("rest")
	x, y := v.vec(), v.vec()
	v.load(at1(s, offset), x, mask)
	v.load(at1(d, offset), y, mask)
	v.VFMADD231PS(x, y, total)
	v.across(total, v.plus)
	v.VMOVSS(total.AsX(), operand.Mem{Base: sum})
	stride := v.number(p, scoresStride)
	v.ADDQ(stride, s)
	v.ADDQ(stride, d)
	v.ADDQ(operand.U32(4), sum)
	v.DECQ(operand.Mem{Base: p, Disp: scoresRows})
	v.JNE(to("row"))
	v.end()
}
