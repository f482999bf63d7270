package optim

import (
	"cmp"
	"errors"

	"gorgonia.org/gorgonia"

	"github.com/reprise-ml/reprise/internal/kernel"
)

// SGD is stochastic gradient descent with momentum, as torch.optim.SGD without dampening:
//
//	g = grad + WeightDecay·w
//	b = Momentum·b + g          // b is 0 at first
//	w = w - rate·b              // Nesterov: w - rate·(g + Momentum·b)
//
// The zero SGD is plain descent. Before SetRate the rate is 0.01.
type SGD struct {
	Momentum    float64 `yaml:"momentum"`               // in [0, 1); not to be changed to or from 0 after the first Step
	WeightDecay float64 `yaml:"weight_decay,omitempty"` // from 0; coupled: added to the gradient
	Nesterov    bool    `yaml:"nesterov"`               // needs a Momentum
	Groups      []Group `yaml:"groups,omitempty"`

	core `yaml:"-"`
}

// Check returns an error that names the setting out of range. Step calls it too.
func (o *SGD) Check() error {
	if o.Nesterov && o.Momentum == 0 {
		return errors.New("optim: nesterov needs a momentum above 0")
	}
	return cmp.Or(below1("momentum", o.Momentum), from0("weight_decay", o.WeightDecay), validGroups(o.Groups))
}

// Step updates the weights from their gradients. See the package comment.
func (o *SGD) Step(weights []gorgonia.ValueGrad) error {
	if err := o.Check(); err != nil {
		return err
	}
	kinds := []string{"momentum"}
	if o.Momentum == 0 {
		kinds = nil
	}
	base, err := o.prepare(weights, o.Groups, 0.01, kinds...)
	if err != nil {
		return err
	}
	momentum := float32(o.Momentum)
	for i := range o.slots {
		s := &o.slots[i]
		rate, decay := float32(base*s.rate), float32(decayOf(s, o.WeightDecay))
		switch {
		case o.Momentum == 0:
			kernel.SGD(s.weight, s.grad, rate, decay)
		case o.Nesterov:
			kernel.Nesterov(s.weight, s.grad, s.buffers[0], rate, momentum, decay)
		default:
			kernel.Momentum(s.weight, s.grad, s.buffers[0], rate, momentum, decay)
		}
	}
	o.steps++
	return nil
}
