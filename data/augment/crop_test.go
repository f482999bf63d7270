package augment_test

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/data/augment"
)

// at is the colour of p at (x, y), black outside.
func at(p data.Picture, x, y int) [3]uint8 {
	if x < 0 || y < 0 || x >= p.Width || y >= p.Height {
		return [3]uint8{}
	}
	return [3]uint8(p.Pix[3*(y*p.Width+x):])
}

// numbered is a picture in which the colour of each pixel tells its place: x
// and y are red and green, and blue is never 0, as it is outside.
func numbered(w, h int) data.Picture {
	p := data.Picture{Width: w, Height: h}
	for y := range h {
		for x := range w {
			p.Pix = append(p.Pix, uint8(x), uint8(y), 255)
		}
	}
	return p
}

// offset finds where a window of a numbered picture begins, and fails where
// the rest of it does not follow from that.
func offset(t interface{ Fatalf(string, ...any) }, q data.Picture, w, h int) (x, y int) {
	whole, found := numbered(w, h), false
	for row := range q.Height {
		for col := range q.Width {
			if c := at(q, col, row); c[2] == 255 && !found {
				x, y, found = int(c[0])-col, int(c[1])-row, true
			}
		}
	}
	if !found {
		t.Fatalf("the window shows nothing of the picture")
	}
	for row := range q.Height {
		for col := range q.Width {
			if got, want := at(q, col, row), at(whole, x+col, y+row); got != want {
				t.Fatalf("the window at (%d, %d) has colour %v at (%d, %d), want %v", x, y, got, col, row, want)
			}
		}
	}
	return x, y
}

// uniform reports, by Pearson's statistic, counts that are too uneven for
// draws that were equally likely, at about 4.5 standard deviations.
func uniform(counts []int) error {
	n := 0
	for _, c := range counts {
		n += c
	}
	sum, want := 0.0, float64(n)/float64(len(counts))
	for _, c := range counts {
		sum += (float64(c) - want) * (float64(c) - want) / want
	}
	free := float64(len(counts) - 1)
	if limit := free + 4.5*math.Sqrt(2*free) + 10; sum > limit {
		return fmt.Errorf("χ² is %.1f with %.0f degrees of freedom: %v", sum, free, counts)
	}
	return nil
}

func TestPadCropIsAWindowOfThePaddedPicture(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, h := rapid.IntRange(1, 40).Draw(t, "w"), rapid.IntRange(1, 40).Draw(t, "h")
		pad := rapid.IntRange(0, min(w, h)-1).Draw(t, "pad")
		c := augment.PadCrop{Pad: pad}
		q, err := c.Augment(numbered(w, h), generator(rapid.Uint64().Draw(t, "seed")))
		if err != nil {
			t.Fatal(err)
		}
		if q.Width != w || q.Height != h {
			t.Fatalf("the crop has %d×%d pixels, want %d×%d", q.Width, q.Height, w, h)
		}
		if x, y := offset(t, q, w, h); x < -pad || x > pad || y < -pad || y > pad {
			t.Fatalf("the crop begins at (%d, %d), with a pad of %d", x, y, pad)
		}
	})
}

func TestPadCropTakesEveryPlaceEquallyOften(t *testing.T) {
	for _, test := range []struct {
		crop           augment.PadCrop
		w, h           int
		first, placesX int
		placesY        int
	}{
		{augment.PadCrop{Pad: 4}, 32, 32, -4, 9, 9},
		{augment.PadCrop{Pad: 1, Size: 8}, 10, 12, -1, 5, 7},
		{augment.PadCrop{Size: 8}, 8, 11, 0, 1, 4},
	} {
		p, r := numbered(test.w, test.h), generator(11)
		counts := make([]int, test.placesX*test.placesY)
		for range 100 * len(counts) {
			q, err := test.crop.Augment(p, r)
			if err != nil {
				t.Fatal(err)
			}
			x, y := offset(t, q, test.w, test.h)
			counts[(y-test.first)*test.placesX+x-test.first]++ // panics outside
		}
		if err := uniform(counts); err != nil {
			t.Errorf("%+v: %v", test.crop, err)
		}
	}
}

func TestCenterCropTakesTheMiddle(t *testing.T) {
	for _, test := range []struct{ w, h, size, x, y int }{
		{32, 32, 24, 4, 4},
		{10, 7, 7, 2, 0}, // 1.5 rounds to even, as in torchvision
		{9, 7, 4, 2, 2},  // 2.5, and 1.5
		{5, 9, 7, -1, 1},
		{4, 4, 7, -1, -1},
		{8, 8, 8, 0, 0},
	} {
		q, err := augment.CenterCrop{Size: test.size}.Augment(numbered(test.w, test.h), nil)
		if err != nil {
			t.Fatal(err)
		}
		if x, y := offset(t, q, test.w, test.h); x != test.x || y != test.y {
			t.Errorf("the middle %d of %d×%d begins at (%d, %d), want (%d, %d)", test.size, test.w, test.h, x, y, test.x, test.y)
		}
	}
}
