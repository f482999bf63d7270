package main

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func prefetches(c *build.Context) {
	c.Function("prefetch")
	c.Attributes(attr.NOSPLIT)
	c.Doc("prefetch begins to load the given bytes, at least 1, to the caches. Addresses that do not exist do no harm.")
	c.SignatureExpr("func(at uintptr, bytes int)")
	at := c.Load(c.Param("at"), reg.RAX)
	left := c.Load(c.Param("bytes"), reg.RCX)
	c.Label("line")
	c.PREFETCHT0(operand.Mem{Base: at})
	c.ADDQ(operand.U32(64), at)
	c.SUBQ(operand.U32(64), left)
	c.JG(to("line"))
	c.RET()
}
