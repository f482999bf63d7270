package models

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Sampling is a way to draw a token from logits. The zero Sampling takes the most likely.
type Sampling struct {
	Temperature float64 // divides the logits; 0 means the most likely token, above 1 is more even than the model says
	TopK        int     // draw among so many of the most likely alone; 0 means all
}

// Draw returns the number of a token, the first of equals if that is the most likely one. It asks r, which may be nil then, for one number. NaN is never drawn where there is
// another logit.
func (s Sampling) Draw(logits []float32, r *rand.Rand) int {
	best := 0
	for i, v := range logits {
		if b := logits[best]; v > b || b != b {
			best = i
		}
	}
	if s.Temperature <= 0 || s.TopK == 1 {
		return best
	}
	least := float32(math.Inf(-1))
	if s.TopK > 0 && s.TopK < len(logits) {
		sorted := slices.Sorted(slices.Values(logits)) // NaN first
		least = sorted[len(sorted)-s.TopK]
	}
	share := func(v float32) float64 {
		if !(v >= least) {
			return 0
		}
		return math.Exp(float64(v-logits[best]) / s.Temperature)
	}
	total := 0.0
	for _, v := range logits {
		total += share(v)
	}
	at, last := r.Float64()*total, best
	for i, v := range logits {
		p := share(v)
		if p == 0 {
			continue
		}
		if last = i; at < p {
			return i
		}
		at -= p
	}
	return last // rounding
}
