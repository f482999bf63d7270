package experiments

import (
	"slices"
	"testing"
	"time"
)

func TestTheMedianIsInTheMiddleAndLeavesTheOrder(t *testing.T) {
	v := []float64{5, 1, 3}
	if got := medianRange(v); got != (MedianRange{3, 1, 5}) || !slices.Equal(v, []float64{5, 1, 3}) {
		t.Errorf("%v of %v", got, v)
	}
	if got := median([]time.Duration{4, 1, 2, 10}); got != 3 {
		t.Errorf("the median of an even number is %d, want that of the two in the middle", got)
	}
}
