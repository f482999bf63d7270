package experiments

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/reprise-ml/reprise/echo"
)

// Control is a row of a comparison that repeats nothing: what echoing has to be compared with.
type Control string

// The controls.
const (
	// CacheControl keeps decoded records in memory, so that from the second epoch on reading costs nothing: what
	// echoing saves where the data set fits. It trains bit for bit as none does.
	CacheControl Control = "cache"
	// RateControl multiplies the learning rate by the factor, so that a step goes about as far as the steps of an
	// echo together: what a higher rate alone would bring. Nothing else changes.
	RateControl Control = "rate"
)

// cacheOfControl is the memory of CacheControl where the Spec has no cache.
const cacheOfControl Bytes = 2 << 30

// Arm is what the runs of one row of a comparison have in common.
type Arm struct {
	Strategy echo.Strategy `json:"strategy"`
	Factor   echo.Factor   `json:"factor"` // of RateControl, that of the rate
	Preset   echo.Preset   `json:"preset,omitempty"`
	Control  Control       `json:"control,omitempty"`
}

// String writes a as "example ×2".
func (a Arm) String() string { return a.name(a.Preset.Short(), " ×") }

// dir is the first part of the name of its runs.
func (a Arm) dir() string {
	if a.baseline() {
		return a.name("", "-") + "-1"
	}
	return a.name(string(a.Preset), "-")
}

// name has the factor, if there is one, behind a sign.
func (a Arm) name(preset, sign string) string {
	what := cmp.Or(string(a.Control), preset, string(a.Strategy))
	if a.baseline() || a.Control == CacheControl {
		return what
	}
	return what + sign + a.Factor.String()
}

// baseline reports whether a is none itself, not a control.
func (a Arm) baseline() bool { return a.Strategy == echo.None && a.Control == "" }

// of returns s as the runs of a have it.
func (a Arm) of(s Spec) Spec {
	e := echo.Spec{Preset: a.Preset, Strategy: a.Strategy, Factor: a.Factor}
	if a.Factor == echo.Auto {
		e.Max = s.Echo.Max
	}
	if a.Strategy == echo.Batch && a.Preset == "" {
		e.ShuffleBatches = s.Echo.ShuffleBatches
	}
	s.Echo = e.WithDefaults()
	switch a.Control {
	case CacheControl:
		s.Stages.Cache = cmp.Or(s.Stages.Cache, cacheOfControl)
	case RateControl:
		s.Train.Rate.Start *= float64(a.Factor)
		s.Train.Rate.End *= float64(a.Factor)
	}
	return s.preset()
}

// Arms returns the rows: none first where it is asked for, each other strategy once a factor, presets after them, and
// the controls last. What would train as another row does, or cannot, is left out, and named in notices.
func (c Comparison) Arms() (arms []Arm, notices []string, err error) {
	if c.Spec.Echo.Preset != "" {
		return nil, nil, fmt.Errorf("the spec has the echo.preset %s, and a comparison sets the echo itself; want it among the strategies", c.Spec.Echo.Preset)
	}
	asked := map[echo.Strategy]bool{}
	for _, s := range c.Strategies {
		if err := (echo.Spec{Strategy: s, Factor: 1}).Check(); err != nil && !slices.Contains(echo.Presets(), echo.Preset(s)) {
			return nil, nil, fmt.Errorf("%w, or a preset of %q", err, echo.Presets())
		}
		asked[s] = true
	}
	for _, f := range c.Factors {
		if err := f.Check(); err != nil {
			return nil, nil, err
		}
	}
	leave := func(what fmt.Stringer, why error) {
		notices = append(notices, fmt.Sprintf("%v is left out: %v", what, why))
	}
	for _, s := range echo.Strategies() {
		if !asked[s] {
			continue
		}
		if s == echo.None {
			arms = append(arms, Arm{Strategy: echo.None, Factor: 1})
			continue
		}
		one := c.Spec
		one.Echo.Strategy = s
		if err := one.echoesNothing(); err != nil {
			notices = append(notices, fmt.Sprintf("%s is left out: %v", s, err))
			continue
		}
		if s == echo.Read && asked[echo.Example] {
			notices = append(notices, "read trains bit for bit as example does; its row differs in cost only")
		}
		for _, f := range c.Factors {
			switch arm := (Arm{Strategy: s, Factor: f}); {
			case slices.Contains(arms, arm):
			case f == 1 && asked[echo.None]:
				notices = append(notices, fmt.Sprintf("%s with factor 1 is left out: it is none", s))
			default:
				arms = append(arms, arm)
			}
		}
	}
	for _, p := range echo.Presets() {
		for _, f := range c.Factors {
			arm := Arm{Strategy: p.Strategy(), Factor: f, Preset: p}
			if !asked[echo.Strategy(p)] || slices.Contains(arms, arm) {
				continue
			}
			if err := errors.Join(arm.of(c.Spec).problems()...); err != nil {
				leave(arm, err)
				continue
			}
			if p == echo.MinibatchPersistency && asked[echo.Batch] && c.Spec.Echo.ShuffleBatches < 2 {
				leave(arm, errors.New("it is batch"))
				continue
			}
			arms = append(arms, arm)
		}
	}
	if len(arms) == 0 {
		return nil, nil, errors.New("nothing to compare: no strategy is left")
	}
	if !c.Controls {
		return arms, notices, nil
	}
	arms = append(arms, Arm{Strategy: echo.None, Factor: 1, Control: CacheControl})
	for _, f := range c.Factors {
		arm := Arm{Strategy: echo.None, Factor: f, Control: RateControl}
		switch {
		case slices.Contains(arms, arm):
		case f == echo.Auto || f == 1:
			leave(arm, errors.New("a rate is multiplied by a number above 1"))
		default:
			arms = append(arms, arm)
		}
	}
	return arms, notices, nil
}

// fitting returns arms without a CacheControl whose data does not fit.
func (c Comparison) fitting(ctx context.Context, arms []Arm) ([]Arm, error) {
	i := slices.IndexFunc(arms, func(a Arm) bool { return a.Control == CacheControl })
	if i < 0 {
		return arms, nil
	}
	s, d, err := arms[i].of(c.Spec).Open()
	if err != nil {
		return nil, SpecError{err}
	}
	size, err := s.decodedBytes(ctx, d.Train)
	if err == nil && size > s.Stages.Cache {
		err = fmt.Errorf("decoded, the training data takes about %v, and the cache has %v (pipeline.cache)", size, s.Stages.Cache)
	}
	if err != nil {
		c.Notice(fmt.Sprintf("%v is left out: %v", arms[i], err))
		return slices.Delete(slices.Clone(arms), i, i+1), ctx.Err()
	}
	return arms, nil
}
