package nn

import (
	"errors"

	"gorgonia.org/gorgonia"

	"github.com/reprise-ml/reprise/nn/op"
)

// BatchNorm normalises every channel over the batch, then scales and shifts it: [rows, height,
// width, channels] or [rows, channels] to the same. A training graph uses the mean and variance of
// the batch, and moves the running ones towards them when its run is committed; an evaluation graph
// uses the running ones. Weight begins as 1, bias as 0.
type BatchNorm struct {
	Momentum float64 // of the running statistics; 0 means 0.1
	Epsilon  float64 // added to the variance; 0 means 1e-5
	Ghost    int     // rows that are normalised together; 0 means the whole batch
	ReLU     bool    // end with a ReLU, which then takes no pass of its own
}

// Apply implements [Layer].
func (l BatchNorm) Apply(s *Scope, x *gorgonia.Node) *gorgonia.Node { return l.apply(s, x, nil) }

// Plus returns the layer that is l with skip, a node of the shape of its input, added before the ReLU: the end of a residual
// block. It belongs to the graph of skip.
func (l BatchNorm) Plus(skip *gorgonia.Node) Layer { return batchNormPlus{l, skip} }

type batchNormPlus struct {
	BatchNorm
	skip *gorgonia.Node
}

// Apply implements [Layer].
func (l batchNormPlus) Apply(s *Scope, x *gorgonia.Node) *gorgonia.Node {
	return l.BatchNorm.apply(s, x, l.skip)
}

func (l BatchNorm) apply(s *Scope, x, skip *gorgonia.Node) *gorgonia.Node {
	if x.Dims() != 2 && !s.wants(x, "rows", "height", "width", "channels") {
		return x
	}
	channels := x.Shape()[x.Dims()-1]
	gamma := s.Weight("weight", Ones, channels)
	beta := s.Weight("bias", Zeros, channels)
	statistics := s.Statistics(channels)
	c := op.BatchNormConfig{Train: s.Train(), Momentum: float32(l.Momentum), Epsilon: float32(l.Epsilon), Ghost: l.Ghost}
	switch {
	case skip != nil && l.ReLU:
		return s.Keep(op.BatchNormAddReLU(s.Pool(), x, skip, gamma, beta, statistics, c))
	case l.ReLU:
		return s.Keep(op.BatchNormReLU(s.Pool(), x, gamma, beta, statistics, c))
	}
	y := s.Keep(op.BatchNorm(s.Pool(), x, gamma, beta, statistics, c))
	if skip == nil {
		return y
	}
	return s.Add(y, skip)
}

// LayerNorm normalises every row of [..., width] by its own mean and variance, then scales and shifts it. Weight [width] begins as 1, bias as 0.
type LayerNorm struct {
	Epsilon float64 // added to the variance; 0 means 1e-5
}

// Apply implements [Layer].
func (l LayerNorm) Apply(s *Scope, x *gorgonia.Node) *gorgonia.Node {
	if x.Dims() == 0 {
		s.Fail(errors.New("the input is a number, want [..., width]"))
		return x
	}
	width := x.Shape()[x.Dims()-1]
	gamma, beta := s.Weight("weight", Ones, width), s.Weight("bias", Zeros, width)
	epsilon := l.Epsilon
	if epsilon == 0 {
		epsilon = 1e-5
	}
	return s.Keep(op.LayerNorm(s.Pool(), x, gamma, beta, float32(epsilon)))
}
