package jpeg

import "math"

// weightBits are those of a weight's fraction. Weights of one sum add up to 1<<weightBits.
const weightBits = 14

// axis is the resampling along one axis: result i is the sum over k of w[i·taps+k]·sample[first+start[i]+k].
type axis struct {
	first int // sample that is needed
	count int // of samples that are
	start []int32
	taps  int // even
	w     []int16
	sums  []float64 // running sums of the weights of one result
}

// build makes the weights of n results from the samples between lo and lo+size. Only samples from first to before end
// have a weight. It is the triangle filter, which grows with the ratio if that is above 1, so that every sample counts.
// With flip the results are in opposite order.
//
// Windows begin at first or later; they end before end unless there are fewer than taps samples.
func (a *axis) build(lo, size float64, n, first, end int, flip bool) {
	ratio := size / float64(n)
	reach := max(ratio, 1)
	a.taps = even(int(math.Ceil(2 * reach)))
	if cap(a.start) < n {
		a.start = make([]int32, n)
	}
	if need := n * a.taps; cap(a.w) < need {
		a.w = make([]int16, need+need/2)
	}
	if cap(a.sums) < a.taps {
		a.sums = make([]float64, a.taps)
	}
	a.start, a.w = a.start[:n], a.w[:n*a.taps]
	for i := range n {
		centre := lo + (float64(i)+0.5)*ratio
		x := max(first, int(math.Floor(centre-reach+0.5)))
		// The window moves left until it is inside.
		start := max(first, min(x, end-a.taps))
		sum, sums := 0.0, a.sums[:a.taps]
		for k := range sums {
			if x := start + k; x < end {
				sum += max(0, 1-math.Abs(float64(x)+0.5-centre)/reach)
			}
			sums[k] = sum
		}
		at := i
		if flip {
			at = n - 1 - i
		}
		a.start[at] = int32(start)
		// Sums are rounded, not weights, so that they come out even.
		before, scale := 0, (1<<weightBits)/sum
		for k, s := range sums {
			to := int(s*scale + 0.5)
			a.w[at*a.taps+k] = int16(to - before)
			before = to
		}
	}
	left, right := a.start[0], a.start[n-1]
	if flip {
		left, right = right, left
	}
	a.first, a.count = int(left), int(right-left)+a.taps
	for i := range a.start {
		a.start[i] -= left
	}
}
