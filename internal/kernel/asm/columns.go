package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

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

// sums loads the accumulators of n half vectors from two arrays of float64.
func (r rows) sums(n int) (first, second []reg.VecVirtual, finish func()) {
	first, storeFirst := r.accumulate(passSums, n)
	second, storeSecond := r.accumulate(passP+8*3, n)
	return first, second, func() {
		storeFirst()
		storeSecond()
	}
}

// accumulate loads n vectors of float64 from the array whose address is in a field of the pass; finish stores them.
func (r rows) accumulate(field, n int) (sums []reg.VecVirtual, finish func()) {
	base := r.GP64()
	r.MOVQ(operand.Mem{Base: r.p, Disp: field}, base)
	mask := r.mask
	if mask != nil && !r.avx512 {
		mask = r.YMM()
		r.VPMOVSXDQ(r.mask, mask)
	}
	for i := range n {
		x, m := r.vec(), operand.Mem{Base: base, Disp: i * r.bytes}
		switch {
		case mask == nil:
			r.VMOVUPD(m, x)
		case r.avx512:
			r.VMOVUPD_Z(m, mask, x)
		default:
			r.VMASKMOVPD(m, mask, x)
		}
		sums = append(sums, x)
	}
	return sums, func() {
		for i, x := range sums {
			m := operand.Mem{Base: base, Disp: i * r.bytes}
			switch {
			case mask == nil:
				r.VMOVUPD(x, m)
			case r.avx512:
				r.VMOVUPD(x, mask, m)
			default:
				r.VMASKMOVPD(x, mask, m)
			}
		}
	}
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
