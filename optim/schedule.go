package optim

import (
	"cmp"
	"math"
)

// Schedule gives the learning rate at position t, which the caller counts from 0 in steps or in fresh examples.
// A schedule depends on t alone; a t below 0 counts as 0.
type Schedule interface{ Rate(t float64) float64 }

// Constant is one rate for ever.
type Constant struct {
	Value float64 `yaml:"value,omitempty"`
}

// Linear goes from From at 0 to To at Over, in a straight line, and stays there. With an Over of 0 it is To everywhere.
type Linear struct {
	From float64 `yaml:"from,omitempty"`
	To   float64 `yaml:"to,omitempty"`
	Over float64 `yaml:"over,omitempty"` // a position
}

// Cosine goes from From at 0 to To at Over along half a cosine, and stays there: To + (From-To)·(1+cos(π·t/Over))/2.
// With an Over of 0 it is To everywhere.
type Cosine struct {
	From float64 `yaml:"from,omitempty"`
	To   float64 `yaml:"to,omitempty"`
	Over float64 `yaml:"over,omitempty"` // a position
}

// Step begins with From and is multiplied by Factor at each position in At: From·Factor^n with n the number of At up to and including t.
type Step struct {
	From   float64   `yaml:"from,omitempty"`
	Factor float64   `yaml:"factor,omitempty"` // 0 means 0.1
	At     []float64 `yaml:"at,omitempty"`     // positions, in any order
}

// Exponential is From·Factor^(t/Every), without an end. With an Every of 0 it is From everywhere.
type Exponential struct {
	From      float64 `yaml:"from,omitempty"`
	Factor    float64 `yaml:"factor,omitempty"`    // 0 means 0.1
	Every     float64 `yaml:"every,omitempty"`     // a distance between positions, such as an epoch
	Staircase bool    `yaml:"staircase,omitempty"` // round t/Every down, so that the rate changes every so often
}

// Rate is Value whatever t is.
func (s Constant) Rate(float64) float64 { return s.Value }

// Rate is the rate at t.
func (s Linear) Rate(t float64) float64 { return between(s.From, s.To, fraction(t, s.Over)) }

// Rate is the rate at t.
func (s Cosine) Rate(t float64) float64 {
	return between(s.From, s.To, (1-math.Cos(math.Pi*fraction(t, s.Over)))/2)
}

// Rate is the rate at t.
func (s Step) Rate(t float64) float64 {
	rate := s.From
	for _, at := range s.At {
		if at <= max(t, 0) {
			rate *= or(s.Factor, 0.1)
		}
	}
	return rate
}

// Rate is the rate at t.
func (s Exponential) Rate(t float64) float64 {
	if s.Every == 0 {
		return s.From
	}
	n := max(t, 0) / s.Every
	if s.Staircase {
		n = math.Floor(n)
	}
	return s.From * math.Pow(or(s.Factor, 0.1), n)
}

// fraction is t/over within [0, 1], and 1 where over is 0.
func fraction(t, over float64) float64 {
	t = max(t, 0)
	if t >= over {
		return 1
	}
	return t / over
}

// between is a at 0 and b at 1, exactly, and never outside the two.
func between(a, b, fraction float64) float64 {
	if fraction == 1 {
		return b
	}
	return min(max(a+(b-a)*fraction, min(a, b)), max(a, b))
}

// Check returns an error that names the setting out of range: a rate must be finite and from 0.
func (s Constant) Check() error { return from0("value", s.Value) }

// Check returns an error that names the setting out of range: every number must be finite and from 0.
func (s Linear) Check() error {
	return cmp.Or(from0("from", s.From), from0("to", s.To), from0("over", s.Over))
}

// Check returns an error that names the setting out of range: every number must be finite and from 0.
func (s Cosine) Check() error {
	return cmp.Or(from0("from", s.From), from0("to", s.To), from0("over", s.Over))
}

// Check returns an error that names the setting out of range: every number must be finite and from 0.
func (s Step) Check() error {
	for _, at := range s.At {
		if err := from0("at", at); err != nil {
			return err
		}
	}
	return cmp.Or(from0("from", s.From), from0("factor", s.Factor))
}

// Check returns an error that names the setting out of range: every number must be finite and from 0.
func (s Exponential) Check() error {
	return cmp.Or(from0("from", s.From), from0("factor", s.Factor), from0("every", s.Every))
}
