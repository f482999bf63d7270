package main

import (
	"math"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The one-pass kernels. All of them take a pointer to the struct pass of package kernel, whose layout is:
const (
	passY      = 0 // streams
	passA      = 8
	passB      = 16
	passC      = 24
	passN      = 32 // elements, or rows
	passStride = 40 // bytes from a row to the next
	passLanes  = 48 // of the last, incomplete vector of a row
	passP      = 56 // four arrays of a float32 a lane
	passSums   = 88 // what a reduction adds to
	passK      = 96 // scalars
)

// Comparison predicates.
const (
	notEqual       = 0x04 // or unordered
	notLessOrEqual = 0x16 // greater or unordered
)

// vectors writes instructions for one of the two vector sizes.
type vectors struct {
	*build.Context
	*tables
	avx512 bool
	suffix string
	bytes  int
}

func (v vectors) lanes() int { return v.bytes / 4 }

func (v vectors) vec() reg.VecVirtual {
	if v.avx512 {
		return v.ZMM()
	}
	return v.YMM()
}

// half is a register for half as many lanes: what a vector of as many float64 is converted from.
func (v vectors) half() reg.VecVirtual {
	if v.avx512 {
		return v.YMM()
	}
	return v.XMM()
}

func (v vectors) zero() reg.VecVirtual {
	z := v.vec()
	if v.avx512 {
		v.VPXORD(z, z, z)
	} else {
		v.VXORPS(z, z, z)
	}
	return z
}

// load reads a vector, with a mask the lanes in it and 0 in the others.
func (v vectors) load(m operand.Mem, x reg.VecVirtual, mask operand.Op) {
	switch {
	case mask == nil:
		v.VMOVUPS(m, x)
	case v.avx512:
		v.VMOVUPS_Z(m, mask, x)
	default:
		v.VMASKMOVPS(m, mask, x)
	}
}

// store writes a vector, with a mask only the lanes in it.
func (v vectors) store(x reg.VecVirtual, m operand.Mem, mask operand.Op) {
	switch {
	case mask == nil:
		v.VMOVUPS(x, m)
	case v.avx512:
		v.VMOVUPS(x, mask, m)
	default:
		v.VMASKMOVPS(x, mask, m)
	}
}

// tail makes the mask of the first n lanes of a vector or half a vector.
func (v vectors) tail(n reg.GPVirtual, half bool) operand.Op {
	t := v.GP64()
	if v.avx512 {
		k := v.K()
		v.MOVQ(operand.I32(-1), t)
		v.BZHIQ(n, t, t)
		v.KMOVW(t.As32(), k)
		return k
	}
	k := v.vec()
	if half {
		k = v.half()
	}
	v.LEAQ(v.mask.Offset(32), t)
	neg := v.GP64()
	v.MOVQ(n, neg)
	v.NEGQ(neg)
	v.VMOVUPS(operand.Mem{Base: t, Index: neg, Scale: 4}, k)
	return k
}

// keep clears the lanes of x in which a does not compare with b as the predicate says.
func (v vectors) keep(x reg.VecVirtual, predicate uint8, b operand.Op, a reg.VecVirtual) {
	if v.avx512 {
		k := v.K()
		v.VCMPPS(operand.U8(predicate), b, a, k)
		v.VMOVAPS_Z(x, k, x)
		return
	}
	c := v.YMM()
	if a.Size() == 16 {
		c = v.XMM()
	}
	v.VCMPPS(operand.U8(predicate), b, a, c)
	v.VANDPS(c, x, x)
}

// only clears the lanes of x outside of a mask.
func (v vectors) only(x reg.VecVirtual, mask operand.Op) {
	switch {
	case mask == nil:
	case v.avx512:
		v.VMOVAPS_Z(x, mask, x)
	default:
		v.VANDPS(mask, x, x)
	}
}

// scalar spreads scalar i of the pass over a vector.
func (v vectors) scalar(p reg.Register, i int) reg.VecVirtual {
	x := v.vec()
	v.VBROADCASTSS(operand.Mem{Base: p, Disp: passK + 4*i}, x)
	return x
}

// constant is a number in every lane: in a register where there are 32, else in memory.
func (v vectors) constant(name string) operand.Op {
	if !v.avx512 {
		return v.numbers[name]
	}
	x := v.ZMM()
	v.VBROADCASTSS(v.numbers[name], x)
	return x
}

// widen converts the halves of x to float64.
func (v vectors) widen(x reg.VecVirtual) (lo, hi reg.VecVirtual) {
	lo, hi = v.vec(), v.vec()
	h := v.half()
	if v.avx512 {
		v.VCVTPS2PD(x.AsY(), lo)
		v.VEXTRACTF64X4(operand.U8(1), x, h)
	} else {
		v.VCVTPS2PD(x.AsX(), lo)
		v.VEXTRACTF128(operand.U8(1), x, h)
	}
	v.VCVTPS2PD(h, hi)
	return lo, hi
}

// tables are the constants in memory.
type tables struct {
	mask    operand.Mem // eight lanes of ones, then eight of zeros
	numbers map[string]operand.Mem
}

func newTables(c *build.Context) *tables {
	t := &tables{c.StaticGlobal("passMask"), map[string]operand.Mem{}}
	c.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := range 16 {
		c.AddDatum(4*i, operand.U32(uint32(int32(i/8-1))))
	}
	gelu := -2 * math.Sqrt2 / math.Sqrt(math.Pi)
	add := func(name string, bits uint32) {
		t.numbers[name] = c.StaticGlobal("pass_" + name)
		c.DataAttributes(attr.RODATA | attr.NOPTR)
		for i := range 8 {
			c.AddDatum(4*i, operand.U32(bits))
		}
	}
	for _, n := range []struct {
		name  string
		value float64
	}{
		{"one", 1}, {"lowest", math.Inf(-1)},
		{"log2e", math.Log2E}, {"ln2High", 0.693359375}, {"ln2Low", -2.12194440e-4}, {"expLow", -104.5}, {"expHigh", 89},
		{"exp2", 5.0000001201e-1}, {"exp3", 1.6666665459e-1}, {"exp4", 4.1665795894e-2},
		{"exp5", 8.3334519073e-3}, {"exp6", 1.3981999507e-3}, {"exp7", 1.9875691500e-4},
		{"geluLinear", gelu}, {"geluCube", gelu * 0.044715}, {"geluCube3", 3 * gelu * 0.044715}, {"geluLow", -10}, {"geluHigh", 10},
	} {
		add(n.name, math.Float32bits(float32(n.value)))
	}
	add("bias127", 127)
	return t
}

// begin starts a kernel and loads its argument.
func (v vectors) begin(name, doc string) reg.GPVirtual {
	v.Function(name + v.suffix)
	v.Attributes(attr.NOSPLIT)
	v.SignatureExpr("func(p *byte)")
	v.Pragma("noescape")
	v.Doc(name + v.suffix + " is " + doc + ".")
	p := v.GP64()
	v.Load(v.Param("p"), p)
	return p
}

func (v vectors) end() {
	v.VZEROUPPER()
	v.RET()
}

// place is one step of a stream kernel: a vector at the same place of every stream.
type place struct {
	vectors
	streams map[int]reg.GPVirtual
	offset  reg.GPVirtual
	disp    int
	mask    operand.Op
	step    int // counts the vectors of an unrolled loop
}

func (a place) mem(stream int) operand.Mem {
	return operand.Mem{Base: a.streams[stream], Index: a.offset, Scale: 1, Disp: a.disp}
}

func (a place) in(stream int) reg.VecVirtual {
	x := a.vec()
	a.load(a.mem(stream), x, a.mask)
	return x
}

func (a place) out(stream int, x reg.VecVirtual) { a.store(x, a.mem(stream), a.mask) }

// stream writes a kernel over N elements of the given streams. prepare loads what all steps share and returns the
// step, and what is to be done after the last.
func (v vectors) stream(name, doc string, unroll int, streams []int, prepare func(p reg.GPVirtual) (step func(place), finish func())) {
	p := v.begin(name, doc)
	a := place{vectors: v, streams: map[int]reg.GPVirtual{}, offset: v.GP64()}
	for _, s := range streams {
		r := v.GP64()
		v.MOVQ(operand.Mem{Base: p, Disp: s}, r)
		a.streams[s] = r
	}
	n := v.GP64()
	v.MOVQ(operand.Mem{Base: p, Disp: passN}, n)
	step, finish := prepare(p)
	v.XORQ(a.offset, a.offset)
	for _, u := range []int{unroll, 1} {
		label := map[bool]string{true: "many", false: "one"}[u > 1]
		v.Label(label)
		v.CMPQ(n, operand.U32(uint32(u*v.lanes())))
		v.JL(to(label + "Done"))
		for i := range u {
			a.disp, a.step = i*v.bytes, i
			step(a)
		}
		v.ADDQ(operand.U32(uint32(u*v.bytes)), a.offset)
		v.SUBQ(operand.U32(uint32(u*v.lanes())), n)
		v.JMP(to(label))
		v.Label(label + "Done")
		if unroll == 1 {
			break
		}
	}
	v.TESTQ(n, n)
	v.JE(to("finish"))
	a.mask, a.disp, a.step = v.tail(n, false), 0, 0
	step(a)
	v.Label("finish")
	if finish != nil {
		finish()
	}
	v.end()
}

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
	v.stream("passGELU", "y = a / (1 + exp(-2u)), u = √(2/π)·(a + 0.044715·a³)", 2, []int{passY, passA}, func(reg.GPVirtual) (func(place), func()) {
		exp := v.exp()
		linear, cube, one := v.constant("geluLinear"), v.constant("geluCube"), v.constant("one")
		return simple(func(s place) {
			x, e := s.in(passA), v.vec()
			v.VMULPS(x, x, e)
			u := v.vec()
			v.VMOVUPS(linear, u)
			v.VFMADD231PS(cube, e, u)
			v.VMULPS(x, u, u)
			exp(u)
			v.VADDPS(one, u, u)
			v.VDIVPS(u, x, x)
			s.out(passY, x)
		})
	})
	v.stream("passGELUBackward", "y = b times the derivative of GELU at a", 1, []int{passY, passA, passB}, func(reg.GPVirtual) (func(place), func()) {
		exp := v.exp()
		linear, cube, cube3, one := v.constant("geluLinear"), v.constant("geluCube"), v.constant("geluCube3"), v.constant("one")
		low, high := v.constant("geluLow"), v.constant("geluHigh")
		return simple(func(s place) {
			x, q := s.in(passA), v.vec()
			v.VMOVUPS(low, q)
			v.VMAXPS(x, q, x)
			v.VMOVUPS(high, q)
			v.VMINPS(x, q, x)
			v.VMULPS(x, x, q)
			u, slope := v.vec(), v.vec()
			v.VMOVUPS(linear, u)
			v.VMOVAPS(u, slope)
			v.VFMADD231PS(cube, q, u)
			v.VFMADD231PS(cube3, q, slope) // the derivative of -2u
			v.VMULPS(x, u, u)
			exp(u)
			e, sigma := v.vec(), v.vec()
			v.VMOVAPS(u, e)
			v.VADDPS(one, u, u)
			v.VMOVUPS(one, sigma)
			v.VDIVPS(u, sigma, sigma)
			v.VDIVPS(u, e, e) // 1 - sigma
			v.VMULPS(x, slope, slope)
			v.VMULPS(e, slope, slope)
			v.VMOVUPS(one, q)
			v.VSUBPS(slope, q, q) // 1 + x·(1-sigma)·(2u)'
			v.VMULPS(sigma, q, q)
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

// updates writes the steps of optimizers: y is the weight, a its gradient. Products and sums are rounded one by one, as Go does on amd64.
func (v vectors) updates() {
	v.stream("passSGD", "y -= k0·(a + k1·y)", 2, []int{passY, passA}, func(p reg.GPVirtual) (func(place), func()) {
		rate, decay := v.scalar(p, 0), v.scalar(p, 1)
		return simple(func(s place) {
			w, t := s.in(passY), v.vec()
			v.VMULPS(w, decay, t)
			v.VADDPS(t, s.in(passA), t)
			v.VMULPS(t, rate, t)
			v.VSUBPS(t, w, w)
			s.out(passY, w)
		})
	})
	v.stream("passMomentum", "b = k2·b + (a + k1·y), y -= k0·b", 2, []int{passY, passA, passB}, func(p reg.GPVirtual) (func(place), func()) {
		rate, decay, momentum := v.scalar(p, 0), v.scalar(p, 1), v.scalar(p, 2)
		return simple(func(s place) {
			w, b, t := s.in(passY), s.in(passB), v.vec()
			v.VMULPS(w, decay, t)
			v.VADDPS(t, s.in(passA), t)
			v.VMULPS(b, momentum, b)
			v.VADDPS(t, b, b)
			s.out(passB, b)
			v.VMULPS(b, rate, t)
			v.VSUBPS(t, w, w)
			s.out(passY, w)
		})
	})
	v.stream("passNesterov", "g = a + k1·y, b = k2·b + g, y -= k0·(g + k2·b)", 2, []int{passY, passA, passB}, func(p reg.GPVirtual) (func(place), func()) {
		rate, decay, momentum := v.scalar(p, 0), v.scalar(p, 1), v.scalar(p, 2)
		return simple(func(s place) {
			w, b, t := s.in(passY), s.in(passB), v.vec()
			v.VMULPS(w, decay, t)
			v.VADDPS(t, s.in(passA), t)
			v.VMULPS(b, momentum, b)
			v.VADDPS(t, b, b)
			s.out(passB, b)
			v.VMULPS(b, momentum, b)
			v.VADDPS(b, t, t)
			v.VMULPS(t, rate, t)
			v.VSUBPS(t, w, w)
			s.out(passY, w)
		})
	})
	v.stream("passAdam", "a step of Adam with first moment b and second moment c", 1, []int{passY, passA, passB, passC}, func(p reg.GPVirtual) (func(place), func()) {
		var k [9]reg.VecVirtual
		for i := range k {
			k[i] = v.scalar(p, i)
		}
		beta1, rest1, beta2, rest2, shrink, couple, root, epsilon, size := k[0], k[1], k[2], k[3], k[4], k[5], k[6], k[7], k[8]
		return simple(func(s place) {
			w, g, t := s.in(passY), s.in(passA), v.vec()
			v.VMULPS(w, couple, t)
			v.VADDPS(t, g, g)
			m, q := s.in(passB), s.in(passC)
			v.VMULPS(m, beta1, m)
			v.VMULPS(g, rest1, t)
			v.VADDPS(t, m, m)
			s.out(passB, m)
			v.VMULPS(q, beta2, q)
			v.VMULPS(g, rest2, t)
			v.VMULPS(g, t, t)
			v.VADDPS(t, q, q)
			s.out(passC, q)
			v.VSQRTPS(q, q)
			v.VDIVPS(root, q, q)
			v.VADDPS(epsilon, q, q)
			v.VMULPS(m, size, m)
			v.VDIVPS(q, m, m)
			v.VMULPS(w, shrink, w)
			v.VSUBPS(m, w, w)
			s.out(passY, w)
		})
	})
}

// accumulators are n sums, each in two vectors of float64, to be added to those in memory.
func (v vectors) accumulators(p reg.GPVirtual, n int) (acc []reg.VecVirtual, finish func()) {
	sums := v.GP64()
	v.MOVQ(operand.Mem{Base: p, Disp: passSums}, sums)
	for i := range 2 * n {
		acc = append(acc, v.vec())
		v.VMOVUPS(operand.Mem{Base: sums, Disp: i * v.bytes}, acc[i])
	}
	return acc, func() {
		for i, x := range acc {
			v.VMOVUPS(x, operand.Mem{Base: sums, Disp: i * v.bytes})
		}
	}
}

// rows is one row of a kernel over columns.
type rows struct {
	vectors
	p, offset reg.GPVirtual
	streams   map[int]reg.GPVirtual
	mask      operand.Op
	unit      int // bytes of a vector of the streams
}

func (r rows) mem(stream, i int) operand.Mem {
	return operand.Mem{Base: r.streams[stream], Index: r.offset, Scale: 1, Disp: i * r.unit}
}

func (r rows) reg() reg.VecVirtual {
	if r.unit == r.bytes {
		return r.vec()
	}
	return r.half()
}

func (r rows) in(stream, i int) reg.VecVirtual {
	x := r.reg()
	r.load(r.mem(stream, i), x, r.mask)
	return x
}

func (r rows) out(stream, i int, x reg.VecVirtual) { r.store(x, r.mem(stream, i), r.mask) }

// lanes loads n vectors of one of the arrays of a number a lane.
func (r rows) lanes(array, n int) (x []reg.VecVirtual) {
	base := r.GP64()
	r.MOVQ(operand.Mem{Base: r.p, Disp: passP + 8*array}, base)
	for i := range n {
		x = append(x, r.reg())
		r.load(operand.Mem{Base: base, Disp: i * r.unit}, x[i], r.mask)
	}
	return x
}

// sums loads the accumulators of n half vectors, first and second, from two arrays of float64.
func (r rows) sums(n int) (first, second []reg.VecVirtual, finish func()) {
	base, other := r.GP64(), r.GP64()
	r.MOVQ(operand.Mem{Base: r.p, Disp: passSums}, base)
	r.MOVQ(operand.Mem{Base: r.p, Disp: passP + 8*3}, other)
	move := func(store bool) {
		for i := range n {
			for j, x := range []reg.VecVirtual{first[i], second[i]} {
				m := operand.Mem{Base: []reg.GPVirtual{base, other}[j], Disp: i * r.bytes}
				switch {
				case store && r.mask == nil:
					r.VMOVUPD(x, m)
				case store && r.avx512:
					r.VMOVUPD(x, r.mask, m)
				case store:
					wide := r.YMM()
					r.VPMOVSXDQ(r.mask, wide)
					r.VMASKMOVPD(x, wide, m)
				case r.mask == nil:
					r.VMOVUPD(m, x)
				case r.avx512:
					r.VMOVUPD_Z(m, r.mask, x)
				default:
					wide := r.YMM()
					r.VPMOVSXDQ(r.mask, wide)
					r.VMASKMOVPD(m, wide, x)
				}
			}
		}
	}
	for range n {
		first, second = append(first, r.vec()), append(second, r.vec())
	}
	move(false)
	return first, second, func() { move(true) }
}

// columns writes a kernel over N rows of a block of columns, in two forms: a full block, and one vector with a mask. With
// wide set, the vectors of the streams are half as long, to be converted to float64.
func (v vectors) columns(name, doc string, wide bool, streams []int, prepare func(r rows, n int) (row func(r rows), finish func())) {
	for _, masked := range []bool{false, true} {
		suffix := ""
		if masked {
			suffix = "Masked"
		}
		p := v.begin(name+suffix, doc)
		r := rows{vectors: v, p: p, offset: v.GP64(), streams: map[int]reg.GPVirtual{}, unit: v.bytes}
		vectors := 2
		if v.avx512 {
			vectors = 4
		}
		if wide {
			r.unit, vectors = v.bytes/2, 2*vectors
		}
		if masked {
			vectors = 1
			n := v.GP64()
			v.MOVQ(operand.Mem{Base: p, Disp: passLanes}, n)
			r.mask = v.tail(n, wide)
		}
		for _, s := range streams {
			x := v.GP64()
			v.MOVQ(operand.Mem{Base: p, Disp: s}, x)
			r.streams[s] = x
		}
		n, stride := v.GP64(), v.GP64()
		v.MOVQ(operand.Mem{Base: p, Disp: passN}, n)
		v.MOVQ(operand.Mem{Base: p, Disp: passStride}, stride)
		row, finish := prepare(r, vectors)
		v.XORQ(r.offset, r.offset)
		v.Label("row")
		row(r)
		v.ADDQ(stride, r.offset)
		v.DECQ(n)
		v.JNE(to("row"))
		if finish != nil {
			finish()
		}
		v.end()
	}
}

// batchNorm writes the kernels in which every lane is a channel.
func (v vectors) batchNorm() {
	v.columns("passBias", "y = a + p0", false, []int{passY, passA}, func(r rows, n int) (func(rows), func()) {
		b := r.lanes(0, n)
		return func(r rows) {
			for i := range n {
				x := r.in(passA, i)
				v.VADDPS(b[i], x, x)
				r.out(passY, i, x)
			}
		}, nil
	})
	v.columns("passStatistics", "the sums of a and a² added to sums and p3", true, []int{passA}, func(r rows, n int) (func(rows), func()) {
		sum, square, finish := r.sums(n)
		return func(r rows) {
			for i := range n {
				d := v.vec()
				if r.mask != nil {
					v.VCVTPS2PD(r.in(passA, i), d)
				} else {
					v.VCVTPS2PD(r.mem(passA, i), d)
				}
				v.VADDPD(d, sum[i], sum[i])
				v.VFMADD231PD(d, d, square[i])
			}
		}, finish
	})
	for _, c := range []struct {
		name, doc string
		add, relu bool
	}{
		{"passNorm", "y = (a - p0)·p1 + p2", false, false},
		{"passNormReLU", "y = relu((a - p0)·p1 + p2)", false, true},
		{"passNormAddReLU", "y = relu((a - p0)·p1 + p2 + b)", true, true},
	} {
		streams := []int{passY, passA}
		if c.add {
			streams = append(streams, passB)
		}
		v.columns(c.name, c.doc, false, streams, func(r rows, n int) (func(rows), func()) {
			mean, scale, shift := r.lanes(0, n), r.lanes(1, n), r.lanes(2, n)
			zero := v.zero()
			return func(r rows) {
				for i := range n {
					x := r.in(passA, i)
					v.VSUBPS(mean[i], x, x)
					v.VFMADD213PS(shift[i], scale[i], x)
					if c.add {
						v.VADDPS(r.in(passB, i), x, x)
					}
					if c.relu {
						v.keep(x, notLessOrEqual, zero, x)
					}
					r.out(passY, i, x)
				}
			}, nil
		})
	}
	for _, c := range []struct {
		name, doc  string
		relu, skip bool
	}{
		{"passNormSums", "the sums of b and b·(a - p0) added to sums and p3", false, false},
		{"passNormReLUSums", "passNormSums with b only where c is not 0", true, false},
		{"passNormAddReLUSums", "passNormReLUSums that writes this b to y", true, true},
	} {
		streams := []int{passA, passB}
		if c.relu {
			streams = append(streams, passC)
		}
		if c.skip {
			streams = append(streams, passY)
		}
		v.columns(c.name, c.doc, true, streams, func(r rows, n int) (func(rows), func()) {
			var mean []reg.VecVirtual
			array := v.GP64()
			if v.avx512 {
				mean = r.lanes(0, n)
			} else {
				v.MOVQ(operand.Mem{Base: r.p, Disp: passP}, array)
			}
			sum, product, finish := r.sums(n)
			zero := r.reg()
			if v.avx512 {
				v.VPXORD(zero, zero, zero)
			} else {
				v.VXORPS(zero, zero, zero)
			}
			return func(r rows) {
				for i := range n {
					x, d := r.in(passA, i), r.in(passB, i)
					switch {
					case v.avx512:
						v.VSUBPS(mean[i], x, x)
					case r.mask != nil:
						m := r.reg()
						r.load(operand.Mem{Base: array}, m, r.mask)
						v.VSUBPS(m, x, x)
					default:
						v.VSUBPS(operand.Mem{Base: array, Disp: i * r.unit}, x, x)
					}
					if c.relu {
						v.keep(d, notEqual, zero, r.in(passC, i))
					}
					if c.skip {
						r.out(passY, i, d)
					}
					x64, d64 := v.vec(), v.vec()
					v.VCVTPS2PD(d, d64)
					v.VCVTPS2PD(x, x64)
					v.VADDPD(d64, sum[i], sum[i])
					v.VFMADD231PD(x64, d64, product[i])
				}
			}, finish
		})
	}
	for _, relu := range []bool{false, true} {
		name, doc, streams := "passNormBackward", "y = b·p1 + (a - p0)·p2 + p3", []int{passY, passA, passB}
		if relu {
			name, doc, streams = "passNormReLUBackward", doc+" with b only where c is not 0", append(streams, passC)
		}
		v.columns(name, doc, false, streams, func(r rows, n int) (func(rows), func()) {
			mean, scale, mul, add := r.lanes(0, n), r.lanes(1, n), r.lanes(2, n), r.lanes(3, n)
			zero := v.zero()
			return func(r rows) {
				for i := range n {
					x, d := r.in(passA, i), r.in(passB, i)
					if relu {
						v.keep(d, notEqual, zero, r.in(passC, i))
					}
					v.VSUBPS(mean[i], x, x)
					v.VFMADD213PS(add[i], mul[i], x)
					v.VFMADD231PS(scale[i], d, x)
					r.out(passY, i, x)
				}
			}, nil
		})
	}
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

// passes writes all one-pass kernels.
func passes(c *build.Context) {
	t := newTables(c)
	for _, v := range []vectors{{c, t, true, "AVX512", 64}, {c, t, false, "AVX2", 32}} {
		v.streams()
		v.batchNorm()
		v.pixels()
	}
}
