package augment

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/reprise-ml/reprise/data"
)

// A picture of twelve colours in one row.
var colours = []uint8{0, 0, 0, 255, 255, 255, 255, 0, 0, 0, 255, 0, 0, 0, 255, 128, 128, 128, 12, 200, 99, 250, 250, 5, 17, 3, 201, 90, 60, 30, 200, 201, 202, 1, 0, 1}

func TestColoursChangeAsInPIL(t *testing.T) {
	// ImageEnhance of Pillow 9.4, and torchvision's adjust_hue with it.
	for _, test := range []struct {
		name   string
		apply  func(pix []uint8, amount float64)
		amount float64
		want   []uint8
	}{
		{"brightness", brighten, 1.3, []uint8{0, 0, 0, 255, 255, 255, 255, 0, 0, 0, 255, 0, 0, 0, 255, 166, 166, 166, 15, 255, 128, 255, 255, 6, 22, 3, 255, 116, 78, 39, 255, 255, 255, 1, 0, 1}},
		{"contrast", contrast, 0.6, []uint8{42, 42, 42, 195, 195, 195, 195, 42, 42, 42, 195, 42, 42, 42, 195, 119, 119, 119, 49, 162, 102, 192, 192, 45, 52, 44, 163, 96, 78, 60, 162, 163, 164, 43, 42, 43}},
		{"saturation", saturate, 1.7, []uint8{0, 0, 0, 255, 255, 255, 255, 0, 0, 0, 255, 0, 0, 0, 255, 128, 128, 128, 0, 247, 75, 255, 255, 0, 7, 0, 255, 106, 55, 4, 199, 201, 202, 1, 0, 1}},
		{"hue", turn, -0.2, []uint8{0, 0, 0, 255, 255, 255, 210, 0, 255, 255, 204, 0, 0, 255, 204, 128, 128, 128, 154, 200, 13, 250, 6, 52, 3, 201, 175, 90, 30, 71, 200, 202, 201, 0, 0, 1}},
		{"hue", turn, 0.33, []uint8{0, 0, 0, 255, 255, 255, 6, 255, 0, 0, 6, 255, 255, 0, 6, 128, 128, 128, 92, 13, 200, 6, 250, 241, 201, 8, 3, 30, 90, 58, 202, 200, 201, 1, 1, 0}},
		{"brightness", brighten, 1, colours},
		{"contrast", contrast, 1, colours},
		{"saturation", saturate, 1, colours},
		{"contrast", contrast, 0, slices.Repeat([]uint8{107}, len(colours))},
		{"brightness", brighten, 0, make([]uint8, len(colours))},
	} {
		got := slices.Clone(colours)
		test.apply(got, test.amount)
		if !slices.Equal(got, test.want) {
			t.Errorf("%s %v is\n%v, want\n%v", test.name, test.amount, got, test.want)
		}
	}
}

func TestColorJitterLeavesAloneWhatIsNotGiven(t *testing.T) {
	p := data.Picture{Pix: colours, Width: 12, Height: 1}
	q, err := ColorJitter{}.Augment(p, rand.New(rand.NewPCG(1, 0)))
	if err != nil || !slices.Equal(q.Pix, colours) {
		t.Errorf("no jitter gives %v, %v", q.Pix, err)
	}
}

func TestColorJitterAppliesWhatItDrewInTheOrderDrawn(t *testing.T) {
	c := ColorJitter{Brightness: 0.4, Contrast: 0.3, Saturation: 1.5, Hue: 0.2}
	for seed := range uint64(50) {
		got, err := c.Augment(data.Picture{Pix: colours, Width: 12, Height: 1}, rand.New(rand.NewPCG(seed, 0)))
		if err != nil {
			t.Fatal(err)
		}
		r, want := rand.New(rand.NewPCG(seed, 0)), slices.Clone(colours)
		b, k, s, h := 0.6+0.8*r.Float64(), 0.7+0.6*r.Float64(), 2.5*r.Float64(), -0.2+0.4*r.Float64()
		for _, i := range order(r) {
			switch i {
			case 0:
				brighten(want, b)
			case 1:
				contrast(want, k)
			case 2:
				saturate(want, s)
			case 3:
				turn(want, h)
			}
		}
		if !slices.Equal(got.Pix, want) {
			t.Errorf("seed %d gives\n%v, want\n%v", seed, got.Pix, want)
		}
	}
}

func TestTheAmountsOfJitterAreUniform(t *testing.T) {
	const n = 20_000
	r := rand.New(rand.NewPCG(6, 0))
	p := data.Picture{Pix: []uint8{100, 100, 100}, Width: 1, Height: 1}
	for _, x := range []float64{0.4, 1.5} {
		lo, hi := max(0, 1-x), 1+x
		var counts [8]int
		for range n {
			q, err := ColorJitter{Brightness: x}.Augment(p, r)
			if err != nil {
				t.Fatal(err)
			}
			share := (float64(q.Pix[0]) + 0.5) / 100
			counts[int((share-lo)/(hi-lo)*float64(len(counts)))]++ // panics outside
		}
		for i, c := range counts {
			if want := float64(n) / float64(len(counts)); math.Abs(float64(c)-want) > 6*math.Sqrt(want) {
				t.Errorf("with x = %v, eighth %d of the range was drawn %d times, want about %.0f", x, i, c, want)
			}
		}
	}
}

func TestEveryOrderOfJitterIsEquallyLikely(t *testing.T) {
	const n = 24_000
	r, counts := rand.New(rand.NewPCG(7, 0)), map[[4]int]int{}
	for range n {
		counts[order(r)]++
	}
	if len(counts) != 24 {
		t.Errorf("%d orders, want 24", len(counts))
	}
	for o, c := range counts {
		if math.Abs(float64(c)-n/24) > 5*math.Sqrt(n/24) {
			t.Errorf("order %v was drawn %d times, want about %d", o, c, n/24)
		}
	}
}
