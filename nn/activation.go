package nn

import (
	"gorgonia.org/gorgonia"

	"github.com/reprise-ml/reprise/nn/op"
)

// ReLU is max(0, x), of any shape.
type ReLU struct{}

// Apply implements [Layer].
func (ReLU) Apply(s *Scope, x *gorgonia.Node) *gorgonia.Node { return s.Keep(op.ReLU(s.Pool(), x)) }

// GELU is x·Φ(x), of any shape, Φ being the distribution function of the normal distribution: PyTorch's default, without an approximation.
type GELU struct{}

// Apply implements [Layer].
func (GELU) Apply(s *Scope, x *gorgonia.Node) *gorgonia.Node { return s.Keep(op.GELU(s.Pool(), x)) }
