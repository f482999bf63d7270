package nn

import (
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// input returns an input of the graph of s with a value of zeros.
func input(s *Scope, name string, of tensor.Dtype, shape ...int) *gorgonia.Node {
	return gorgonia.NewTensor(s.Graph(), of, len(shape), gorgonia.WithName(name), gorgonia.WithShape(shape...),
		gorgonia.WithValue(tensor.New(tensor.Of(of), tensor.WithShape(shape...))))
}

// images returns a float32 input called x with values from -1 to 1.
func images(s *Scope, shape ...int) *gorgonia.Node {
	x := input(s, "x", tensor.Float32, shape...)
	Uniform{1}.Fill(floats(x.Value()), nil, generator(1, "x"))
	return x
}

func floats(v gorgonia.Value) []float32 { return v.(*tensor.Dense).Float32s() }

// compute runs the graph of s for n and returns its value.
func compute(t *testing.T, s *Scope, n *gorgonia.Node) []float32 {
	t.Helper()
	m, err := s.Compile(n)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.RunAll(); err != nil {
		t.Fatal(err)
	}
	return floats(m.Value(n))
}
