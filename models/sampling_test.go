package models

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestSamplingDrawsByTheSoftmaxOfWhatIsLeft(t *testing.T) {
	nan := float32(math.NaN())
	logits := []float32{1, nan, 3, 2, -4, 3.5}
	for _, c := range []struct {
		how  Sampling
		want []int // that may be drawn
	}{
		{Sampling{}, []int{5}},
		{Sampling{TopK: 3}, []int{5}},
		{Sampling{Temperature: 1, TopK: 1}, []int{5}},
		{Sampling{Temperature: 1, TopK: 3}, []int{2, 3, 5}},
		{Sampling{Temperature: 0.5}, []int{0, 2, 3, 4, 5}},
		{Sampling{Temperature: 2, TopK: 99}, []int{0, 2, 3, 4, 5}},
		{Sampling{Temperature: 1e-3}, []int{5}},
	} {
		const draws = 20000
		r := rand.New(rand.NewPCG(1, 2))
		counts := make([]float64, len(logits))
		for range draws {
			counts[c.how.Draw(logits, r)]++
		}
		var total float64
		share := make([]float64, len(logits))
		for _, i := range c.want {
			share[i] = 1
			if len(c.want) > 1 {
				share[i] = math.Exp(float64(logits[i]) / c.how.Temperature)
			}
			total += share[i]
		}
		for i, n := range counts {
			p := share[i] / total
			if d := math.Abs(n - draws*p); d > 4*math.Sqrt(draws*p*(1-p))+1e-6 {
				t.Errorf("%+v drew token %d %v times of %d, want %.0f", c.how, i, n, draws, draws*p)
			}
		}
	}
	if got := (Sampling{}).Draw([]float32{2, 7, 7}, nil); got != 1 {
		t.Errorf("of two equal logits it took %d", got)
	}
}
