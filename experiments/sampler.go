package experiments

import (
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
)

// sampler draws tokens by their logits.
type sampler struct {
	Generation
	random *rand.Rand
	order  []int32   // tokens
	shares []float64 // of tokens, by their place in order
	last   int32
}

func newSampler(g Generation, vocabulary int) *sampler {
	return &sampler{
		Generation: g, random: rand.New(rand.NewPCG(g.Seed, 0)),
		order: make([]int32, vocabulary), shares: make([]float64, vocabulary),
	}
}

// token draws one by softmax(logits/temperature), over the TopK of the largest
// logits, of equal ones the first.
func (s *sampler) token(logits []float32) (int32, error) {
	for i, v := range logits {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return 0, errors.New("the output of the model is not finite: the weights are no good")
		}
		s.order[i] = int32(i)
	}
	k := len(logits)
	if s.TopK > 0 {
		k = min(k, s.TopK)
	}
	if s.Temperature == 0 {
		k = 1
	}
	slices.SortFunc(s.order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(logits[b], logits[a]), cmp.Compare(a, b))
	})
	first, total := float64(logits[s.order[0]]), 0.0
	for i, t := range s.order[:k] {
		s.shares[i] = 1
		if i > 0 {
			s.shares[i] = math.Exp((float64(logits[t]) - first) / s.Temperature)
		}
		total += s.shares[i]
	}
	at, n := s.random.Float64()*total, 0
	for n < k-1 && at >= s.shares[n] {
		at -= s.shares[n]
		n++
	}
	s.last = s.order[n]
	return s.last, nil
}
