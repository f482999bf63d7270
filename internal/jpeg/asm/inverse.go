package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// pass is jpeg.inverse8 of every lane.
func (v *vectors) pass(a [8]reg.VecVirtual) [8]reg.VecVirtual {
	add := func(x, y reg.VecVirtual) reg.VecVirtual { z := v.vec(); v.VADDPS(y, x, z); return z }
	sub := func(x, y reg.VecVirtual) reg.VecVirtual { z := v.vec(); v.VSUBPS(y, x, z); return z }
	times := func(x reg.VecVirtual, name string, f float32) reg.VecVirtual {
		z := v.vec()
		v.VMULPS(constant(v, name, f), x, z)
		return z
	}
	t10, t11 := add(a[0], a[4]), sub(a[0], a[4])
	t13 := add(a[2], a[6])
	t12 := sub(times(sub(a[2], a[6]), "sqrt2", 1.414213562373095), t13)
	t0, t3 := add(t10, t13), sub(t10, t13)
	t1, t2 := add(t11, t12), sub(t11, t12)
	z13, z10 := add(a[5], a[3]), sub(a[5], a[3])
	z11, z12 := add(a[1], a[7]), sub(a[1], a[7])
	t7 := add(z11, z13)
	u11 := times(sub(z11, z13), "sqrt2", 1.414213562373095)
	z5 := times(add(z10, z12), "rotA", 1.847759065022573)
	t6 := sub(sub(z5, times(z10, "rotC", 2.613125929752753)), t7)
	t5 := sub(u11, t6)
	t4 := sub(sub(z5, times(z12, "rotB", 1.082392200292394)), t5)
	return [8]reg.VecVirtual{
		add(t0, t7), add(t1, t6), add(t2, t5), add(t3, t4), sub(t3, t4), sub(t2, t5), sub(t1, t6), sub(t0, t7),
	}
}

// transpose8 transposes 8×8 values. In vectors of 512 bits two such blocks have alternate quarters.
func (v *vectors) transpose8(a [8]reg.VecVirtual) [8]reg.VecVirtual {
	var s, u, out [8]reg.VecVirtual
	for i := 0; i < 8; i += 2 {
		s[i], s[i+1] = v.vec(), v.vec()
		v.VUNPCKLPS(a[i+1], a[i], s[i])
		v.VUNPCKHPS(a[i+1], a[i], s[i+1])
	}
	for q := 0; q < 8; q += 4 {
		for i := range 2 {
			u[q+2*i], u[q+2*i+1] = v.vec(), v.vec()
			v.VUNPCKLPD(s[q+2+i], s[q+i], u[q+2*i])
			v.VUNPCKHPD(s[q+2+i], s[q+i], u[q+2*i+1])
		}
	}
	for r := range 4 {
		out[r], out[4+r] = v.vec(), v.vec()
		if v.wide {
			v.VSHUFF32X4(operand.U8(0x44), u[4+r], u[r], out[r])
			v.VSHUFF32X4(operand.U8(0xee), u[4+r], u[r], out[4+r])
		} else {
			v.VPERM2F128(operand.U8(0x20), u[4+r], u[r], out[r])
			v.VPERM2F128(operand.U8(0x31), u[4+r], u[r], out[4+r])
		}
	}
	return out
}

