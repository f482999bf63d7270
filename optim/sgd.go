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

// Buffers is how many numbers are kept for each number of a weight: none
// without momentum.
func (o *SGD) Buffers() int {
	if o.Momentum == 0 {
		return 0
	}
	return 1
}

// Step updates the weights from their gradients. See the package comment.
func (o *SGD) Step(weights []gorgonia.ValueGrad) error {
	if err := o.Check(); err != nil {
		return err
	}
	kinds := []string{"momentum"}[:o.Buffers()]
	base, err := o.prepare(weights, o.Groups, 0.01, kinds...)
	if err != nil {
		return err
	}
	momentum := float32(o.Momentum)
	for i := range o.slots {
		s := &o.slots[i]
		s.descent.rate, s.descent.momentum, s.descent.decay = float32(base*s.rate), momentum, float32(decayOf(s, o.WeightDecay))
	}
	switch {
	case o.Momentum == 0:
		o.run(updatePlain)
	case o.Nesterov:
		o.run(updateNesterov)
	default:
		o.run(updateMomentum)
	}
	o.steps++
	return nil
}

func updatePlain(s *slot, lo, hi int) {
	kernel.SGD(s.weight[lo:hi], s.grad[lo:hi], s.descent.rate, s.descent.decay)
}

func updateMomentum(s *slot, lo, hi int) {
	d := &s.descent
	kernel.Momentum(s.weight[lo:hi], s.grad[lo:hi], s.buffers[0][lo:hi], d.rate, d.momentum, d.decay)
}

func updateNesterov(s *slot, lo, hi int) {
	d := &s.descent
	kernel.Nesterov(s.weight[lo:hi], s.grad[lo:hi], s.buffers[0][lo:hi], d.rate, d.momentum, d.decay)
}
