package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Offsets of the fields of jpeg.reader.
const (
	offsetAcc  = 0
	offsetN    = 8
	offsetNext = 16
	offsetData = 24
)

// Parts of an entry of a look-up table; see jpeg.huffman.
const (
	lookBits   = 10
	secondBits = 6
	endOfBlock = 0x80
)

// Offsets of the fields of jpeg.job, and its size.
const (
	jobDC = 8 * iota
	jobAC
	jobAt
	jobStep
	jobPred
	jobLimit
	jobSize
)

// transposed is the table of that name in package jpeg.
var transposed = [64]byte{
	0, 8, 1, 2, 9, 16, 24, 17,
	10, 3, 4, 11, 18, 25, 32, 40,
	33, 26, 19, 12, 5, 6, 13, 20,
	27, 34, 41, 48, 56, 49, 42, 35,
	28, 21, 14, 7, 15, 22, 29, 36,
	43, 50, 57, 58, 51, 44, 37, 30,
	23, 31, 38, 45, 52, 59, 60, 53,
	46, 39, 47, 54, 61, 62, 55, 63,
}

// bits is the state of a reader in registers.
type bits struct {
	*build.Context
	acc, n, next reg.GPVirtual
	links        []func() // what is out of line
}

func (b *bits) refill() {
	t := b.GP64()
	b.MOVQ(at(b.next, 0), t)
	b.BSWAPQ(t)
	b.SHRXQ(b.n, t, t)
	b.ORQ(t, b.acc)
	b.MOVL(operand.U32(63), t.As32())
	b.SUBL(b.n.As32(), t.As32())
	b.SHRL(operand.U8(3), t.As32())
	b.ADDQ(t, b.next)
	b.ORL(operand.U8(56), b.n.As32())
}

// look loads the entry of the next code.
func (b *bits) look(table reg.GPVirtual, e reg.GPVirtual) {
	i := len(b.links)
	again := fmt.Sprintf("found%d", i)
	t := b.GP64()
	b.MOVQ(b.acc, t)
	b.SHRQ(operand.U8(64-lookBits), t)
	b.MOVL(operand.Mem{Base: table, Index: t, Scale: 4}, e.As32())
	b.TESTL(e.As32(), e.As32())
	b.JS(to(fmt.Sprintf("link%d", i)))
	b.Label(again)
	b.links = append(b.links, func() {
		b.Label(fmt.Sprintf("link%d", i))
		b.MOVQ(b.acc, t)
		b.SHLQ(operand.U8(lookBits), t)
		b.SHRQ(operand.U8(64-secondBits), t)
		b.ANDL(operand.U32(1<<31-1), e.As32())
		b.ADDQ(e, t)
		b.MOVL(operand.Mem{Base: table, Index: t, Scale: 4}, e.As32())
		b.JMP(to(again))
	})
}

// take drops code and value of e and returns the value.
func (b *bits) take(e reg.GPVirtual) reg.GPVirtual {
	x, t, sign := b.GP64(), b.GP64(), b.GP64()
	b.MOVL(e.As32(), t.As32())
	b.SHRL(operand.U8(16), t.As32())
	b.SHLXQ(t, b.acc, x)
	b.SHLXQ(e, b.acc, b.acc)
	b.MOVL(e.As32(), t.As32())
	b.ANDL(operand.U8(63), t.As32())
	b.SUBL(t.As32(), b.n.As32())
	b.MOVQ(x, sign)
	b.NOTQ(sign)
	b.SARQ(operand.U8(63), sign)
	b.XORQ(sign, x)
	b.SHRQ(operand.U8(1), x)
	b.MOVL(e.As32(), t.As32())
	b.SHRL(operand.U8(24), t.As32())
	b.SHRXQ(t, x, x)
	b.XORQ(sign, x)
	b.SUBQ(sign, x)
	return x
}

