package nn

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestConvolutionsLeaveInTheLayoutOfPyTorch(t *testing.T) {
	var p Params
	const height, width, in, out = 2, 3, 4, 5
	NewScope(&p, Config{}).Weight("w", Zeros, height, width, in, out)
	for i := range p.Lookup("w").Value.Float32s() {
		p.Lookup("w").Value.Float32s()[i] = float32(i)
	}
	w := p.Export()[0]
	if !slices.Equal(w.Shape, []int{out, in, height, width}) {
		t.Fatalf("shape %v", w.Shape)
	}
	i := 0
	for o := range out {
		for c := range in {
			for y := range height {
				for x := range width {
					if want := float32(((y*width+x)*in+c)*out + o); w.Data[i] != want {
						t.Fatalf("output %d, input %d, row %d, column %d is %v, want %v", o, c, y, x, w.Data[i], want)
					}
					i++
				}
			}
		}
	}
}

func TestImportUndoesExport(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shapes := rapid.SliceOfN(rapid.SliceOfN(rapid.IntRange(1, 5), 1, 4), 1, 5).Draw(t, "shapes")
		var p, q Params
		for i, shape := range shapes {
			NewScope(&p, Config{Seed: 1}).Weight(fmt.Sprint("w", i), Normal{1}, shape...)
			NewScope(&q, Config{Seed: 2}).Weight(fmt.Sprint("w", i), Normal{1}, shape...)
		}
		exported := p.Export()
		slices.Reverse(exported) // the order does not matter
		if err := q.Import(exported); err != nil {
			t.Fatal(err)
		}
		for a := range p.All() {
			if b := q.Lookup(a.Name); !slices.Equal(a.Value.Float32s(), b.Value.Float32s()) {
				t.Fatalf("%s%v differs", a.Name, a.Value.Shape())
			}
		}
	})
}

func TestExportIsACopy(t *testing.T) {
	var p Params
	NewScope(&p, Config{}).Weight("w", Ones, 2)
	p.Export()[0].Data[0] = 7
	if got := p.Lookup("w").Value.Float32s()[0]; got != 1 {
		t.Errorf("the weight is %v", got)
	}
}

func TestImportNamesEverythingThatDoesNotFit(t *testing.T) {
	var p Params
	s := NewScope(&p, Config{})
	s.At("a").Weight("weight", Ones, 2, 3)
	s.At("b").Weight("weight", Ones, 2)
	s.At("c").Statistics(2)
	fits := func() []Tensor {
		return append(p.Export(), Tensor{Name: "c.num_batches_tracked", Data: []float32{8}})
	}
	if err := p.Import(fits()); err != nil {
		t.Errorf("an exact match gives the error %v", err)
	}
	bad := fits()
	bad[0].Shape = []int{3, 2}
	bad[1].Name = "b.scale"
	bad[2].Data = []float32{1}
	bad[3].Data = []float32{5, 5}
	bad = append(bad, bad[3])
	err := p.Import(bad)
	for _, want := range []string{
		"a.weight has shape [3 2], want [2 3]", "missing b.weight", "unexpected b.scale",
		"c.running_mean has 1 values for shape [2]", "twice c.running_var",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	if got := p.Lookup("c.running_var").Value.Float32s(); !slices.Equal(got, []float32{1, 1}) {
		t.Errorf("a refused import changed running_var to %v", got)
	}
}

func TestOnlyMatricesAndKernelsDecay(t *testing.T) {
	var p Params
	s := NewScope(&p, Config{})
	s.Apply("conv", Conv{Out: 4, Kernel: 3, Bias: true}, images(s, 2, 5, 5, 3))
	s.At("norm").Statistics(4)
	s.At("fc").Weight("weight", Ones, 2, 4)
	want := map[string]Param{
		"conv.weight":       {Trainable: true, Decay: true},
		"conv.bias":         {Trainable: true},
		"norm.running_mean": {},
		"norm.running_var":  {},
		"fc.weight":         {Trainable: true, Decay: true},
	}
	n := 0
	for q := range p.All() {
		if w, ok := want[q.Name]; !ok || q.Trainable != w.Trainable || q.Decay != w.Decay {
			t.Errorf("%s: trainable %v, decay %v", q.Name, q.Trainable, q.Decay)
		}
		n++
	}
	if n != len(want) || p.Count() != 4*27+4+8 {
		t.Errorf("%d Params with %d values", n, p.Count())
	}
}