// inverse writes the inverse transformation of blocks from left to right, two at a time in vectors of 512 bits.
func (v *vectors) inverse() {
	v.function("inverse", "is inverseRow, of n blocks or, with AVX-512, pairs of blocks. Bad is not 0 if a coefficient exceeds its limit.",
		"func(dst *byte, stride int, coef *int16, last *uint8, scale *float32, limit *int16, n int) (bad uint32)")
	param := func(name string) reg.GPVirtual { return v.Load(v.Param(name), v.GP64()).(reg.GPVirtual) }
	dst, stride, coef, last, scale, limit, n := param("dst"), param("stride"), param("coef"), param("last"), param("scale"), param("limit"), param("n")
	blocks := v.size() / 32
	stride3, low, bad := v.GP64(), v.GP64(), v.GP32()
	v.XORL(bad, bad)
	v.LEAQ(operand.Mem{Base: stride, Index: stride, Scale: 2}, stride3)

	v.Label("block")
	v.LEAQ(operand.Mem{Base: dst, Index: stride, Scale: 4}, low)
	if v.wide {
		v.CMPW(at(last, 0), operand.U8(0))
	} else {
		v.CMPB(at(last, 0), operand.U8(0))
	}
	v.JE(to("flat"))
	var a [8]reg.VecVirtual
	if v.wide {
		first, second := v.vec(), v.vec()
		v.load(constant[uint64](v, "pairs", 0, 8, 1, 9, 2, 10, 3, 11), first)
		v.load(constant[uint64](v, "pairsHigh", 4, 12, 5, 13, 6, 14, 7, 15), second)
		for half := range 2 {
			x, y, z := v.vec(), v.vec(), v.vec()
			v.load(at(coef, 64*half), x)
			v.load(at(coef, 128+64*half), y)
			p, q, k, exceed := v.vec(), v.vec(), v.K(), v.GP32()
			v.VPABSW(x, p)
			v.VPABSW(y, q)
			v.VPMAXUW(q, p, p)
			v.VPCMPUW(operand.U8(6), at(limit, 64*half), p, k) // greater
			v.KMOVD(k, exceed)
			v.ORL(exceed, bad)
			v.VMOVDQA64(x, z)
			v.VPERMT2Q(y, first, x)
			v.VPERMT2Q(y, second, z)
			for i, p := range []reg.VecVirtual{x, z} {
				for j := range 2 {
					r := v.vec()
					if j == 0 {
						v.VPMOVSXWD(p.(reg.VecVirtual).AsY(), r)
					} else {
						h := v.YMM()
						v.VEXTRACTI64X4(operand.U8(1), p, h)
						v.VPMOVSXWD(h, r)
					}
					a[4*half+2*i+j] = r
				}
			}
		}
	} else {
		exceed, mask := reg.VecVirtual(nil), v.GP32()
		for i := range 4 {
			x := v.vec()
			v.VPABSW(at(coef, 32*i), x)
			v.VPCMPGTW(at(limit, 32*i), x, x)
			if i == 0 {
				exceed = x
			} else {
				v.VPOR(x, exceed, exceed)
			}
		}
		v.VPMOVMSKB(exceed, mask)
		v.ORL(mask, bad)
		for i := range a {
			a[i] = v.vec()
			v.VPMOVSXWD(at(coef, 16*i), a[i])
		}
	}
	for i, x := range a {
		v.VCVTDQ2PS(x, x)
		if v.wide {
			s := v.vec()
			v.VBROADCASTF64X4(at(scale, 32*i), s)
			// Quarters of both blocks alternate.
			v.VSHUFF64X2(operand.U8(0x50), s, s, s)
			v.VMULPS(s, x, x)
		} else {
			v.VMULPS(at(scale, 32*i), x, x)
		}
	}
	bias := []float32{128, 0, 0, 0, 0, 0, 0, 0}
	if v.wide {
		bias = []float32{128, 0, 0, 0, 128, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	}
	v.VADDPS(constant(v, "bias", bias...), a[0], a[0])
	a = v.pass(a)
	a = v.transpose8(a)
	a = v.pass(a)
	for _, x := range a {
		v.VCVTPS2DQ(x, x)
	}
	order := v.vec()
	if v.wide {
		v.load(constant[int32](v, "rows", 0, 8, 4, 12, 1, 9, 5, 13, 2, 10, 6, 14, 3, 11, 7, 15), order)
	} else {
		v.load(constant[int32](v, "rows", 0, 4, 1, 5, 2, 6, 3, 7), order)
	}
	for half := range 2 {
		x := a[4*half:]
		v.VPACKSSDW(x[1], x[0], x[0])
		v.VPACKSSDW(x[3], x[2], x[2])
		v.VPACKUSWB(x[2], x[0], x[0])
		v.VPERMD(x[0], order, x[0])
		base := []reg.GPVirtual{dst, low}[half]
		rows := []operand.Mem{at(base, 0), {Base: base, Index: stride, Scale: 1}, {Base: base, Index: stride, Scale: 2}, {Base: base, Index: stride3, Scale: 1}}
		if v.wide {
			v.VMOVDQU(x[0].AsX(), rows[0])
			for i := 1; i < 4; i++ {
				v.VEXTRACTI32X4(operand.U8(i), x[0], rows[i])
			}
		} else {
			high := v.XMM()
			v.VEXTRACTI128(operand.U8(1), x[0], high)
			v.VMOVLPS(x[0].AsX(), rows[0])
			v.VMOVHPS(x[0].AsX(), rows[1])
			v.VMOVLPS(high, rows[2])
			v.VMOVHPS(high, rows[3])
		}
	}
	zero := v.vec()
	v.VPXOR(zero.AsX(), zero.AsX(), zero.AsX())
	for i := range 128 * blocks / v.size() {
		v.store(zero, at(coef, v.size()*i))
	}
	v.Label("next")
	v.ADDQ(operand.U8(8*blocks), dst)
	v.ADDQ(operand.U32(uint32(128*blocks)), coef)
	v.ADDQ(operand.U8(blocks), last)
	v.DECQ(n)
	v.JNZ(to("block"))
	v.Store(bad, v.Return("bad"))
	v.VZEROUPPER()
	v.RET()

	v.Label("flat")
	var rows [2]reg.VecVirtual
	for b := range blocks {
		value, x, none, most := v.GP64(), v.XMM(), v.GP64(), v.GP64()
		v.MOVWLSX(at(coef, 128*b), value.As32())
		v.VXORPS(x, x, x)
		v.VCVTSI2SSL(value.As32(), x, x)
		v.VMULSS(at(scale, 0), x, x)
		v.VADDSS(constant(v, "bias", bias...), x, x)
		v.VCVTSS2SI(x, value.As32())
		v.XORL(none.As32(), none.As32())
		v.TESTL(value.As32(), value.As32())
		v.CMOVLLT(none.As32(), value.As32())
		v.MOVL(operand.U32(255), most.As32())
		v.CMPL(value.As32(), most.As32())
		v.CMOVLGT(most.As32(), value.As32())
		v.MOVW(operand.U16(0), at(coef, 128*b))
		rows[b] = v.XMM()
		v.VMOVD(value.As32(), rows[b])
		v.VPBROADCASTB(rows[b], rows[b])
	}
	if v.wide {
		v.VPUNPCKLQDQ(rows[1], rows[0], rows[0])
	}
	for _, base := range []reg.GPVirtual{dst, low} {
		for _, m := range []operand.Mem{at(base, 0), {Base: base, Index: stride, Scale: 1}, {Base: base, Index: stride, Scale: 2}, {Base: base, Index: stride3, Scale: 1}} {
			if v.wide {
				v.VMOVDQU(rows[0], m)
			} else {
				v.VMOVLPS(rows[0], m)
			}
		}
	}
	v.JMP(to("next"))
}
