package echo

import "math"

// Balance is what the two sides of an echo take while they run side by side,
// in seconds. Up is for a batch of fresh data: one over the throughput of
// everything left of the echo, with its workers, not the time that a batch is
// under way. Down is for a batch right of it: the slowest of the stages there,
// of which the training step is one.
//
// Where both sides compute on the same cores, these cannot give more than
// there is: Cores is their number, and CPUUp and CPUDown are the processor
// seconds of the same two batches. Zero Cores are no limit.
type Balance struct {
	Up      float64 `json:"t_up"`
	Down    float64 `json:"t_down"`
	CPUUp   float64 `json:"cpu_up,omitempty"`
	CPUDown float64 `json:"cpu_down,omitempty"`
	Cores   float64 `json:"cores,omitempty"`
}

// R is the ratio of the paper, Up / Down.
func (b Balance) R() float64 { return b.Up / b.Down }

// Time is that of a batch of fresh data with a factor e ≥ 1:
// max(Up, e·Down), equation 1 of the paper, or (CPUUp + e·CPUDown) / Cores
// where that is more.
func (b Balance) Time(e float64) float64 {
	return max(b.Up, e*b.Down, b.computing(e))
}

func (b Balance) computing(e float64) float64 {
	if b.Cores == 0 {
		return 0
	}
	return (b.CPUUp + e*b.CPUDown) / b.Cores
}

// Shared reports whether the cores are what decides the time at a factor.
func (b Balance) Shared(e float64) bool { return b.computing(e) > max(b.Up, e*b.Down) }

// Relative is the time of a batch of fresh data with a factor, relative to
// that without an echo: max(R, e) / max(R, 1), but where the cores are shared.
func (b Balance) Relative(e float64) float64 { return b.Time(e) / b.Time(1) }

// Speedup is the most that a factor can speed training up, which it does where
// a repeated example is worth a fresh one: min(e, R) for R ≥ 1 and 1 below,
// but where the cores are shared.
func (b Balance) Speedup(e float64) float64 { return e / b.Relative(e) }

// Free is the factor up to which a further use of an example costs no time.
func (b Balance) Free() float64 {
	free := b.Time(1) / b.Down
	if b.Cores > 0 && b.CPUDown > 0 {
		free = min(free, (b.Time(1)*b.Cores-b.CPUUp)/b.CPUDown)
	}
	return max(free, 1)
}

// Limit is the factor above which Speedup grows no more: R, or more where the
// cores are shared, and there it may be without a bound, +Inf.
func (b Balance) Limit() float64 {
	limit := max(b.R(), 1)
	if b.Cores == 0 {
		return limit
	}
	if spare := b.Cores*b.Down - b.CPUDown; spare > 0 {
		return max(limit, b.CPUUp/spare)
	}
	if b.CPUUp > 0 {
		return math.Inf(1)
	}
	return limit
}
