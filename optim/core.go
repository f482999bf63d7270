package optim

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gorgonia.org/gorgonia"

	"github.com/reprise-ml/reprise/internal/kernel"
)

// Group gives some weights a learning rate of their own. A weight belongs to the first group whose prefix its name has.
type Group struct {
	Prefix string  `yaml:"prefix,omitempty"` // of the weight's name, such as "fc."; a prefix that no weight has is an error of the first Step
	Rate   float64 `yaml:"rate,omitempty"`   // multiplies the optimizer's rate; above 0, 0 means 1
}

// core is what optimizers have in common: the rate, the count of steps and the buffers of each weight.
type core struct {
	rate  float64
	rated bool // whether rate was set

	steps  int64
	kinds  []string // names of the buffers a weight has
	slots  []slot   // one a weight, made at the first Step
	loaded []Vector // buffers given by SetState, until the first Step after it takes them

	pool   *kernel.Pool
	pieces []piece                   // all elements of the slots
	size   int                       // how many
	update func(s *slot, lo, hi int) // of the step at hand
	part   func(worker, part int)    // applies update to a piece
}

// piece is elements [lo, hi) of a slot.
type piece struct{ slot, lo, hi int }

// fewElements are updated sooner than threads meet.
const fewElements = 1 << 16

// slot is one weight.
type slot struct {
	name    string
	decay   bool
	rate    float64 // multiplier of its group
	buffers [][]float32

	weight, grad []float32 // of the step at hand

	descent struct{ rate, momentum, decay float32 } // its factors, of SGD
	moments kernel.Adam                             // and of Adam and AdamW
}

// SetRate sets the learning rate of the steps to come, a finite number from 0.
func (c *core) SetRate(rate float64) { c.rate, c.rated = rate, true }

// SetPool makes the steps to come run on the threads of p, which may be shared with the graph; nil, as at first, is the caller's
// alone. The bits of a step do not depend on it.
func (c *core) SetPool(p *kernel.Pool) { c.pool = p }

// State returns a copy of what a checkpoint must keep, apart from the settings and the rate: the count of steps and the buffers.
func (c *core) State() []Vector {
	state := []Vector{countVector("step", c.steps)}
	state = append(state, cloneVectors(c.loaded)...)
	return append(state, cloneVectors(c.buffers())...)
}

// SetState continues from a State of an optimizer with the same settings. It copies state, in whatever order it is.
// The next Step compares it with the weights and returns an error unless the names and sizes are the same.
func (c *core) SetState(state []Vector) error {
	if err := uniqueNames(state); err != nil {
		return fmt.Errorf("optim: %w", err)
	}
	steps, buffers, err := takeCount(state, "step")
	if err != nil {
		return fmt.Errorf("optim: %w", err)
	}
	c.steps, c.loaded, c.slots = steps, cloneVectors(buffers), nil
	return nil
}

// buffers returns the buffers by the names they have in a checkpoint.
func (c *core) buffers() []Vector {
	var out []Vector
	for k, kind := range c.kinds {
		for i := range c.slots {
			out = append(out, Vector{kind + "." + c.slots[i].name, c.slots[i].buffers[k]})
		}
	}
	return out
}

// prepare points the slots at the weights and gradients of a step, making them at the first, and returns the learning rate.
// kinds names the buffers that each weight needs.
func (c *core) prepare(weights []gorgonia.ValueGrad, groups []Group, defaultRate float64, kinds ...string) (rate float64, err error) {
	rate = defaultRate
	if c.rated {
		rate = c.rate
	}
	if !(rate >= 0) || math.IsInf(rate, 1) {
		return 0, fmt.Errorf("optim: rate is %g, expected a finite number from 0", rate)
	}
	if c.slots == nil {
		if err := c.bind(weights, groups, kinds); err != nil {
			return 0, err
		}
	}
	if len(weights) != len(c.slots) {
		return 0, fmt.Errorf("optim: %d weights, at the first step there were %d", len(weights), len(c.slots))
	}
	if !slices.Equal(kinds, c.kinds) {
		return 0, errors.New("optim: momentum was changed to or from 0 after the first step")
	}
	for i, w := range weights {
		s := &c.slots[i]
		if n, ok := w.(named); ok && n.Name() != s.name {
			return 0, fmt.Errorf("optim: weight %d is %s, at the first step it was %s", i, n.Name(), s.name)
		}
		if s.weight, s.grad, err = slicesOf(w, i); err != nil {
			return 0, err
		}
		for _, b := range s.buffers {
			if len(b) != len(s.weight) {
				return 0, fmt.Errorf("optim: weight %s has %d elements, at the first step it had %d", s.name, len(s.weight), len(b))
			}
		}
	}
	return rate, nil
}

// bind makes the slots and fills their buffers from what was loaded, if anything was.
func (c *core) bind(weights []gorgonia.ValueGrad, groups []Group, kinds []string) error {
	bound := core{kinds: slices.Clone(kinds), slots: make([]slot, len(weights))}
	used := make([]bool, len(groups))
	names := make(map[string]bool, len(weights))
	for i, w := range weights {
		weight, _, err := slicesOf(w, i)
		if err != nil {
			return err
		}
		s := slot{name: nameOf(w, i), decay: decays(w), rate: 1}
		if names[s.name] {
			return fmt.Errorf("optim: two weights are named %q", s.name)
		}
		names[s.name] = true
		if g := slices.IndexFunc(groups, func(g Group) bool { return strings.HasPrefix(s.name, g.Prefix) }); g >= 0 {
			used[g] = true
			if groups[g].Rate != 0 {
				s.rate = groups[g].Rate
			}
		}
		for range kinds {
			s.buffers = append(s.buffers, make([]float32, len(weight)))
		}
		bound.slots[i] = s
		for chunk := range kernel.Chunks(len(weight)) {
			lo, hi := kernel.Chunk(len(weight), chunk)
			bound.pieces = append(bound.pieces, piece{i, lo, hi})
		}
		bound.size += len(weight)
	}
	if g := slices.Index(used, false); g >= 0 {
		return fmt.Errorf("optim: group %q has no weight", groups[g].Prefix)
	}
	if c.steps > 0 || len(c.loaded) > 0 {
		if err := fill(bound.buffers(), c.loaded); err != nil {
			return fmt.Errorf("optim: %w", err)
		}
	}
	c.kinds, c.slots, c.loaded = bound.kinds, bound.slots, nil
	c.pieces, c.size, c.part = bound.pieces, bound.size, c.apply
	return nil
}

// run applies update, which writes elements [lo, hi) of a slot alone, to all elements of all slots.
func (c *core) run(update func(s *slot, lo, hi int)) {
	pool := c.pool
	if c.size < fewElements {
		pool = nil
	}
	c.update = update
	pool.Run(len(c.pieces), c.part)
	c.update = nil
}

func (c *core) apply(_, part int) {
	p := c.pieces[part]
	c.update(&c.slots[p.slot], p.lo, p.hi)
}

// decayOf is the weight decay of s.
func decayOf(s *slot, decay float64) float64 {
	if s.decay {
		return decay
	}
	return 0
}
