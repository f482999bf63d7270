package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// exp replaces x by its exponential: 2^n · e^r with |r| ≤ ln 2 / 2 and the polynomial of Cephes.
func (v vectors) exp() func(x reg.VecVirtual) {
	c := map[string]operand.Op{}
	for _, name := range []string{"one", "log2e", "ln2High", "ln2Low", "expLow", "expHigh", "exp2", "exp3", "exp4", "exp5", "exp6", "exp7"} {
		c[name] = v.constant(name)
	}
	return func(x reg.VecVirtual) {
		// With x as the second source a NaN stays.
		t := v.vec()
		v.VMOVUPS(c["expHigh"], t)
		v.VMINPS(x, t, x)
		v.VMOVUPS(c["expLow"], t)
		v.VMAXPS(x, t, x)
		n, r, e := v.vec(), v.vec(), v.vec()
		v.VMULPS(c["log2e"], x, n)
		if v.avx512 {
			v.VRNDSCALEPS(operand.U8(0), n, n)
		} else {
			v.VROUNDPS(operand.U8(0), n, n)
		}
		v.VMOVAPS(x, r)
		v.VFNMADD231PS(c["ln2High"], n, r)
		v.VFNMADD231PS(c["ln2Low"], n, r)
		v.VMOVUPS(c["exp7"], e)
		for _, k := range []string{"exp6", "exp5", "exp4", "exp3", "exp2"} {
			v.VFMADD213PS(c[k], r, e)
		}
		q := v.vec()
		v.VMULPS(r, r, q)
		v.VFMADD213PS(r, q, e) // e·r² + r
		v.VADDPS(c["one"], e, e)
		if v.avx512 {
			v.VSCALEFPS(n, e, x)
			return
		}
		// In two halves, because 2^n may be too large or too small for a float32.
		i, h := v.vec(), v.vec()
		v.VCVTPS2DQ(n, i)
		v.VPSRAD(operand.U8(1), i, h)
		v.VPSUBD(h, i, i)
		for _, s := range []reg.VecVirtual{h, i} {
			v.VPADDD(v.numbers["bias127"], s, s)
			v.VPSLLD(operand.U8(23), s, s)
			v.VMULPS(s, e, e)
		}
		v.VMOVAPS(e, x)
	}
}

// normal returns, for x, |x| up to 14, e = exp(-x²/2) and q = Φ(-|x|), the tail of the normal distribution: e times a polynomial
// in 1/(1 + 0.34·|x|). The polynomial was fitted so that |x|·q is right to 5e-9.
func (v vectors) normal() func(x reg.VecVirtual) (a, e, q reg.VecVirtual) {
	exp, zero, one, half, far := v.exp(), v.zero(), v.constant("one"), v.constant("minusHalf"), v.constant("normalFar")
	return func(x reg.VecVirtual) (a, e, q reg.VecVirtual) {
		a, e, q = v.vec(), v.vec(), v.vec()
		v.VSUBPS(x, zero, a)
		v.VMAXPS(x, a, a) // as in exp, a NaN stays
		v.VMOVUPS(far, e)
		v.VMINPS(a, e, a)
		v.VMULPS(a, a, e)
		v.VMULPS(half, e, e)
		exp(e)
		t, d := v.vec(), v.vec()
		v.VMOVUPS(one, d)
		v.VMOVAPS(d, t)
		v.multiplyAdd("normalScale", a, d)
		v.VDIVPS(d, t, t)
		v.spread("normal7", q)
		for _, k := range []string{"normal6", "normal5", "normal4", "normal3", "normal2", "normal1"} {
			v.horner(k, t, q)
		}
		v.VMULPS(t, q, q)
		v.VMULPS(e, q, q)
		return a, e, q
	}
}

// spread loads a constant that is kept in memory, for want of registers.
func (v vectors) spread(name string, x reg.VecVirtual) {
	v.VBROADCASTSS(v.numbers[name], x)
}

