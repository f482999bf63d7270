package nn

import (
	"fmt"
	"hash/fnv"

	"gorgonia.org/gorgonia"

	"github.com/reprise-ml/reprise/nn/op"
)

// Dropout sets values of x, of any shape, to 0 with probability Rate and multiplies the others by
// 1/(1-Rate). An evaluation graph leaves it out. Which values depends on the seed, on the step (see
// [Scope.Ticker]) and on the path, and where several have one path, on which of them it is.
type Dropout struct {
	Rate float64 // at least 0, below 1
}

// Apply implements [Layer].
func (l Dropout) Apply(s *Scope, x *gorgonia.Node) *gorgonia.Node {
	if !s.Train() {
		return x
	}
	return s.Keep(op.Dropout(s.Pool(), x, float32(l.Rate), s.place(), s.Ticker()))
}

// place returns a number for the next dropout at the path of s.
func (s *Scope) place() uint64 {
	n := s.dropouts[s.path]
	s.dropouts[s.path]++
	h := fnv.New64a()
	fmt.Fprintf(h, "%s#%d", s.path, n)
	return h.Sum64()
}
