package augment_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-ml/reprise/data/augment"
)

func TestCutoutPaintsASquareClippedAtTheBorder(t *testing.T) {
	fill := augment.Color{9, 8, 7}
	rapid.Check(t, func(t *rapid.T) {
		w, h := rapid.IntRange(1, 20).Draw(t, "w"), rapid.IntRange(1, 20).Draw(t, "h")
		size := rapid.IntRange(1, 30).Draw(t, "size")
		seed := rapid.Uint64().Draw(t, "seed")
		p := numbered(w, h)
		q, err := augment.Cutout{Size: size, Fill: fill}.Augment(p, generator(seed))
		if err != nil {
			t.Fatal(err)
		}
		r := generator(seed)
		x, y := int(r.Float64()*float64(w))-size/2, int(r.Float64()*float64(h))-size/2
		for row := range h {
			for col := range w {
				want := at(p, col, row)
				if x <= col && col < x+size && y <= row && row < y+size {
					want = fill
				}
				if got := at(q, col, row); got != want {
					t.Fatalf("(%d, %d) is %v, want %v", col, row, got, want)
				}
			}
		}
	})
}

func TestEveryPixelIsTheCentreOfCutoutEquallyOften(t *testing.T) {
	r, counts := generator(4), make([]int, 7*5)
	for range 200 * len(counts) {
		q, err := augment.Cutout{Size: 1}.Augment(numbered(7, 5), r)
		if err != nil {
			t.Fatal(err)
		}
		black := 0
		for i := range counts {
			if at(q, i%7, i/7) == [3]uint8{} {
				counts[i]++
				black++
			}
		}
		if black != 1 {
			t.Fatalf("a square of one pixel covers %d", black)
		}
	}
	if err := uniform(counts); err != nil {
		t.Error(err)
	}
}
