package optim

import (
	"cmp"
	"math"

	"gorgonia.org/gorgonia"

	"github.com/reprise-ml/reprise/internal/kernel"
)

// Adam is torch.optim.Adam. At step t, counted from 1:
//
//	g = grad + WeightDecay·w
//	m = Beta1·m + (1-Beta1)·g
//	v = Beta2·v + (1-Beta2)·g²
//	w = w - rate · m/(1-Beta1^t) / (√(v/(1-Beta2^t)) + Epsilon)
//
// The zero Adam has PyTorch's defaults. Before SetRate the rate is 0.001.
type Adam struct {
	Beta1       float64 `yaml:"beta1,omitempty"`        // in [0, 1); 0 means 0.9
	Beta2       float64 `yaml:"beta2,omitempty"`        // in [0, 1); 0 means 0.999
	Epsilon     float64 `yaml:"epsilon,omitempty"`      // from 0; 0 means 1e-8
	WeightDecay float64 `yaml:"weight_decay,omitempty"` // from 0; coupled: added to the gradient
	Groups      []Group `yaml:"groups,omitempty"`

	core `yaml:"-"`
}

// AdamW is torch.optim.AdamW: Adam whose decay is decoupled from the gradient. Before the step of Adam, without decay in g,
//
//	w = (1 - rate·WeightDecay)·w
//
// The zero AdamW is the zero Adam; PyTorch's default for WeightDecay is 0.01. Before SetRate the rate is 0.001.
type AdamW struct {
	Beta1       float64 `yaml:"beta1,omitempty"`        // in [0, 1); 0 means 0.9
	Beta2       float64 `yaml:"beta2,omitempty"`        // in [0, 1); 0 means 0.999
	Epsilon     float64 `yaml:"epsilon,omitempty"`      // from 0; 0 means 1e-8
	WeightDecay float64 `yaml:"weight_decay,omitempty"` // from 0; 0 means none
	Groups      []Group `yaml:"groups,omitempty"`

	core `yaml:"-"`
}

// Check returns an error that names the setting out of range. Step calls it too.
func (o *Adam) Check() error { return o.moments().check() }

// Check returns an error that names the setting out of range. Step calls it too.
func (o *AdamW) Check() error { return o.moments().check() }

// Step updates the weights from their gradients. See the package comment.
func (o *Adam) Step(weights []gorgonia.ValueGrad) error {
	return o.moments().step(&o.core, weights, false)
}

// Step updates the weights from their gradients. See the package comment.
func (o *AdamW) Step(weights []gorgonia.ValueGrad) error {
	return o.moments().step(&o.core, weights, true)
}

// Buffers is how many numbers are kept for each number of a weight.
func (o *Adam) Buffers() int { return 2 }

// Buffers is how many numbers are kept for each number of a weight.
func (o *AdamW) Buffers() int { return 2 }

func (o *Adam) moments() moments {
	return moments{or(o.Beta1, 0.9), or(o.Beta2, 0.999), or(o.Epsilon, 1e-8), o.WeightDecay, o.Groups}
}

func (o *AdamW) moments() moments {
	return moments{or(o.Beta1, 0.9), or(o.Beta2, 0.999), or(o.Epsilon, 1e-8), o.WeightDecay, o.Groups}
}

// moments is the settings of either, defaults filled in.
type moments struct {
	beta1, beta2, epsilon, decay float64
	groups                       []Group
}

func (o moments) check() error {
	return cmp.Or(below1("beta1", o.beta1), below1("beta2", o.beta2), from0("epsilon", o.epsilon),
		from0("weight_decay", o.decay), validGroups(o.groups))
}

func (o moments) step(c *core, weights []gorgonia.ValueGrad, decoupled bool) error {
	if err := o.check(); err != nil {
		return err
	}
	base, err := c.prepare(weights, o.groups, 0.001, "exp_avg", "exp_avg_sq")
	if err != nil {
		return err
	}
	c.steps++
	t := float64(c.steps)
	correction1, correction2 := 1-math.Pow(o.beta1, t), math.Sqrt(1-math.Pow(o.beta2, t))
	for i := range c.slots {
		s := &c.slots[i]
		rate, decay := base*s.rate, decayOf(s, o.decay)
		s.moments = kernel.Adam{
			Beta1: float32(o.beta1), Rest1: float32(1 - o.beta1),
			Beta2: float32(o.beta2), Rest2: float32(1 - o.beta2),
			Shrink: 1, Couple: float32(decay),
			Root: float32(correction2), Epsilon: float32(o.epsilon), Size: float32(rate / correction1),
		}
		if decoupled {
			s.moments.Shrink, s.moments.Couple = float32(1-rate*decay), 0
		}
	}
	c.run(updateMoments)
	return nil
}

func updateMoments(s *slot, lo, hi int) {
	s.moments.Step(s.weight[lo:hi], s.grad[lo:hi], s.buffers[0][lo:hi], s.buffers[1][lo:hi])
}
