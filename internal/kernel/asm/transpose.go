package main

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func transposes(c *build.Context) {
	transpose16(c)
	transpose8(c)
}

func transposeHead(c *build.Context, name, doc string) (dst, dstStride, src, srcStride reg.Register) {
	c.Function(name)
	c.Attributes(attr.NOSPLIT)
	c.Doc(doc)
	c.Pragma("noescape")
	c.SignatureExpr("func(dst *float32, dstStride int, src *float32, srcStride int)")
	return c.Load(c.Param("dst"), reg.RDI), c.Load(c.Param("dstStride"), reg.RSI),
		c.Load(c.Param("src"), reg.RAX), c.Load(c.Param("srcStride"), reg.RBX)
}

// transpose16 transposes a block of 16x16.
func transpose16(c *build.Context) {
	dst, dstStride, src, srcStride := transposeHead(c, "transpose16AVX512",
		"transpose16AVX512 sets the 16x16 block dst[k][j] = src[j][k]. Strides of rows are in bytes.")
	for i := range 16 {
		c.VMOVUPS(at(src, 0), zs[i])
		if i < 15 {
			c.ADDQ(srcStride, src)
		}
	}
	for i := 0; i < 16; i += 2 {
		c.VUNPCKLPS(zs[i+1], zs[i], zs[16+i])
		c.VUNPCKHPS(zs[i+1], zs[i], zs[17+i])
	}
	for q := range 4 {
		t := zs[16+4*q:]
		c.VUNPCKLPD(t[2], t[0], zs[4*q])
		c.VUNPCKHPD(t[2], t[0], zs[4*q+1])
		c.VUNPCKLPD(t[3], t[1], zs[4*q+2])
		c.VUNPCKHPD(t[3], t[1], zs[4*q+3])
	}
	// Lane l of register 4q+r now holds rows 4q to 4q+3 of column 4l+r.
	even, odd := operand.U8(0x88), operand.U8(0xdd)
	for r := range 4 {
		c.VSHUFF32X4(even, zs[4+r], zs[r], zs[16])
		c.VSHUFF32X4(odd, zs[4+r], zs[r], zs[17])
		c.VSHUFF32X4(even, zs[12+r], zs[8+r], zs[18])
		c.VSHUFF32X4(odd, zs[12+r], zs[8+r], zs[19])
		c.VSHUFF32X4(even, zs[18], zs[16], zs[20]) // column r
		c.VSHUFF32X4(odd, zs[18], zs[16], zs[21])  // column 8+r
		c.VSHUFF32X4(even, zs[19], zs[17], zs[22]) // column 4+r
		c.VSHUFF32X4(odd, zs[19], zs[17], zs[23])  // column 12+r
		for i, column := range []int{r, 8 + r, 4 + r, 12 + r} {
			c.IMUL3Q(operand.U32(uint32(column)), dstStride, reg.RCX)
			c.VMOVUPS(zs[20+i], operand.Mem{Base: dst, Index: reg.RCX, Scale: 1})
		}
	}
	c.VZEROUPPER()
	c.RET()
}

// transpose8 transposes a block of 8x8.
func transpose8(c *build.Context) {
	dst, dstStride, src, srcStride := transposeHead(c, "transpose8AVX2",
		"transpose8AVX2 sets the 8x8 block dst[k][j] = src[j][k]. Strides of rows are in bytes.")
	for i := range 8 {
		c.VMOVUPS(at(src, 0), ys[i])
		if i < 7 {
			c.ADDQ(srcStride, src)
		}
	}
	for i := 0; i < 8; i += 2 {
		c.VUNPCKLPS(ys[i+1], ys[i], ys[8+i])
		c.VUNPCKHPS(ys[i+1], ys[i], ys[9+i])
	}
	for q := range 2 {
		t := ys[8+4*q:]
		c.VUNPCKLPD(t[2], t[0], ys[4*q])
		c.VUNPCKHPD(t[2], t[0], ys[4*q+1])
		c.VUNPCKLPD(t[3], t[1], ys[4*q+2])
		c.VUNPCKHPD(t[3], t[1], ys[4*q+3])
	}
	// Lane l of register 4q+r now holds rows 4q to 4q+3 of column 4l+r.
	for l, lanes := range []uint8{0x20, 0x31} {
		for r := range 4 {
			c.VPERM2F128(operand.U8(lanes), ys[4+r], ys[r], ys[8])
			c.VMOVUPS(ys[8], at(dst, 0))
			if 4*l+r < 7 {
				c.ADDQ(dstStride, dst)
			}
		}
	}
	c.VZEROUPPER()
	c.RET()
}