// block writes the decoding of a block.
func block(c *build.Context) {
	order := c.StaticGlobal("transposedBytes")
	c.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := 0; i < 64; i += 8 {
		v := uint64(0)
		for j := range 8 {
			v |= uint64(transposed[i+j]) << (8 * j)
		}
		c.AddDatum(i, operand.U64(v))
	}
	function(c, "decodeBlocksBMI2", "is reader.blocks. R is the first field of a reader, and jobs is the first field of the first of n jobs.",
		"func(r *uint64, jobs **uint32, n int, mcus int, coef *int16, last *uint8, pred *int32, end int) (ok bool)")
	v := &vectors{Context: c}
	r, jobs := v.param("r"), v.param("jobs")
	b := &bits{Context: c, acc: c.GP64(), n: c.GP64(), next: c.GP64()}
	zig, k, e, coef, ac, job := c.GP64(), c.GP64(), c.GP64(), c.GP64(), c.GP64(), c.GP64()
	frame := c.AllocLocal(32)
	first, end, lastJob, mcus := frame, frame.Offset(8), frame.Offset(16), frame.Offset(24)
	t := c.GP64()
	c.MOVQ(jobs, first)
	v.LoadTo("n", t)
	c.IMUL3Q(operand.U32(jobSize), t, t)
	c.ADDQ(jobs, t)
	c.MOVQ(t, lastJob)
	v.LoadTo("end", t)
	c.ADDQ(at(r, offsetData), t)
	c.MOVQ(t, end)
	v.LoadTo("mcus", t)
	c.MOVQ(t, mcus)
	c.MOVQ(at(r, offsetAcc), b.acc)
	c.MOVQ(at(r, offsetN), b.n)
	c.MOVQ(at(r, offsetNext), b.next)
	c.ADDQ(at(r, offsetData), b.next)
	c.LEAQ(order, zig)

	c.Label("mcu")
	c.MOVQ(first, job)
	c.Label("block")
	c.MOVQ(at(job, jobDC), ac)
	b.refill()
	b.look(ac, e)
	c.TESTL(operand.U32(0xc000), e.As32())
	c.JNZ(to("bad"))
	diff := b.take(e)
	c.MOVQ(at(job, jobAC), ac)
	t = c.GP64()
	c.MOVQ(at(job, jobAt), t)
	c.SHLQ(operand.U8(7), t)
	v.LoadTo("coef", coef)
	c.ADDQ(t, coef)
	t = c.GP64()
	v.LoadTo("pred", t)
	c.ADDQ(at(job, jobPred), t)
	c.ADDL(at(t, 0), diff.As32())
	c.MOVL(diff.As32(), at(t, 0))
	c.MOVW(diff.As16(), at(coef, 0))
	c.MOVL(at(job, jobLimit), t.As32())
	c.ADDL(t.As32(), diff.As32())
	c.ADDL(t.As32(), t.As32())
	c.CMPL(diff.As32(), t.As32())
	c.JHI(to("bad"))
	c.XORL(k.As32(), k.As32())

	c.Label("more")
	b.refill()
	value := c.GP64()
	for range 2 {
		b.look(ac, e)
		c.MOVQ(b.take(e), value)
		move := c.GP64()
		c.SHRL(operand.U8(8), e.As32())
		c.MOVBLZX(e.As8(), move.As32())
		c.ADDL(move.As32(), k.As32())
		c.CMPL(k.As32(), operand.U8(63))
		c.JAE(to("end"))
		c.MOVBLZX(operand.Mem{Base: zig, Index: k, Scale: 1}, move.As32())
		c.MOVW(value.As16(), operand.Mem{Base: coef, Index: move, Scale: 2})
	}
	c.JMP(to("more"))

	c.Label("end")
	c.JNE(to("none"))
	c.MOVW(value.As16(), at(coef, 2*63))
	c.JMP(to("done"))
	c.Label("none")
	c.SUBL(operand.U32(endOfBlock), k.As32())
	c.CMPL(k.As32(), operand.U8(63))
	c.JHI(to("bad"))
	c.Label("done")
	last, t := c.GP64(), c.GP64()
	v.LoadTo("last", last)
	c.MOVQ(at(job, jobAt), t)
	c.MOVB(k.As8(), operand.Mem{Base: last, Index: t, Scale: 1})
	c.ADDQ(at(job, jobStep), t)
	c.MOVQ(t, at(job, jobAt))
	c.MOVQ(b.next, t) // no bits may have been taken after the end
	c.SUBQ(end, t)
	c.SHLQ(operand.U8(3), t)
	c.CMPQ(t, b.n)
	c.JGT(to("bad"))
	c.ADDQ(operand.U8(jobSize), job)
	c.CMPQ(job, lastJob)
	c.JNE(to("block"))
	c.DECQ(mcus)
	c.JNZ(to("mcu"))

	v.LoadTo("r", t)
	c.SUBQ(at(t, offsetData), b.next)
	c.MOVQ(b.acc, at(t, offsetAcc))
	c.MOVQ(b.n, at(t, offsetN))
	c.MOVQ(b.next, at(t, offsetNext))
	ok := c.GP8()
	c.MOVB(operand.U8(1), ok)
	c.Store(ok, c.Return("ok"))
	c.RET()

	c.Label("bad")
	ok = c.GP8()
	c.MOVB(operand.U8(0), ok)
	c.Store(ok, c.Return("ok"))
	c.RET()
	for _, link := range b.links {
		link()
	}
}
