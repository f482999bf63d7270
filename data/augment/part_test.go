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

// script is a source of given values of Float64.
type script []float64

func (s *script) Uint64() uint64 {
	v := (*s)[0]
	*s = (*s)[1:]
	return uint64(v * (1 << 53))
}

// reference is torchvision's RandomResizedCrop.get_params, drawing the place
// first, and all ten tries.
func reference(w, h int, scale, ratio Range, r *rand.Rand) (left, top, width, height int, fallback bool) {
	across, down := r.Float64(), r.Float64()
	area := float64(w * h)
	logRatio := [2]float64{math.Log(ratio[0]), math.Log(ratio[1])}
	for range 10 {
		target := area * (scale[0] + (scale[1]-scale[0])*r.Float64())
		aspect := math.Exp(logRatio[0] + (logRatio[1]-logRatio[0])*r.Float64())
		width = int(math.RoundToEven(math.Sqrt(target * aspect)))
		height = int(math.RoundToEven(math.Sqrt(target / aspect)))
		if 0 < width && width <= w && 0 < height && height <= h {
			return int(across * float64(w-width+1)), int(down * float64(h-height+1)), width, height, false
		}
	}
	inRatio := float64(w) / float64(h)
	switch {
	case inRatio < ratio[0]:
		width, height = w, int(math.RoundToEven(float64(w)/ratio[0]))
	case inRatio > ratio[1]:
		width, height = int(math.RoundToEven(float64(h)*ratio[1])), h
	default:
		width, height = w, h
	}
	return (w - width) / 2, (h - height) / 2, width, height, true
}

func TestThePartKeptIsTorchvisions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, h := rapid.IntRange(1, 500).Draw(t, "w"), rapid.IntRange(1, 500).Draw(t, "h")
		c := RandomResizedCrop{Size: 8}
		if rapid.Bool().Draw(t, "given") {
			lo := rapid.Float64Range(0.01, 1).Draw(t, "least")
			c.Scale = Range{lo, rapid.Float64Range(lo, 1).Draw(t, "most")}
			narrow := rapid.Float64Range(0.1, 5).Draw(t, "narrow")
			c.Ratio = Range{narrow, rapid.Float64Range(narrow, 10).Draw(t, "wide")}
		}
		seed := rapid.Uint64().Draw(t, "seed")
		got := c.part(w, h, rand.New(rand.NewPCG(seed, 0)))
		left, top, width, height, fallback := reference(w, h, c.scale(), c.ratio(), rand.New(rand.NewPCG(seed, 0)))
		if want := image.Rect(left, top, left+width, top+height); width > 0 && height > 0 && got != want {
			t.Fatalf("the part is %v, want %v", got, want)
		}
		if got.Empty() || !got.In(image.Rect(0, 0, w, h)) {
			t.Fatalf("the part is %v of %d×%d pixels", got, w, h)
		}
		if fallback {
			return
		}
		// Rounding moves each side by half a pixel at most.
		pw, ph := float64(got.Dx()), float64(got.Dy())
		area := float64(w * h)
		if (pw+0.5)*(ph+0.5) < c.scale()[0]*area-1e-6 || (pw-0.5)*(ph-0.5) > c.scale()[1]*area+1e-6 {
			t.Fatalf("the part %v of %d×%d has an area out of %v", got, w, h, c.scale())
		}
		if (pw+0.5)/(ph-0.5) < c.ratio()[0]-1e-6 || (pw-0.5)/(ph+0.5) > c.ratio()[1]+1e-6 {
			t.Fatalf("the part %v has a ratio out of %v", got, c.ratio())
		}
	})
}

func TestWhereNoTryFitsTheMiddleIsKept(t *testing.T) {
	for _, test := range []struct {
		w, h int
		want image.Rectangle
	}{
		{400, 100, image.Rect(133, 0, 266, 100)}, // 4/3 of 100 wide
		{100, 400, image.Rect(0, 133, 100, 266)}, // 100 / (3/4) high
		{1000, 1, image.Rect(499, 0, 500, 1)},
	} {
		full := make(script, 22)
		for i := 2; i < len(full); i += 2 {
			full[i], full[i+1] = 0.999, 0.5 // the whole area as a square
		}
		c := RandomResizedCrop{Size: 8}
		if got := c.part(test.w, test.h, rand.New(&full)); got != test.want {
			t.Errorf("of %d×%d the part is %v, want %v", test.w, test.h, got, test.want)
		}
	}
}

func TestATryThatFitsIsTakenAndTheRestDrawnAllTheSame(t *testing.T) {
	s := make(script, 22)
	for i := range s {
		s[i] = 0.9
	}
	copy(s, []float64{0, 0.999, 0.999, 0.999, (0.25 - 0.08) / 0.92, 0.5})
	c := RandomResizedCrop{Size: 8}
	if got, want := c.part(100, 100, rand.New(&s)), image.Rect(0, 50, 50, 100); got != want {
		t.Errorf("the part is %v, want %v: at the left and the bottom, a quarter of the area", got, want)
	}
	if len(s) != 0 {
		t.Errorf("%d values are left", len(s))
	}
}

func TestAreasRatiosAndPlacesOfPartsAreUniform(t *testing.T) {
	const n, side = 40_000, 1000
	// Ratio and scale are such that every try fits.
	c := RandomResizedCrop{Size: 8, Scale: Range{0.1, 0.5}, Ratio: Range{0.5, 2}}
	r := rand.New(rand.NewPCG(3, 0))
	var areas, ratios, xs, ys []float64
	for range n {
		p := c.part(side, side, r)
		areas = append(areas, (float64(p.Dx()*p.Dy())/side/side-0.1)/0.4)
		ratios = append(ratios, math.Log2(float64(p.Dx())/float64(p.Dy()))/2+0.5)
		xs = append(xs, (float64(p.Min.X)+0.5)/float64(side-p.Dx()+1))
		ys = append(ys, (float64(p.Min.Y)+0.5)/float64(side-p.Dy()+1))
	}
	for name, values := range map[string][]float64{"areas": areas, "log ratios": ratios, "places across": xs, "places down": ys} {
		// Kolmogorov and Smirnov: 2/√n is exceeded with probability 0.0007,
		// and pixels are 1/n of the range wide.
		slices.Sort(values)
		far := 0.0
		for i, v := range values {
			far = max(far, math.Abs(v-(float64(i)+0.5)/n))
		}
		if limit := 2/math.Sqrt(n) + 1./side; far > limit {
			t.Errorf("%s are %.4f from uniform, want at most %.4f", name, far, limit)
		}
	}
}

func TestThePartKeptIsResized(t *testing.T) {
	noise := rand.New(rand.NewPCG(1, 0))
	p := data.Picture{Pix: make([]uint8, 3*60*45), Width: 60, Height: 45}
	for i := range p.Pix {
		p.Pix[i] = uint8(noise.Uint32())
	}
	c := RandomResizedCrop{Size: 16}
	for seed := range uint64(20) {
		got, err := c.Augment(p, rand.New(rand.NewPCG(seed, 0)))
		if err != nil {
			t.Fatal(err)
		}
		part := c.part(60, 45, rand.New(rand.NewPCG(seed, 0)))
		cropped := p.See(window(part.Min.X, part.Min.Y, part.Dx(), part.Dy()))
		want, err := Resize{Width: 16, Height: 16}.Augment(cropped, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Pix, want.Pix) {
			t.Errorf("seed %d: a resized crop is not the part %v, resized", seed, part)
		}
	}
}
