package augment_test

import (
	"math"
	"testing"

	"github.com/reprise-ml/reprise/data/augment"
)

func TestFlipSwapsLeftAndRight(t *testing.T) {
	for _, w := range []int{1, 2, 7} {
		q, err := augment.Flip{P: 1}.Augment(numbered(w, 3), generator(1))
		if err != nil {
			t.Fatal(err)
		}
		for y := range 3 {
			for x := range w {
				if got, want := at(q, x, y), at(numbered(w, 3), w-1-x, y); got != want {
					t.Errorf("of width %d, (%d, %d) is %v, want %v", w, x, y, got, want)
				}
			}
		}
	}
}

func TestFlipHappensInItsShareOfThePictures(t *testing.T) {
	const n = 20_000
	for p, want := range map[float64]float64{0: 0.5, 0.25: 0.25, 1: 1} {
		r, flipped := generator(2), 0
		for range n {
			q, err := augment.Flip{P: p}.Augment(numbered(2, 1), r)
			if err != nil {
				t.Fatal(err)
			}
			if at(q, 0, 0)[0] == 1 {
				flipped++
			}
		}
		if got := float64(flipped) / n; math.Abs(got-want) > 4*math.Sqrt(want*(1-want)/n) {
			t.Errorf("with p = %v, %.4f of the pictures were flipped, want %v", p, got, want)
		}
	}
}
