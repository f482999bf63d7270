package nn

import (
	"math"

	"gorgonia.org/gorgonia"

	"github.com/reprise-ml/reprise/nn/op"
)

// Linear is a fully connected layer: [rows, in] to [rows, Out]. Weight [Out, in] and bias [Out]
// begin uniform within ±1/√in, as in PyTorch.
type Linear struct {
	Out    int
	NoBias bool
	Init   Init // of the weight, if not as in PyTorch
}

// Apply implements [Layer].
func (l Linear) Apply(s *Scope, x *gorgonia.Node) *gorgonia.Node {
	if !s.wants(x, "rows", "features") {
		return x
	}
	in := x.Shape()[1]
	var uniform Init = Uniform{1 / math.Sqrt(float64(in))}
	init := l.Init
	if init == nil {
		init = uniform
	}
	w := s.Weight("weight", init, l.Out, in)
	var b *gorgonia.Node
	if !l.NoBias {
		b = s.Weight("bias", uniform, l.Out)
	}
	return s.Keep(op.Linear(s.Pool(), x, w, b))
}

// Flatten joins all dimensions but the first: [rows, a, b, …] to [rows, a·b·…]. An image goes in
// the order height, width, channels, other than in PyTorch.
type Flatten struct{}

// Apply implements [Layer].
func (Flatten) Apply(s *Scope, x *gorgonia.Node) *gorgonia.Node {
	if x.Dims() == 2 {
		return x
	}
	return s.Keep(op.Flatten(s.Pool(), x))
}
