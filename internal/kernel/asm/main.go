// Command asm writes the assembly of package kernel and the Go declarations that go with it.
// It is its own module, so that nobody who uses Reprise needs avo. In the directory of the kernels:
//
//	go generate
//
// Every output is one entry of outputs and one file of this directory that generates it.
package main

import (
	"log"
	"os"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
)

var outputs = []struct {
	name     string // becomes name_amd64.s and name_amd64.go
	generate func(c *build.Context)
}{
	{"brgemm", brgemms},
	{"pause", pauses},
	{"prefetch", prefetches},
	{"transpose", transposes},
	{"passes", passes},
	{"attention", attention},
}

func main() {
	log.SetFlags(0)
	for _, o := range outputs {
		c := build.NewContext()
		c.ConstraintExpr("amd64,!purego")
		o.generate(c)
		if err := write(c, "../"+o.name+"_amd64"); err != nil {
			log.Fatalf("asm: %s: %v", o.name, err)
		}
	}
}

func write(c *build.Context, base string) error {
	f, err := c.Result()
	if err != nil {
		return err
	}
	if err := pass.Compile.Execute(f); err != nil {
		return err
	}
	config := printer.Config{Argv: []string{"go", "generate"}, Pkg: "kernel"}
	for ext, p := range map[string]printer.Printer{".s": printer.NewGoAsm(config), ".go": printer.NewStubs(config)} {
		text, err := p.Print(f)
		if err != nil {
			return err
		}
		if err := os.WriteFile(base+ext, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
