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
	badCode    = 0xc0
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
	function(c, "decodeBlockBMI2", "is reader.block. R is the first field of a reader.", "func(r *uint64, dc *uint32, ac *uint32, coef *int16) (diff int32, last int)")
	r := c.Load(c.Param("r"), c.GP64()).(reg.GPVirtual)
	dc := c.Load(c.Param("dc"), c.GP64()).(reg.GPVirtual)
	ac := c.Load(c.Param("ac"), c.GP64()).(reg.GPVirtual)
	coef := c.Load(c.Param("coef"), c.GP64()).(reg.GPVirtual)
	b := &bits{Context: c, acc: c.GP64(), n: c.GP64(), next: c.GP64()}
	zig, k, e := c.GP64(), c.GP64(), c.GP64()
	c.MOVQ(at(r, offsetAcc), b.acc)
	c.MOVQ(at(r, offsetN), b.n)
	c.MOVQ(at(r, offsetNext), b.next)
	c.ADDQ(at(r, offsetData), b.next)
	c.LEAQ(order, zig)
	b.refill()
	b.look(dc, e)
	c.TESTL(operand.U32(0xc000), e.As32())
	c.JNZ(to("bad"))
	diff := b.take(e)
	c.Store(diff.As32(), c.Return("diff"))
	c.XORL(k.As32(), k.As32())

	c.Label("more")
	b.refill()
	var v reg.GPVirtual
	for range 2 {
		b.look(ac, e)
		x := b.take(e)
		if v == nil {
			v = c.GP64()
		}
		c.MOVQ(x, v)
		move := c.GP64()
		c.SHRL(operand.U8(8), e.As32())
		c.MOVBLZX(e.As8(), move.As32())
		c.ADDL(move.As32(), k.As32())
		c.CMPL(k.As32(), operand.U8(63))
		c.JAE(to("end"))
		c.MOVBLZX(operand.Mem{Base: zig, Index: k, Scale: 1}, move.As32())
		c.MOVW(v.As16(), operand.Mem{Base: coef, Index: move, Scale: 2})
	}
	c.JMP(to("more"))

	c.Label("end")
	c.JNE(to("none"))
	c.MOVW(v.As16(), at(coef, 2*63))
	c.JMP(to("done"))
	c.Label("none")
	c.SUBL(operand.U32(endOfBlock), k.As32())
	c.CMPL(k.As32(), operand.U8(63))
	c.JA(to("bad"))
	c.Label("done")
	c.SUBQ(at(r, offsetData), b.next)
	c.MOVQ(b.acc, at(r, offsetAcc))
	c.MOVQ(b.n, at(r, offsetN))
	c.MOVQ(b.next, at(r, offsetNext))
	c.Store(k, c.Return("last"))
	c.RET()

	c.Label("bad")
	c.MOVQ(operand.I32(-1), k)
	c.MOVL(operand.U32(0), e.As32())
	c.Store(e.As32(), c.Return("diff"))
	c.Store(k, c.Return("last"))
	c.RET()
	for _, link := range b.links {
		link()
	}
}
