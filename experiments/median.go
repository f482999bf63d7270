package experiments

import "slices"

// median is the middle one of v, or the mean of the two in the middle.
func median[T ~int64 | ~float64](v []T) T {
	v = slices.Sorted(slices.Values(v))
	return (v[len(v)/2] + v[(len(v)-1)/2]) / 2
}

// MedianRange is the median of what was measured several times, the least and the most.
type MedianRange struct {
	Median float64 `json:"median"`
	Least  float64 `json:"least"`
	Most   float64 `json:"most"`
}

func medianRange(v []float64) MedianRange {
	return MedianRange{median(v), slices.Min(v), slices.Max(v)}
}
