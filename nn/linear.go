package nn

import (
	"math"

	"gorgonia.org/gorgonia"

	"github.com/reprise-ml/reprise/nn/op"
)

// Linear is a fully connected layer: [..., in] to [..., Out]. Weight [Out, in] and bias [Out]
// begin uniform within ±1/√in, as in PyTorch.
type Linear struct {
	Out      int
	NoBias   bool
	Init     Init // of the weight, if not as in PyTorch
	BiasInit Init // of the bias, if not as in PyTorch
	GELU     bool // begin with a GELU, whose gradient then takes no pass of its own
}

// Apply implements [Layer].
func (l Linear) Apply(s *Scope, x *gorgonia.Node) *gorgonia.Node {
	if x.Dims() < 2 && !s.wants(x, "rows", "features") {
		return x
	}
	in := x.Shape()[x.Dims()-1]
	var uniform Init = Uniform{1 / math.Sqrt(float64(in))}
	init, biasInit := l.Init, l.BiasInit
	if init == nil {
		init = uniform
	}
	if biasInit == nil {
		biasInit = uniform
	}
	w := s.Weight("weight", init, l.Out, in)
	var b *gorgonia.Node
	if !l.NoBias {
		b = s.Weight("bias", biasInit, l.Out)
	}
	if l.GELU {
		return s.Keep(op.LinearOfGELU(s.Pool(), x, w, b))
	}
	return s.Keep(op.Linear(s.Pool(), x, w, b))
}

// Tied is a linear layer without bias whose weight [out, in] is that of another layer, a node from [Scope.Shared]: [..., in] to
// [..., out]. The gradient of the weight is the sum of both.
type Tied struct{ Weight *gorgonia.Node }

// Apply implements [Layer].
func (l Tied) Apply(s *Scope, x *gorgonia.Node) *gorgonia.Node {
	return s.Keep(op.Linear(s.Pool(), x, l.Weight, nil))
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
