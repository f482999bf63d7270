package augment

import (
	"math"
	"math/rand/v2"

	"github.com/reprise-ml/reprise/data"
)

// Mixup adds two pictures (Zhang et al. 2017, arXiv 1710.09412): λ·a + (1−λ)·b,
// with λ drawn from Beta(Alpha, Alpha) for each batch.
type Mixup struct {
	Alpha float64 `yaml:"alpha"` // the lower, the less is mixed; 0.1 to 0.4 for ImageNet; 0 means 1
}

// mix writes the mixtures of the rows of x with their partners to out, and
// returns λ.
func (m Mixup) mix(out []float32, x data.Array, partner []int, r *rand.Rand) float32 {
	share := float32(beta(orElse(m.Alpha, 1), r))
	n := len(x.F32) / len(partner)
	for i, j := range partner {
		a, b, to := x.F32[i*n:][:n], x.F32[j*n:][:n], out[i*n:][:n]
		for k, v := range a {
			to[k] = float32(share*v) + float32((1-share)*b[k])
		}
	}
	return share
}

// beta draws from Beta(a, a): G/(G+H) of two draws from Gamma(a), of which the
// logarithms are known, since for a small a they may be too small themselves.
func beta(a float64, r *rand.Rand) float64 {
	return 1 / (1 + math.Exp(logGamma(a, r)-logGamma(a, r)))
}

// logGamma draws the logarithm of a value from Gamma(a), a > 0: by Marsaglia
// and Tsang (2000) from Gamma(a+1), times U^(1/a).
func logGamma(a float64, r *rand.Rand) float64 {
	d := a + 1 - 1./3
	for {
		z := r.NormFloat64()
		v := 1 + z/math.Sqrt(9*d)
		if v <= 0 {
			continue
		}
		v *= v * v
		if u := 1 - r.Float64(); math.Log(u) < z*z/2+d*(1-v+math.Log(v)) {
			return math.Log(d*v) + math.Log(1-r.Float64())/a
		}
	}
}
