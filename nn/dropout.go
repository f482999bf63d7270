package nn

import (
	"gorgonia.org/gorgonia"

	"github.com/reprise-ml/reprise/nn/op"
)

// Dropout sets values of x, of any shape, to 0 with probability Rate and multiplies the others by
// 1/(1-Rate). An evaluation graph leaves it out. Which values depends on the seed, on the step (see
// [Scope.Ticker]) and on the place in the graph.
type Dropout struct {
	Rate float64 // at least 0, below 1
}

// Apply implements [Layer].
func (l Dropout) Apply(s *Scope, x *gorgonia.Node) *gorgonia.Node {
	if !s.Train() {
		return x
	}
	return s.Keep(op.Dropout(s.Pool(), x, float32(l.Rate), s.Ticker()))
}
