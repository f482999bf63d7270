package augment

import (
	"image"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-ml/reprise/data"
)

func noise(w, h int) data.Picture {
	r := rand.New(rand.NewPCG(uint64(w), uint64(h)))
	p := data.Picture{Pix: make([]uint8, 3*w*h), Width: w, Height: h}
	for i := range p.Pix {
		p.Pix[i] = uint8(r.Uint32())
	}
	return p
}

func TestRandAugmentAppliesWhatItDrewOneAfterTheOther(t *testing.T) {
	p := noise(17, 12)
	for seed := range uint64(60) {
		c := RandAugment{Operations: int(seed%5) + 1, Magnitude: int(seed%30) + 1, Fill: Color{1, 2, 3}}
		got, err := c.Augment(p, rand.New(rand.NewPCG(seed, 0)))
		if err != nil {
			t.Fatal(err)
		}
		r, want := rand.New(rand.NewPCG(seed, 0)), slices.Clone(p.Pix)
		for range c.Operations {
			k, back := int(r.Float64()*14), r.Float64() >= 0.5
			s := randAugmentScales(17, 12)[k]
			m := s.at(c.Magnitude)
			if s.signed && back {
				m = -m
			}
			next := make([]uint8, len(want))
			operations()[k].apply(next, want, 17, 12, m, c.Fill)
			want = next
		}
		if !slices.Equal(got.Pix, want) {
			t.Errorf("seed %d gives other pixels", seed)
		}
	}
}

func TestTrivialAugmentDrawsEveryOperationAndMagnitudeEquallyOften(t *testing.T) {
	const n = 40_000
	p := noise(9, 7)
	want := map[string]int{} // pictures that one draw in 14·31·2 gives
	for k, o := range operations() {
		for bin := range bins {
			for _, sign := range []float64{1, -1} {
				s := trivialAugmentScales()[k]
				m := s.at(bin)
				if s.signed {
					m *= sign
				}
				to := make([]uint8, len(p.Pix))
				o.apply(to, p.Pix, 9, 7, m, Color{})
				want[string(to)]++
			}
		}
	}
	got := map[string]int{}
	r := rand.New(rand.NewPCG(8, 0))
	for range n {
		q, err := TrivialAugment{}.Augment(p, r)
		if err != nil {
			t.Fatal(err)
		}
		got[string(q.Pix)]++
	}
	for pix, draws := range want {
		mean := n * float64(draws) / (14 * bins * 2)
		if c := float64(got[pix]); math.Abs(c-mean) > 5*math.Sqrt(mean)+2 {
			t.Errorf("a picture came %v times, want about %.0f", c, mean)
		}
		delete(got, pix)
	}
	if len(got) > 0 {
		t.Errorf("%d pictures are not of the space", len(got))
	}
}

// erased is torchvision's RandomErasing.get_params, drawing the place first,
// and all ten tries.
func erased(w, h int, scale, ratio Range, r *rand.Rand) image.Rectangle {
	across, down := r.Float64(), r.Float64()
	var found image.Rectangle
	for range 10 {
		area := float64(w*h) * (scale[0] + (scale[1]-scale[0])*r.Float64())
		aspect := math.Exp(math.Log(ratio[0]) + (math.Log(ratio[1])-math.Log(ratio[0]))*r.Float64())
		eh, ew := int(math.RoundToEven(math.Sqrt(area*aspect))), int(math.RoundToEven(math.Sqrt(area/aspect)))
		if eh < h && ew < w && found.Empty() {
			x, y := int(across*float64(w-ew+1)), int(down*float64(h-eh+1))
			found = image.Rect(x, y, x+ew, y+eh)
		}
	}
	return found
}

func TestRandomErasingPaintsTorchvisionsRectangle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, h := rapid.IntRange(1, 40).Draw(t, "w"), rapid.IntRange(1, 40).Draw(t, "h")
		c := RandomErasing{P: rapid.SampledFrom([]float64{0, 0.3, 1}).Draw(t, "p"), Random: rapid.Bool().Draw(t, "random")}
		if rapid.Bool().Draw(t, "given") {
			c.Scale, c.Ratio = Range{0.3, 0.9}, Range{0.5, 5}
		}
		if !c.Random {
			c.Value = Color{9, 8, 7}
		}
		seed, p := rapid.Uint64().Draw(t, "seed"), noise(w, h)
		q, err := c.Augment(p, rand.New(rand.NewPCG(seed, 0)))
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(seed, 0))
		share := c.P
		if share == 0 {
			share = 0.5
		}
		erases := r.Float64() < share
		part := erased(w, h, c.scale(), c.ratio(), r)
		other := 0
		for i := range w * h {
			got, was := Color(q.Pix[3*i:]), Color(p.Pix[3*i:])
			switch inside := erases && image.Pt(i%w, i/w).In(part); {
			case !inside && got != was:
				t.Fatalf("(%d, %d) is outside %v and painted", i%w, i/w, part)
			case inside && !c.Random && got != c.Value:
				t.Fatalf("(%d, %d) of %v is %v", i%w, i/w, part, got)
			case inside && got != was:
				other++
			}
		}
		if n := part.Dx() * part.Dy(); erases && n > 4 && other < n/2 {
			t.Fatalf("noise changed %d of %d pixels", other, n)
		}
	})
}

func TestAnOperationAllocatesThePictureItMakesAndNoMore(t *testing.T) {
	p, r := noise(32, 32), rand.New(rand.NewPCG(1, 0))
	for _, a := range []data.Augmentation{TrivialAugment{}, RandomErasing{P: 1}} {
		// The picture and its noise; channels are counted in tables.
		if n := testing.AllocsPerRun(200, func() { a.Augment(p, r) }); n > 3 {
			t.Errorf("%T allocates %v times", a, n)
		}
	}
}