// horner computes y = y·x + a constant in memory.
func (v vectors) horner(name string, x, y reg.VecVirtual) {
	if v.avx512 {
		v.VFMADD213PS_BCST(v.numbers[name], x, y)
		return
	}
	v.VFMADD213PS(v.numbers[name], x, y)
}

// multiplyAdd computes y += x times a constant in memory.
func (v vectors) multiplyAdd(name string, x, y reg.VecVirtual) {
	if v.avx512 {
		v.VFMADD231PS_BCST(v.numbers[name], x, y)
		return
	}
	v.VFMADD231PS(v.numbers[name], x, y)
}

func simple(step func(place)) (func(place), func()) { return step, nil }

// streams writes the kernels that go over contiguous elements.
func (v vectors) streams() {
	v.stream("passAdd", "y = a + b", 4, []int{passY, passA, passB}, func(reg.GPVirtual) (func(place), func()) {
		return simple(func(s place) {
			x := s.in(passA)
			v.VADDPS(s.in(passB), x, x)
			s.out(passY, x)
		})
	})
	v.stream("passReLU", "y = max(a, 0), keeping NaN", 4, []int{passY, passA}, func(reg.GPVirtual) (func(place), func()) {
		zero := v.zero()
		return simple(func(s place) {
			x := s.in(passA)
			v.keep(x, notLessOrEqual, zero, x)
			s.out(passY, x)
		})
	})
	v.stream("passReLUBackward", "y = b where a is not 0, else 0", 4, []int{passY, passA, passB}, func(reg.GPVirtual) (func(place), func()) {
		zero := v.zero()
		return simple(func(s place) {
			x, d := s.in(passA), s.in(passB)
			v.keep(d, notEqual, zero, x)
			s.out(passY, d)
		})
	})
	v.stream("passScale", "y = k0·(a - k1)", 4, []int{passY, passA}, func(p reg.GPVirtual) (func(place), func()) {
		k, less := v.scalar(p, 0), v.scalar(p, 1)
		return simple(func(s place) {
			x := s.in(passA)
			v.VSUBPS(less, x, x)
			v.VMULPS(k, x, x)
			s.out(passY, x)
		})
	})
	v.stream("passExp", "y = exp(a)", 2, []int{passY, passA}, func(reg.GPVirtual) (func(place), func()) {
		exp := v.exp()
		return simple(func(s place) {
			x := s.in(passA)
			exp(x)
			s.out(passY, x)
		})
	})
	v.stream("passGELU", "y = a·Φ(a), Φ being the distribution of the normal distribution", 1, []int{passY, passA}, func(reg.GPVirtual) (func(place), func()) {
		zero, normal := v.zero(), v.normal()
		return simple(func(s place) {
			x := s.in(passA)
			a, _, q := normal(x)
			v.VMAXPS(x, zero, x)
			v.VFNMADD231PS(a, q, x) // max(x, 0) - |x|·Φ(-|x|)
			s.out(passY, x)
		})
	})
	v.stream("passGELUBackward", "y = b times the derivative of GELU at a", 1, []int{passY, passA, passB}, func(reg.GPVirtual) (func(place), func()) {
		zero, normal := v.zero(), v.normal()
		one, density := v.constant("one"), v.constant("normalDensity")
		return simple(func(s place) {
			x := s.in(passA)
			a, e, q := normal(x)
			v.VMULPS(density, e, e)
			v.VFNMADD231PS(a, e, q) // Φ(-|x|) - |x|·φ(x): the derivative at -|x|
			m, n := v.vec(), v.vec()
			v.VMOVUPS(one, m)
			v.keep(m, notLessOrEqual, zero, x)
			v.VMOVUPS(one, n)
			v.VSUBPS(m, n, n)
			v.VSUBPS(m, n, n)
			v.VFMADD213PS(m, n, q) // that at |x| is 1 minus it
			v.VMULPS(s.in(passB), q, q)
			s.out(passY, q)
		})
	})
	v.stream("passMax", "the largest of a, NaN left out, in every lane of sums", 4, []int{passA}, func(p reg.GPVirtual) (func(place), func()) {
		sums := v.GP64()
		v.MOVQ(operand.Mem{Base: p, Disp: passSums}, sums)
		lowest := v.constant("lowest")
		var acc [4]reg.VecVirtual
		for i := range acc {
			acc[i] = v.vec()
			v.VMOVUPS(lowest, acc[i])
		}
		return func(s place) {
				x := s.in(passA)
				switch {
				case s.mask != nil && v.avx512:
					v.VMAXPS(acc[0], x, s.mask, acc[0])
					return
				case s.mask != nil:
					v.VBLENDVPS(s.mask, x, acc[0], x)
				}
				v.VMAXPS(acc[s.step], x, acc[s.step])
			}, func() {
				v.VMAXPS(acc[1], acc[0], acc[0])
				v.VMAXPS(acc[3], acc[2], acc[2])
				v.VMAXPS(acc[2], acc[0], acc[0])
				v.VMOVUPS(acc[0], operand.Mem{Base: sums})
			}
	})
	v.stream("passExpSum", "y = exp(a - k0), its sum added to the lanes of sums", 1, []int{passY, passA}, func(p reg.GPVirtual) (func(place), func()) {
		top := v.scalar(p, 0)
		exp := v.exp()
		acc, finish := v.accumulators(p, 1)
		return func(s place) {
			x := s.in(passA)
			v.VSUBPS(top, x, x)
			exp(x)
			s.out(passY, x)
			v.only(x, s.mask)
			lo, hi := v.widen(x)
			v.VADDPD(lo, acc[0], acc[0])
			v.VADDPD(hi, acc[1], acc[1])
		}, finish
	})
	v.stream("passExpTotal", "the sum of exp(a - k0) added to the lanes of sums", 1, []int{passA}, func(p reg.GPVirtual) (func(place), func()) {
		top := v.scalar(p, 0)
		exp := v.exp()
		acc, finish := v.accumulators(p, 1)
		return func(s place) {
			x := s.in(passA)
			v.VSUBPS(top, x, x)
			exp(x)
			v.only(x, s.mask)
			lo, hi := v.widen(x)
			v.VADDPD(lo, acc[0], acc[0])
			v.VADDPD(hi, acc[1], acc[1])
		}, finish
	})
	v.stream("passSoftmaxBackward", "y = k1·exp(a - k0) - k2", 2, []int{passY, passA}, func(p reg.GPVirtual) (func(place), func()) {
		top, scale, less := v.scalar(p, 0), v.scalar(p, 1), v.scalar(p, 2)
		exp := v.exp()
		return simple(func(s place) {
			x := s.in(passA)
			v.VSUBPS(top, x, x)
			exp(x)
			v.VFMSUB213PS(less, scale, x)
			s.out(passY, x)
		})
	})
	v.stream("passFinite", "the sum of 0·a in the lanes of sums: 0 where all is finite, else NaN", 4, []int{passA}, func(p reg.GPVirtual) (func(place), func()) {
		sums, zero := v.GP64(), v.zero()
		v.MOVQ(operand.Mem{Base: p, Disp: passSums}, sums)
		var acc [4]reg.VecVirtual
		for i := range acc {
			acc[i] = v.zero()
		}
		return func(s place) { v.VFMADD231PS(s.in(passA), zero, acc[s.step]) }, func() {
			v.VADDPS(acc[1], acc[0], acc[0])
			v.VADDPS(acc[3], acc[2], acc[2])
			v.VADDPS(acc[2], acc[0], acc[0])
			v.VMOVUPS(acc[0], operand.Mem{Base: sums})
		}
	})
	v.stream("passMoments", "the sums of a and a² added to the lanes of sums", 1, []int{passA}, func(p reg.GPVirtual) (func(place), func()) {
		acc, finish := v.accumulators(p, 2)
		return func(s place) {
			lo, hi := v.widen(s.in(passA))
			v.VADDPD(lo, acc[0], acc[0])
			v.VADDPD(hi, acc[1], acc[1])
			v.VFMADD231PD(lo, lo, acc[2])
			v.VFMADD231PD(hi, hi, acc[3])
		}, finish
	})
	v.stream("passNormalise", "y = (a - k0)·k1·b + c", 2, []int{passY, passA, passB, passC}, func(p reg.GPVirtual) (func(place), func()) {
		mean, scale := v.scalar(p, 0), v.scalar(p, 1)
		return simple(func(s place) {
			x, y := s.in(passA), s.in(passC)
			v.VSUBPS(mean, x, x)
			v.VMULPS(scale, x, x)
			v.VFMADD231PS(s.in(passB), x, y)
			s.out(passY, y)
		})
	})
	v.stream("passNormaliseSums", "the sums of b·c and b·c·(a - k0) added to the lanes of sums", 1, []int{passA, passB, passC}, func(p reg.GPVirtual) (func(place), func()) {
		mean := v.scalar(p, 0)
		acc, finish := v.accumulators(p, 2)
		return func(s place) {
			x, d := s.in(passA), s.in(passB)
			v.VMULPS(s.in(passC), d, d)
			v.VSUBPS(mean, x, x)
			v.only(x, s.mask)
			d0, d1 := v.widen(d)
			v.VADDPD(d0, acc[0], acc[0])
			v.VADDPD(d1, acc[1], acc[1])
			x0, x1 := v.widen(x)
			v.VFMADD231PD(x0, d0, acc[2])
			v.VFMADD231PD(x1, d1, acc[3])
		}, finish
	})
	v.stream("passNormaliseBackward", "y = k1·b·c + k2·(a - k0) + k3", 2, []int{passY, passA, passB, passC}, func(p reg.GPVirtual) (func(place), func()) {
		mean, scale, mul, add := v.scalar(p, 0), v.scalar(p, 1), v.scalar(p, 2), v.scalar(p, 3)
		return simple(func(s place) {
			x, d := s.in(passA), s.in(passB)
			v.VMULPS(s.in(passC), d, d)
			v.VMULPS(scale, d, d)
			v.VSUBPS(mean, x, x)
			v.VFMADD231PS(mul, x, d)
			v.VADDPS(add, d, d)
			s.out(passY, d)
		})
	})
	v.stream("passNormaliseWeights", "y += b·(a - k0)·k1, c += b", 2, []int{passY, passA, passB, passC}, func(p reg.GPVirtual) (func(place), func()) {
		mean, scale := v.scalar(p, 0), v.scalar(p, 1)
		return simple(func(s place) {
			x, d, g, b := s.in(passA), s.in(passB), s.in(passY), s.in(passC)
			v.VSUBPS(mean, x, x)
			v.VMULPS(scale, x, x)
			v.VFMADD231PS(x, d, g)
			v.VADDPS(d, b, b)
			s.out(passY, g)
			s.out(passC, b)
		})
	})
	v.updates()
}

