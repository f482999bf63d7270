package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Offsets of the fields of kernel.brgemm.
const (
	offsetA = 8 * iota
	offsetB
	offsetC
	offsetBias
	offsetK
	offsetInner
	offsetOuter
	offsetAI
	offsetAK
	offsetBK
	offsetCI
	offsetAInner
	offsetBInner
	offsetAOuter
	offsetBOuter
	offsetFlags
	offsetMask
)

// Bits of kernel.brgemm.flags.
const (
	flagAccumulate = 1 << iota
	flagBias
	flagReLU
)

// The largest tiles whose sums fit into the registers, with one and two vectors a row.
const (
	rows512x1 = 28
	rows512x2 = 14
	rows256   = 6 // of two 256-bit vectors
)

func brgemms(c *build.Context) {
	for rows := 1; rows <= rows512x1; rows++ {
		newBRGEMM(c, rows, 1, true).generate()
	}
	for rows := 1; rows <= rows512x2; rows++ {
		newBRGEMM(c, rows, 2, true).generate()
	}
	for rows := 1; rows <= rows256; rows++ {
		newBRGEMM(c, rows, 2, false).generate()
	}
	for rows := 1; rows <= rows512x2; rows++ {
		g := newBRGEMM(c, rows, 1, true)
		g.lanewise = true
		g.generate()
	}
	for rows := 1; rows <= rows256; rows++ {
		g := newBRGEMM(c, rows, 2, false)
		g.lanewise = true
		g.generate()
	}
}

// brgemm is one batch-reduce micro-kernel: a tile of rows by vectors of the sum of many products.
type brgemm struct {
	*build.Context
	rows, vectors int
	wide          bool // 512 bits a vector, else 256
	lanewise      bool // a holds vectors, not numbers for all columns
	v             []reg.VecPhysical
	bases         []reg.GPPhysical // the address of every group-th row of a
	group         int              // rows addressed from one base
}

func newBRGEMM(c *build.Context, rows, vectors int, wide bool) *brgemm {
	g := &brgemm{Context: c, rows: rows, vectors: vectors, wide: wide, v: ys, group: 9}
	if wide {
		g.v = zs
	}
	if rows > 27 {
		g.group = 7
	}
	g.bases = []reg.GPPhysical{reg.RAX, reg.R8, reg.R9, reg.R10}[:(rows+g.group-1)/g.group]
	return g
}

func (g *brgemm) width() int {
	if g.wide {
		return 64
	}
	return 32
}

func (g *brgemm) name() string {
	kind, path := "brgemm", "AVX2"
	if g.lanewise {
		kind = "lanewise"
	}
	if g.wide {
		path = "AVX512"
	}
	return fmt.Sprintf("%s%dx%d%s", kind, g.rows, g.width()/4*g.vectors, path)
}

func (g *brgemm) sum(row, vector int) reg.VecPhysical { return g.v[row*g.vectors+vector] }

// spare are the registers without sums.
func (g *brgemm) spare() []reg.VecPhysical { return g.v[g.rows*g.vectors:] }

// The registers of the loops. s times i is the distance of row i from its base.
var (
	args                       = reg.RDI
	s, s3, s5, s7              = reg.RBX, reg.RCX, reg.RDX, reg.RSI
	bAt, ak, bk, kLeft, inLeft = reg.R11, reg.R12, reg.R13, reg.R15, reg.R14
)

// row is the address of a row of a.
func (g *brgemm) row(i int) operand.Mem {
	m := operand.Mem{Base: g.bases[i/g.group]}
	switch i % g.group {
	case 1, 2, 4, 8:
		m.Index, m.Scale = s, uint8(i%g.group)
	case 3:
		m.Index, m.Scale = s3, 1
	case 5:
		m.Index, m.Scale = s5, 1
	case 6:
		m.Index, m.Scale = s3, 2
	case 7:
		m.Index, m.Scale = s7, 1
	}
	return m
}

func (g *brgemm) generate() {
	g.Function(g.name())
	g.Attributes(attr.NOSPLIT)
	g.Pragma("noescape")
	g.Doc(fmt.Sprintf("%s computes a tile of %d rows and %d columns, see brgemm.", g.name(), g.rows, g.width()/4*g.vectors))
	g.SignatureExpr("func(args *byte)")
	g.Load(g.Param("args"), args)
	g.start()
	g.loops()
	g.epilogue()
	g.VZEROUPPER()
	g.RET()
}

func (g *brgemm) zero(v reg.VecPhysical) {
	if g.wide {
		g.VPXORD(v, v, v)
	} else {
		g.VXORPS(v, v, v)
	}
}

