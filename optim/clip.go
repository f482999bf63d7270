package optim

import (
	"fmt"
	"math"

	"gorgonia.org/gorgonia"

	"github.com/reprise-ml/reprise/internal/kernel"
)

// ClipNorm scales all gradients by limit/norm, in place, if their global norm is above limit: norm = √Σ grad², over all elements of all
// gradients, in float64. It returns the norm before scaling. With limit 0 it only measures; a limit that is negative or NaN is an error.
// A norm that is NaN or infinite is returned as it is, without an error and with nothing scaled: the step has diverged.
// Gradients of two weights that are one tensor are scaled once and count twice.
func ClipNorm(weights []gorgonia.ValueGrad, limit float64) (norm float64, err error) {
	if !(limit >= 0) {
		return 0, fmt.Errorf("optim: ClipNorm to %g, expected a number from 0", limit)
	}
	var sum float64
	for i, w := range weights {
		_, g, err := slicesOf(w, i)
		if err != nil {
			return 0, err
		}
		sum += kernel.SumOfSquares(g)
	}
	norm = math.Sqrt(sum)
	if limit == 0 || !(norm > limit) || math.IsInf(norm, 1) {
		return norm, nil
	}
	factor := float32(limit / norm)
	for i, w := range weights {
		_, g, err := slicesOf(w, i)
		if err != nil {
			return 0, err
		}
		if !sharesGradient(weights[:i], g) {
			for j := range g {
				g[j] *= factor
			}
		}
	}
	return norm, nil
}

// sharesGradient reports whether one of the weights has g as its gradient.
func sharesGradient(weights []gorgonia.ValueGrad, g []float32) bool {
	if len(g) == 0 {
		return false
	}
	for i, w := range weights {
		if _, other, err := slicesOf(w, i); err == nil && len(other) > 0 && &other[0] == &g[0] {
			return true
		}
	}
	return false
}