// pixels writes the kernel that makes floats of bytes: a block of as many vectors as p0 and p1 repeat after, which is 3.
func (v vectors) pixels() {
	p := v.begin("passPixels", "y = p0·a + p1 for N blocks of three vectors, a being bytes")
	y, a, n := v.GP64(), v.GP64(), v.GP64()
	v.MOVQ(operand.Mem{Base: p, Disp: passY}, y)
	v.MOVQ(operand.Mem{Base: p, Disp: passA}, a)
	v.MOVQ(operand.Mem{Base: p, Disp: passN}, n)
	r := rows{vectors: v, p: p, unit: v.bytes}
	scale, shift := r.lanes(0, 3), r.lanes(1, 3)
	v.Label("row")
	for i := range 3 {
		x := v.vec()
		v.VPMOVZXBD(operand.Mem{Base: a, Disp: i * v.lanes()}, x)
		v.VCVTDQ2PS(x, x)
		v.VMULPS(scale[i], x, x)
		v.VADDPS(shift[i], x, x)
		v.VMOVUPS(x, operand.Mem{Base: y, Disp: i * v.bytes})
	}
	v.ADDQ(operand.U32(uint32(3*v.bytes)), y)
	v.ADDQ(operand.U32(uint32(3*v.lanes())), a)
	v.DECQ(n)
	v.JNE(to("row"))
	v.end()
}
