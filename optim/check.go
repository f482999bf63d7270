package optim

import (
	"errors"
	"fmt"
	"math"
)

// below1 returns an error unless v is in [0, 1). The key is the one in a spec.
func below1(key string, v float64) error {
	if !(v >= 0 && v < 1) {
		return fmt.Errorf("optim: %s is %g, expected a number from 0 and below 1", key, v)
	}
	return nil
}

// from0 returns an error unless v is finite and not negative.
func from0(key string, v float64) error {
	if !(v >= 0) || math.IsInf(v, 1) {
		return fmt.Errorf("optim: %s is %g, expected a finite number from 0", key, v)
	}
	return nil
}

func validGroups(groups []Group) error {
	for _, g := range groups {
		if g.Prefix == "" {
			return errors.New("optim: a group has no prefix")
		}
		if err := from0("rate", g.Rate); err != nil {
			return fmt.Errorf("%w, in group %q", err, g.Prefix)
		}
	}
	return nil
}

// or returns v, or fallback where v is 0.
func or(v, fallback float64) float64 {
	if v == 0 {
		return fallback
	}
	return v
}
