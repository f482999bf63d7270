package nn

import (
	"gorgonia.org/gorgonia"

	"github.com/reprise-ml/reprise/nn/op"
)

// ReLU is max(0, x), of any shape.
type ReLU struct{}

// Apply implements [Layer].
func (ReLU) Apply(s *Scope, x *gorgonia.Node) *gorgonia.Node { return s.Keep(op.ReLU(s.Pool(), x)) }