func (g *brgemm) start() {
	g.MOVQ(at(args, offsetAI), s)
	if g.rows > 3 {
		g.LEAQ(operand.Mem{Base: s, Index: s, Scale: 2}, s3)
		g.LEAQ(operand.Mem{Base: s, Index: s, Scale: 4}, s5)
		g.LEAQ(operand.Mem{Base: s3, Index: s, Scale: 4}, s7)
	}
	for i := range g.rows * g.vectors {
		g.zero(g.v[i])
	}
	g.MOVQ(at(args, offsetA), g.bases[0])
	g.MOVQ(at(args, offsetB), bAt)
	g.MOVQ(at(args, offsetAK), ak)
	g.MOVQ(at(args, offsetBK), bk)
}

func (g *brgemm) loops() {
	g.Label("outer")
	g.MOVQ(at(args, offsetInner), inLeft)
	g.Label("inner")
	for i := 1; i < len(g.bases); i++ {
		if g.group == 7 {
			g.LEAQ(operand.Mem{Base: g.bases[i-1], Index: s7, Scale: 1}, g.bases[i])
		} else {
			g.LEAQ(operand.Mem{Base: g.bases[i-1], Index: s, Scale: 8}, g.bases[i])
			g.ADDQ(s, g.bases[i])
		}
	}
	g.MOVQ(at(args, offsetK), kLeft)
	g.Label("k")
	b, broadcast := g.spare()[:g.vectors], g.spare()[g.vectors:]
	for j := range g.vectors {
		g.VMOVUPS(at(bAt, j*g.width()), b[j])
	}
	for i := range g.rows {
		if g.lanewise {
			for j := range g.vectors {
				a := g.row(i)
				a.Disp = j * g.width()
				g.VFMADD231PS(a, b[j], g.sum(i, j))
			}
			continue
		}
		if g.wide && g.vectors == 1 {
			g.VFMADD231PS_BCST(g.row(i), b[0], g.sum(i, 0))
			continue
		}
		a := broadcast[i%len(broadcast)]
		g.VBROADCASTSS(g.row(i), a)
		for j := range g.vectors {
			g.VFMADD231PS(b[j], a, g.sum(i, j))
		}
	}
	for _, base := range g.bases {
		g.ADDQ(ak, base)
	}
	g.ADDQ(bk, bAt)
	g.DECQ(kLeft)
	g.JNE(to("k"))
	g.DECQ(inLeft)
	g.JE(to("innerDone"))
	g.ADDQ(at(args, offsetAInner), g.bases[0])
	g.ADDQ(at(args, offsetBInner), bAt)
	g.JMP(to("inner"))
	g.Label("innerDone")
	g.DECQ(at(args, offsetOuter))
	g.JE(to("done"))
	g.ADDQ(at(args, offsetAOuter), g.bases[0])
	g.ADDQ(at(args, offsetBOuter), bAt)
	g.JMP(to("outer"))
	g.Label("done")
}

func (g *brgemm) epilogue() {
	c, ci, p, flags := reg.RAX, reg.RBX, reg.RCX, reg.RDX
	masks := []reg.OpmaskPhysical{reg.K1, reg.K2}
	g.MOVQ(at(args, offsetC), c)
	g.MOVQ(at(args, offsetCI), ci)
	g.MOVQ(at(args, offsetFlags), flags)
	if g.wide {
		for j := range g.vectors {
			g.KMOVW(at(args, offsetMask+2*j), masks[j])
		}
	}
	load := func(base reg.Register, j int, v reg.VecPhysical) {
		if g.wide {
			g.VMOVUPS_Z(at(base, 64*j), masks[j], v)
		} else {
			g.VMOVUPS(at(base, 32*j), v)
		}
	}
	t := g.spare()
	g.TESTQ(operand.U32(flagAccumulate), flags)
	g.JE(to("accumulated"))
	g.MOVQ(c, p)
	for i := range g.rows {
		for j := range g.vectors {
			load(p, j, t[j])
			g.VADDPS(t[j], g.sum(i, j), g.sum(i, j))
		}
		if i+1 < g.rows {
			g.ADDQ(ci, p)
		}
	}
	g.Label("accumulated")
	g.TESTQ(operand.U32(flagBias), flags)
	g.JE(to("biased"))
	g.MOVQ(at(args, offsetBias), p)
	for j := range g.vectors {
		load(p, j, t[j])
	}
	for i := range g.rows {
		for j := range g.vectors {
			g.VADDPS(t[j], g.sum(i, j), g.sum(i, j))
		}
	}
	g.Label("biased")
	g.TESTQ(operand.U32(flagReLU), flags)
	g.JE(to("store"))
	g.zero(t[0])
	for i := range g.rows * g.vectors {
		g.VMAXPS(g.v[i], t[0], g.v[i]) // of a NaN and 0 comes what is written first here: the NaN
	}
	g.Label("store")
	for i := range g.rows {
		for j := range g.vectors {
			if g.wide {
				g.VMOVUPS(g.sum(i, j), masks[j], at(c, 64*j))
			} else {
				g.VMOVUPS(g.sum(i, j), at(c, 32*j))
			}
		}
		if i+1 < g.rows {
			g.ADDQ(ci, c)
		}
	}
}
