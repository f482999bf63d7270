package optim

import (
	"cmp"
	"errors"
)

// Warmup goes from From at 0, in a straight line, to what Then is at Over, and is Then from there on. Positions in Then count from 0, not
// from the end of the warm-up: the horizon of Then is the whole of training. With an Over of 0 it is Then.
type Warmup struct {
	From float64  `yaml:"from,omitempty"`
	Over float64  `yaml:"over,omitempty"` // a position
	Then Schedule `yaml:"then,omitempty"` // must not be nil
}

// Rate is the rate at t.
func (s Warmup) Rate(t float64) float64 {
	if max(t, 0) >= s.Over {
		return s.Then.Rate(t)
	}
	return between(s.From, s.Then.Rate(s.Over), fraction(t, s.Over))
}

// Check returns an error that names the setting out of range: every number must be finite and from 0, and Then valid.
func (s Warmup) Check() error {
	if s.Then == nil {
		return errors.New("optim: warm-up has no schedule to follow it (then)")
	}
	var then error
	if v, ok := s.Then.(interface{ Check() error }); ok {
		then = v.Check()
	}
	return cmp.Or(from0("from", s.From), from0("over", s.Over), then)
}
