package echo

import (
	"fmt"
	"slices"
)

// Strategy is a place in the pipeline to echo at.
type Strategy string

// The places, in the order data flows. None is the baseline; Example,
// Augmentation and Batch are the strategies of the paper.
const (
	None         Strategy = "none"
	Read         Strategy = "read"         // the encoded bytes: every copy is decoded and augmented anew
	Example      Strategy = "example"      // the decoded example: every copy is augmented anew
	Augmentation Strategy = "augmentation" // the augmented example: copies are equal
	Batch        Strategy = "batch"        // the whole batch
)

// Strategies returns all strategies, None first.
func Strategies() []Strategy { return []Strategy{None, Read, Example, Augmentation, Batch} }

// Spec says where to echo and how often. The zero Spec does not echo.
type Spec struct {
	Strategy       Strategy `yaml:"strategy,omitempty"`        // default none
	Factor         Factor   `yaml:"factor,omitempty"`          // default 1 for none, 2 elsewhere
	Max            int      `yaml:"max,omitempty"`             // with the factor auto, uses of an item at most; default 16
	ShuffleBatches int      `yaml:"shuffle_batches,omitempty"` // buffer of whole batches after a batch echo; default 0: none
}

// WithDefaults fills what is not set.
func (s Spec) WithDefaults() Spec {
	if s.Strategy == "" {
		s.Strategy = None
	}
	switch {
	case s.Strategy == None:
		s.Factor, s.Max = 1, 0
	case s.Factor == 0:
		s.Factor = 2
	}
	if s.Factor == Auto && s.Max == 0 {
		s.Max = 16
	}
	return s
}

// Check reports what is wrong with s.
func (s Spec) Check() error {
	if s.Strategy == "" && (s.Factor > 1 || s.Factor == Auto) {
		return fmt.Errorf("echo: the factor is %v and there is no strategy, want one of %q", s.Factor, Strategies())
	}
	s = s.WithDefaults()
	if !slices.Contains(Strategies(), s.Strategy) {
		return fmt.Errorf("echo: the strategy is %q, want one of %q", s.Strategy, Strategies())
	}
	if s.ShuffleBatches < 0 {
		return fmt.Errorf("echo: shuffle_batches is %d, want 0 (none) or more", s.ShuffleBatches)
	}
	if s.ShuffleBatches > 1 && s.Strategy != Batch {
		return fmt.Errorf("echo: shuffle_batches is %d, which goes with the strategy batch, not %s", s.ShuffleBatches, s.Strategy)
	}
	if s.Max != 0 && s.Factor != Auto {
		return fmt.Errorf("echo: max is %d, which goes with the factor auto, not %v", s.Max, s.Factor)
	}
	if s.Factor == Auto && (s.Max < 1 || s.Max > MaxFactor) {
		return fmt.Errorf("echo: max is %d, want 1 to %d", s.Max, MaxFactor)
	}
	return s.Factor.Check()
}

// At returns the factor to echo by at a place: the Spec's at its own and 1 at
// every other.
func (s Spec) At(place Strategy) Factor {
	if s = s.WithDefaults(); s.Strategy == place {
		return s.Factor
	}
	return 1
}
