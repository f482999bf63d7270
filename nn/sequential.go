package nn

import (
	"fmt"
	"strconv"

	"gorgonia.org/gorgonia"
)

// Sequential applies its layers in order. Their names are 0, 1, 2, … as in PyTorch.
type Sequential []Layer

// Apply implements [Layer].
func (l Sequential) Apply(s *Scope, x *gorgonia.Node) *gorgonia.Node {
	for i, layer := range l {
		x = s.Apply(strconv.Itoa(i), layer, x)
	}
	return x
}

// Residual is Body(x) + Shortcut(x), which must have one shape. The path of Body is that of the
// Residual; Shortcut is called shortcut, and nil stands for x itself.
type Residual struct{ Body, Shortcut Layer }

// Apply implements [Layer].
func (l Residual) Apply(s *Scope, x *gorgonia.Node) *gorgonia.Node {
	y := s.Apply("", l.Body, x)
	if l.Shortcut != nil {
		x = s.Apply("shortcut", l.Shortcut, x)
	}
	return s.Add(y, x)
}

// Single returns the model with one input and one output that is l. Given another number of
// inputs it reports an error.
func Single(l Layer) Model { return single{l} }

type single struct{ Layer Layer }

func (m single) Apply(s *Scope, inputs gorgonia.Nodes) gorgonia.Nodes {
	if len(inputs) != 1 {
		s.Fail(fmt.Errorf("a model of one input is given %d", len(inputs)))
		return inputs
	}
	return gorgonia.Nodes{s.Apply("", m.Layer, inputs[0])}
}
