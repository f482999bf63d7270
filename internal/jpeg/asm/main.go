// Command asm writes the assembly of package jpeg and the Go declarations that go with it.
// It is its own module, so that nobody who uses Reprise needs avo. In the directory of the package:
//
//	go generate
package main

import (
	"fmt"
	"log"
	"os"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
	"github.com/mmcloughlin/avo/reg"
)

func main() {
	log.SetFlags(0)
	c := build.NewContext()
	c.ConstraintExpr("amd64,!purego")
	block(c)
	for _, v := range []*vectors{{Context: c}, {Context: c, wide: true}} {
		v.inverse()
		v.vertical()
		v.horizontal()
		v.colours()
		v.normalize()
	}
	turn(c)
	spread(c)
	if err := write(c, "../kernels_amd64"); err != nil {
		log.Fatalf("asm: %v", err)
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
	config := printer.Config{Argv: []string{"go", "generate"}, Pkg: "jpeg"}
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

// function begins a function.
func function(c *build.Context, name, doc, signature string) {
	c.Function(name)
	c.Attributes(attr.NOSPLIT)
	c.Doc(name + " " + doc)
	c.Pragma("noescape")
	c.SignatureExpr(signature)
}

// at is the memory disp bytes after the address in base.
func at(base reg.Register, disp int) operand.Mem { return operand.Mem{Base: base, Disp: disp} }

// to is a jump's target.
func to(label string) operand.LabelRef { return operand.LabelRef(label) }

// vectors generates for one length of vectors, and keeps its constants.
type vectors struct {
	*build.Context
	wide      bool // 512 bits, else 256
	constants map[string]operand.Mem
}

// LoadTo loads a parameter into a register that is in use already.
func (v *vectors) LoadTo(name string, x reg.GPVirtual) { v.Load(v.Param(name), x) }

func (v *vectors) vec() reg.VecVirtual {
	if v.wide {
		return v.ZMM()
	}
	return v.YMM()
}

// size is the bytes of a vector.
func (v *vectors) size() int {
	if v.wide {
		return 64
	}
	return 32
}

// name is that of a function on this path.
func (v *vectors) name(base string) string {
	if v.wide {
		return base + "AVX512"
	}
	return base + "AVX2"
}

func (v *vectors) function(base, doc, signature string) {
	function(v.Context, v.name(base), doc, signature)
}

// constant is a vector that repeats values, all of one type.
func constant[T any](v *vectors, name string, values ...T) operand.Mem {
	name = v.name(name)
	if m, ok := v.constants[name]; ok {
		return m
	}
	if v.constants == nil {
		v.constants = map[string]operand.Mem{}
	}
	m := v.StaticGlobal(name)
	v.DataAttributes(attr.RODATA | attr.NOPTR)
	for at, i := 0, 0; at < v.size(); i++ {
		var c operand.Constant
		switch x := any(values[i%len(values)]).(type) {
		case float32:
			c = operand.F32(x)
		case uint16:
			c = operand.U16(x)
		case int32:
			c = operand.I32(x)
		case uint64:
			c = operand.U64(x)
		default:
			panic(fmt.Sprintf("asm: no constants of type %T", x))
		}
		v.AddDatum(at, c)
		at += c.Bytes()
	}
	v.constants[name] = m
	return m
}

func (v *vectors) load(m operand.Op, x reg.Register) {
	if v.wide {
		v.VMOVDQU64(m, x)
		return
	}
	v.VMOVDQU(m, x)
}

func (v *vectors) store(x reg.Register, m operand.Op) {
	if v.wide {
		v.VMOVDQU64(x, m)
		return
	}
	v.VMOVDQU(x, m)
}

// loop runs body n times; n counts down.
func loop(c *build.Context, label string, n reg.GPVirtual, body func()) {
	c.Label(label)
	body()
	c.DECQ(n)
	c.JNZ(to(label))
}
