package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

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
