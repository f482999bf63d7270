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
	passN      = 32  // elements, or rows
	passStride = 40  // bytes from a row to the next
	passLanes  = 48  // of the last, incomplete vector of a row
	passP      = 56  // five arrays of a float32 a lane
	passSums   = 96  // what a reduction adds to
	passK      = 104 // scalars
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

// newTables writes the constants of a file whose symbols begin with prefix.
func newTables(c *build.Context, prefix string) *tables {
	t := &tables{c.StaticGlobal(prefix + "Mask"), map[string]operand.Mem{}}
	c.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := range 16 {
		c.AddDatum(4*i, operand.U32(uint32(int32(i/8-1))))
	}
	add := func(name string, bits uint32) {
		t.numbers[name] = c.StaticGlobal(prefix + "_" + name)
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
		{"minusHalf", -0.5}, {"normalDensity", 1 / math.Sqrt(2*math.Pi)}, {"normalFar", 14}, {"normalScale", 0.34},
		{"normal1", 0.13557175370087057}, {"normal2", 0.13338628910034434}, {"normal3", 0.14454474585454968}, {"normal4", -0.009815661381600074},
		{"normal5", 0.24392359393604568}, {"normal6", -0.19030305595371588}, {"normal7", 0.04269234504804752},
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

// passes writes all one-pass kernels.
func passes(c *build.Context) {
	t := newTables(c, "pass")
	for _, v := range []vectors{{c, t, true, "AVX512", 64}, {c, t, false, "AVX2", 32}} {
		v.streams()
		v.batchNorm()
		v.pixels()
	}
}
