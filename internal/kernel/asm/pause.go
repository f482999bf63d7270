package main

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
)

func pauses(c *build.Context) {
	c.Function("pause")
	c.Attributes(attr.NOSPLIT)
	c.Doc("pause waits a moment, in a way that spares a processor that shares its core with another.")
	c.SignatureExpr("func()")
	for range 4 {
		c.PAUSE()
	}
	c.RET()
}
