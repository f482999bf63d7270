package experiments

import (
	"fmt"
	"slices"

	"github.com/reprise-ml/reprise/optim"
)

var schedules = []string{"constant", "linear", "cosine", "step", "exponential"}

func (r RateSpec) problems() []error {
	var errs []error
	bad := func(key, format string, args ...any) {
		errs = append(errs, fmt.Errorf("train.rate.%s: %s", key, fmt.Sprintf(format, args...)))
	}
	if !slices.Contains(schedules, r.Schedule) {
		bad("schedule", "is %q%s", r.Schedule, suggest(r.Schedule, schedules))
	}
	if r.Start <= 0 {
		bad("start", "is %g, want more than 0", r.Start)
	}
	if r.End < 0 {
		bad("end", "is %g, want 0 or more", r.End)
	}
	if !slices.IsSorted(r.At) || slices.ContainsFunc(r.At, func(at float64) bool { return at < 0 || at > 1 }) {
		bad("at", "is %v, want rising shares of the horizon, 0 to 1", r.At)
	}
	if r.Factor <= 0 || r.Factor > 1 {
		bad("factor", "is %g, want more than 0 and at most 1", r.Factor)
	}
	return errs
}

// over returns the schedule for a horizon and a warm-up in one unit.
func (r RateSpec) over(horizon, warmup float64) optim.Schedule {
	var s optim.Schedule
	switch r.Schedule {
	case "linear":
		s = optim.Linear{From: r.Start, To: r.End, Over: horizon}
	case "cosine":
		s = optim.Cosine{From: r.Start, To: r.End, Over: horizon}
	case "exponential":
		s = optim.Exponential{From: r.Start, Factor: r.End / r.Start, Every: horizon}
	case "step":
		at := make([]float64, len(r.At))
		for i, share := range r.At {
			at[i] = share * horizon
		}
		s = optim.Step{From: r.Start, Factor: r.Factor, At: at}
	default:
		s = optim.Constant{Value: r.Start}
	}
	if warmup > 0 {
		s = optim.Warmup{Over: warmup, Then: s}
	}
	return s
}
