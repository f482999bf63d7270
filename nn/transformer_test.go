package nn

import (
	"math"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

func numbers(s *Scope, values ...int32) *gorgonia.Node {
	x := input(s, "numbers", tensor.Int32, 1, len(values))
	copy(x.Value().(*tensor.Dense).Int32s(), values)
	return x
}

func TestAnEmbeddingTakesRowsOfItsTable(t *testing.T) {
	var p Params
	s := NewScope(&p, Config{Seed: 1})
	y := s.Apply("tok", Embedding{Count: 50, Width: 30}, numbers(s, 3, 0, 3))
	got := compute(t, s, y)
	w := p.Lookup("tok.weight").Value.Float32s()
	if want := slices.Concat(w[90:120], w[:30], w[90:120]); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	sum := 0.0
	for _, v := range w {
		sum += float64(v) * float64(v)
	}
	if d := math.Sqrt(sum / 1500); math.Abs(d-1) > 0.1 {
		t.Errorf("the weight has deviation %v, want 1", d)
	}
}

func TestSinusoidsAreThoseOfThePaper(t *testing.T) {
	s := NewScope(new(Params), Config{})
	x := input(s, "x", tensor.Float32, 1, 3, 5)
	got := compute(t, s, s.Apply("pos", Position{Context: 4, Sinusoidal: true}, x))
	for at := range 3 {
		for i, want := range []float64{math.Sin(float64(at)), math.Cos(float64(at)), math.Sin(float64(at) / math.Pow(10000, 0.4)), math.Cos(float64(at) / math.Pow(10000, 0.4)), math.Sin(float64(at) / math.Pow(10000, 0.8))} {
			if math.Abs(float64(got[5*at+i])-want) > 1e-6 {
				t.Errorf("position %d, value %d is %v, want %v", at, i, got[5*at+i], want)
			}
		}
	}
}

func TestASharedWeightGetsTheSumOfItsGradients(t *testing.T) {
	var p Params
	gradient := func(tied bool) []float32 {
		s := NewScope(&p, Config{Train: true, Seed: 1})
		x := s.Apply("tok", Embedding{Count: 4, Width: 4}, numbers(s, 1, 2))
		var y *gorgonia.Node
		if tied {
			y = s.Apply("head", Tied{s.Shared("tok.weight")}, x)
		} else {
			copy(floats(s.At("head").Weight("weight", Zeros, 4, 4).Value()), p.Lookup("tok.weight").Value.Float32s())
			y = s.Apply("head", Tied{s.Shared("head.weight")}, x)
		}
		target := input(s, "target", tensor.Int32, 1, 2)
		weights := input(s, "weights", tensor.Float32, 1, 2)
		copy(floats(weights.Value()), []float32{1, 1})
		loss := CrossEntropy{}.Apply(s, gorgonia.Nodes{y}, gorgonia.Nodes{target}, weights)
		if s.Err() != nil {
			t.Fatal(s.Err())
		}
		grads, err := gorgonia.Grad(loss, s.Weights()...)
		if err != nil {
			t.Fatal(err)
		}
		m, err := s.Compile(grads...)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.RunAll(); err != nil {
			t.Fatal(err)
		}
		sum := make([]float32, 16)
		for _, g := range grads {
			for i, v := range floats(m.Value(g)) {
				sum[i] += v
			}
		}
		return sum
	}
	got, want := gradient(true), gradient(false)
	for i := range want {
		if math.Abs(float64(got[i]-want[i])) > 1e-6 {
			t.Errorf("gradient %d is %v, of two weights %v in all", i, got[i], want[i])
		}
	}
	s := NewScope(new(Params), Config{})
	s.Shared("tok.weight")
	if err := s.Err(); err == nil || !strings.Contains(err.Error(), "tok.weight is to be shared") {
		t.Errorf("error %v", err)
	}
}

func TestDropoutMasksStayWhenAnOpIsAddedElsewhere(t *testing.T) {
	run := func(more bool) (kept [2][]bool) {
		s := NewScope(new(Params), Config{Train: true, Seed: 3})
		x := images(s, 50, 4)
		y := x
		if more {
			y = s.Apply("more", Residual{Body: Sequential{}}, x)
		}
		a := s.Apply("drop", Dropout{Rate: 0.5}, y)
		b := s.Apply("drop", Dropout{Rate: 0.5}, y)
		m, err := s.Compile(a, b)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.RunAll(); err != nil {
			t.Fatal(err)
		}
		for i, n := range []*gorgonia.Node{a, b} {
			for _, v := range floats(m.Value(n)) {
				kept[i] = append(kept[i], v != 0)
			}
		}
		return kept
	}
	without, with := run(false), run(true)
	if !slices.Equal(without[0], with[0]) || !slices.Equal(without[1], with[1]) {
		t.Error("the masks changed")
	}
	if slices.Equal(with[0], with[1]) {
		t.Error("two dropouts of one path have one mask")
	}
}

func TestNamesOfOthersAreTakenWhereTheModelKnowsThem(t *testing.T) {
	var p Params
	s := NewScope(&p, Config{})
	s.Alias(func(name string) string {
		switch name {
		case "w":
			return "weight"
		case "buffer":
			return ""
		}
		return name
	})
	s.Weight("weight", Zeros, 2)
	w := Tensor{"w", []int{2}, []float32{1, 2}}
	if err := p.Import([]Tensor{w, {"buffer", []int{1}, []float32{0}}}); err != nil {
		t.Fatal(err)
	}
	if got := p.Lookup("weight").Value.Float32s(); !slices.Equal(got, w.Data) {
		t.Errorf("got %v", got)
	}
	for _, c := range []struct {
		tensors []Tensor
		want    string
	}{
		{[]Tensor{w, {"weight", []int{2}, w.Data}}, "twice weight"},
		{[]Tensor{w, {"v", []int{2}, w.Data}}, "unexpected v"},
		{nil, "missing weight"},
	} {
		if err := p.Import(c.tensors); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}
