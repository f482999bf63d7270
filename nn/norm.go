package nn

import (
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
}

// Apply implements [Layer].
func (l BatchNorm) Apply(s *Scope, x *gorgonia.Node) *gorgonia.Node {
	if x.Dims() != 2 && !s.wants(x, "rows", "height", "width", "channels") {
		return x
	}
	channels := x.Shape()[x.Dims()-1]
	gamma := s.Weight("weight", Ones, channels)
	beta := s.Weight("bias", Zeros, channels)
	statistics := s.Statistics(channels)
	return s.Keep(op.BatchNorm(s.Pool(), x, gamma, beta, statistics, op.BatchNormConfig{
		Train: s.Train(), Momentum: float32(l.Momentum), Epsilon: float32(l.Epsilon), Ghost: l.Ghost,
	}))
}
