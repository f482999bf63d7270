package augment_test

import (
	"bytes"
	"context"
	"hash/fnv"
	"image"
	"image/color/palette"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/data/augment"
)

// Every augmentation, with fields that make it change every picture.
var all = []interface {
	data.Augmentation
	Check() error
}{
	augment.PadCrop{Pad: 4},
	augment.PadCrop{Pad: 2, Size: 16},
	augment.RandomResizedCrop{Size: 12},
	augment.RandomResizedCrop{Size: 12, Scale: augment.Range{0.5, 0.6}, Ratio: augment.Range{3, 4}},
	augment.Flip{P: 1},
	augment.Flip{},
	augment.ColorJitter{Brightness: 0.4, Contrast: 0.4, Saturation: 0.4, Hue: 0.1},
	augment.Cutout{Size: 8, Fill: augment.Color{125, 123, 114}},
	augment.RandAugment{},
	augment.RandAugment{Operations: 3, Magnitude: 30, Fill: augment.Color{125, 123, 114}},
	augment.TrivialAugment{},
	augment.RandomErasing{P: 1},
	augment.RandomErasing{Random: true},
	augment.Resize{Size: 9},
	augment.Resize{Width: 31, Height: 14},
	augment.CenterCrop{Size: 11},
	augment.CenterCrop{Size: 40},
	augment.Upright{},
}

// forms returns noise of w×h pixels in every form that a picture has.
func forms(w, h int) map[string]data.Picture {
	r := rand.New(rand.NewPCG(uint64(w), uint64(h)))
	noise := func(b []uint8) {
		for i := range b {
			b[i] = uint8(r.Uint32())
		}
	}
	// Larger than the picture and cut out of it, so that strides and bounds
	// are not those of the picture.
	outer, inner := image.Rect(0, 0, w+7, h+9), image.Rect(3, 5, 3+w, 5+h)
	ycc := func(s image.YCbCrSubsampleRatio) data.Picture {
		m := image.NewYCbCr(outer, s)
		noise(m.Y)
		noise(m.Cb)
		noise(m.Cr)
		return data.Picture{Image: m.SubImage(inner)}
	}
	gray, nrgba, rgba := image.NewGray(outer), image.NewNRGBA(outer), image.NewRGBA(outer)
	cmyk, paletted := image.NewCMYK(outer), image.NewPaletted(outer, palette.WebSafe)
	noise(gray.Pix)
	noise(nrgba.Pix)
	noise(cmyk.Pix)
	for y := range h + 9 {
		for x := range w + 7 {
			rgba.Set(x, y, nrgba.At(x, y))
			paletted.Set(x, y, nrgba.At(x, y))
		}
	}
	pix := make([]uint8, 3*w*h)
	noise(pix)
	return map[string]data.Picture{
		"YCbCr 4:2:0": ycc(image.YCbCrSubsampleRatio420),
		"YCbCr 4:4:4": ycc(image.YCbCrSubsampleRatio444),
		"Gray":        {Image: gray.SubImage(inner)},
		"NRGBA":       {Image: nrgba.SubImage(inner)},
		"RGBA":        {Image: rgba.SubImage(inner)},
		"CMYK":        {Image: cmyk.SubImage(inner)},
		"Paletted":    {Image: paletted.SubImage(inner)},
		"no SubImage": {Image: opaque{nrgba.SubImage(inner)}},
		"Pix":         {Pix: pix, Width: w, Height: h},
	}
}

// opaque hides the type of an image.
type opaque struct{ image.Image }

// hash covers all memory of a picture.
func hash(p data.Picture) uint64 {
	f := fnv.New64a()
	f.Write(p.Pix)
	switch m := p.Image.(type) {
	case *image.YCbCr:
		f.Write(bytes.Join([][]byte{m.Y, m.Cb, m.Cr}, nil))
	case *image.Gray:
		f.Write(m.Pix)
	case *image.NRGBA:
		f.Write(m.Pix)
	case *image.RGBA:
		f.Write(m.Pix)
	case *image.CMYK:
		f.Write(m.Pix)
	case *image.Paletted:
		f.Write(m.Pix)
	case opaque:
		return hash(data.Picture{Image: m.Image})
	}
	return f.Sum64()
}

// counter counts the values drawn of a source.
type counter struct {
	rand.Source
	n int
}

func (c *counter) Uint64() uint64 { c.n++; return c.Source.Uint64() }

func generator(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 7)) }

func TestAnAugmentationNeverWritesToItsInput(t *testing.T) {
	for form, p := range forms(23, 17) {
		for _, a := range all {
			before := hash(p)
			for seed := range uint64(20) {
				if _, err := a.Augment(p, generator(seed)); err != nil {
					t.Fatalf("%T of %s: %v", a, form, err)
				}
			}
			if hash(p) != before {
				t.Errorf("%T wrote to a picture held as %s", a, form)
			}
		}
	}
}

func TestAnAugmentationDrawsEquallyOftenWhateverThePicture(t *testing.T) {
	for _, a := range all {
		want := -1
		for _, shape := range [][2]int{{32, 32}, {23, 17}, {17, 90}, {90, 17}, {64, 64}} {
			for form, p := range forms(shape[0], shape[1]) {
				for seed := range uint64(20) {
					c := &counter{Source: rand.NewPCG(seed, 3)}
					if _, err := a.Augment(p, rand.New(c)); err != nil {
						t.Fatal(err)
					}
					if want < 0 {
						want = c.n
					}
					if c.n != want {
						t.Fatalf("%#v drew %d values for %s of %v, %d for another picture", a, c.n, form, shape, want)
					}
				}
			}
		}
	}
}

func TestAnAugmentationOfAnyFormIsThatOfItsPixels(t *testing.T) {
	for form, p := range forms(23, 17) {
		for _, a := range all {
			if planes, ok := p.Image.(*image.YCbCr); ok && resamples(a) {
				// These are resampled as the planes they are; noise has colours that no pixel can have.
				p = data.Picture{Image: gentle(planes)}
			}
			for seed := range uint64(10) {
				got, err := a.Augment(p, generator(seed))
				if err != nil {
					t.Fatal(err)
				}
				want, err := a.Augment(p.RGB(), generator(seed))
				if err != nil {
					t.Fatal(err)
				}
				limit := 0
				if _, ok := p.Image.(*image.YCbCr); ok && resamples(a) {
					limit = 3
				}
				if got, want := got.RGB(), want.RGB(); got.Width != want.Width || got.Height != want.Height || far(got.Pix, want.Pix) > limit {
					t.Errorf("%#v of %s differs by %d from that of its pixels (seed %d)", a, form, far(got.Pix, want.Pix), seed)
				}
			}
		}
	}
}

func resamples(a data.Augmentation) bool {
	switch a.(type) {
	case augment.RandomResizedCrop, augment.Resize:
		return true
	default:
		return false
	}
}

// gentle is a picture of the size and layout of m with colours that change slowly.
func gentle(m *image.YCbCr) image.Image {
	out := image.NewYCbCr(m.Rect, m.SubsampleRatio)
	for y := m.Rect.Min.Y; y < m.Rect.Max.Y; y++ {
		for x := m.Rect.Min.X; x < m.Rect.Max.X; x++ {
			out.Y[out.YOffset(x, y)] = uint8(128 + 40*math.Sin(float64(x)/3) + 30*math.Cos(float64(y)/2))
			out.Cb[out.COffset(x, y)], out.Cr[out.COffset(x, y)] = uint8(110+x/6), uint8(125+y/5)
		}
	}
	return out
}

func TestTheResultHasTheSizeAskedFor(t *testing.T) {
	for _, test := range []struct {
		a          data.Augmentation
		w, h, x, y int
	}{
		{augment.PadCrop{Pad: 4}, 32, 32, 32, 32},
		{augment.PadCrop{Pad: 4}, 20, 50, 20, 50},
		{augment.PadCrop{Size: 28}, 32, 28, 28, 28},
		{augment.PadCrop{Pad: 40, Size: 2}, 8, 8, 2, 2},
		{augment.RandomResizedCrop{Size: 24}, 50, 37, 24, 24},
		{augment.RandomResizedCrop{Size: 24}, 1, 1, 24, 24},
		{augment.Flip{P: 1}, 7, 3, 7, 3},
		{augment.ColorJitter{Hue: 0.5}, 7, 3, 7, 3},
		{augment.Cutout{Size: 4}, 7, 3, 7, 3},
		{augment.Resize{Size: 24}, 50, 37, 32, 24},
		{augment.Resize{Size: 24}, 37, 50, 24, 32},
		{augment.Resize{Size: 24}, 24, 24, 24, 24},
		{augment.Resize{Width: 5, Height: 9}, 50, 37, 5, 9},
		{augment.CenterCrop{Size: 24}, 50, 37, 24, 24},
		{augment.CenterCrop{Size: 24}, 50, 7, 24, 24},
		{augment.CenterCrop{Size: 24}, 5, 7, 24, 24},
	} {
		for form, p := range forms(test.w, test.h) {
			for seed := range uint64(5) {
				q, err := test.a.Augment(p, generator(seed))
				if err != nil {
					t.Fatalf("%#v: %v", test.a, err)
				}
				if x, y := q.Bounds(); x != test.x || y != test.y || len(q.RGB().Pix) != 3*x*y {
					t.Errorf("%#v of %s of %d×%d has %d×%d pixels, want %d×%d", test.a, form, test.w, test.h, x, y, test.x, test.y)
				}
			}
		}
	}
}

// augmented runs examples through the stage that augments them.
func augmented(t *testing.T, workers int, origins []data.Origin, list ...data.Augmentation) map[data.Origin][]uint8 {
	t.Helper()
	p := forms(32, 32)["YCbCr 4:2:0"]
	in := func(yield func(data.Example, error) bool) {
		for _, o := range origins {
			if !yield(data.Example{Input: p, Origin: o}, nil) {
				return
			}
		}
	}
	out := map[data.Origin][]uint8{}
	for e, err := range data.Augment(context.Background(), in, workers, 5, list...) {
		if err != nil {
			t.Fatal(err)
		}
		out[e.Origin] = e.Input.(data.Picture).Pix
	}
	return out
}

func TestTheOriginAloneDecidesWhatIsDrawn(t *testing.T) {
	var origins []data.Origin
	for read := range int64(20) {
		origins = append(origins, data.Origin{Index: 3, Read: read}, data.Origin{Index: 3, Read: read, Copy: 1})
	}
	backwards := make([]data.Origin, 0, len(origins))
	for i := range origins {
		backwards = append(backwards, origins[len(origins)-1-i])
	}
	list := []data.Augmentation{
		augment.RandomResizedCrop{Size: 24}, augment.PadCrop{Pad: 4}, augment.Flip{},
		augment.ColorJitter{Brightness: 0.4, Contrast: 0.4, Saturation: 0.4, Hue: 0.1}, augment.Cutout{Size: 8},
	}
	one, four := augmented(t, 1, origins, list...), augmented(t, 4, backwards, list...)
	if !reflect.DeepEqual(one, four) {
		t.Error("the order of arrival or the number of workers changes pixels")
	}
	seen := map[string]bool{}
	for _, pix := range one {
		seen[string(pix)] = true
	}
	if len(seen) != len(origins) {
		t.Errorf("%d origins gave %d different pictures", len(origins), len(seen))
	}
}

func TestWhatHasNoPixelsIsRefused(t *testing.T) {
	for _, a := range all {
		for _, p := range []data.Picture{
			{Encoded: []byte("x")}, {}, {Image: image.NewGray(image.Rectangle{})}, {Pix: []uint8{}, Width: 0, Height: 4},
		} {
			if _, err := a.Augment(p, generator(1)); err == nil || !strings.HasPrefix(err.Error(), "augment: the picture ") {
				t.Errorf("%T of %+v: error is %v", a, p, err)
			}
		}
	}
	p := data.Picture{Pix: make([]uint8, 3*20*20), Width: 20, Height: 20}
	if _, err := (augment.PadCrop{Pad: 2, Size: 32}).Augment(p, generator(1)); err == nil {
		t.Error("a crop larger than the padded picture is made")
	}
	long := data.Picture{Image: image.NewGray(image.Rect(0, 0, 1, 20_000))}
	if _, err := (augment.Resize{Size: 256}).Augment(long, generator(1)); err == nil {
		t.Error("a picture that becomes larger than MaxPixels is resized")
	}
}

func TestFieldsOutOfRangeAreReported(t *testing.T) {
	for _, a := range all {
		if err := a.Check(); err != nil {
			t.Errorf("%#v: %v", a, err)
		}
	}
	p := data.Picture{Pix: make([]uint8, 3), Width: 1, Height: 1}
	for _, test := range []struct {
		a interface {
			data.Augmentation
			Check() error
		}
		want string
	}{
		{augment.PadCrop{Pad: -1}, "augment: pad crop: pad is -1"},
		{augment.PadCrop{Size: -1}, "augment: pad crop: size is -1"},
		{augment.RandomResizedCrop{}, "augment: random resized crop: size is 0"},
		{augment.RandomResizedCrop{Size: 1, Scale: augment.Range{0, 1}}, "augment: random resized crop: scale is [0 1]"},
		{augment.RandomResizedCrop{Size: 1, Scale: augment.Range{0.9, 0.8}}, "augment: random resized crop: scale is [0.9 0.8]"},
		{augment.RandomResizedCrop{Size: 1, Scale: augment.Range{0.9, 1.1}}, "augment: random resized crop: scale is [0.9 1.1]"},
		{augment.RandomResizedCrop{Size: 1, Ratio: augment.Range{-1, 1}}, "augment: random resized crop: ratio is [-1 1]"},
		{augment.RandomResizedCrop{Size: 1, Ratio: augment.Range{2, 1}}, "augment: random resized crop: ratio is [2 1]"},
		{augment.Flip{P: 1.5}, "augment: flip: p is 1.5"},
		{augment.Flip{P: -0.5}, "augment: flip: p is -0.5"},
		{augment.ColorJitter{Brightness: -1}, "augment: color jitter: brightness is -1"},
		{augment.ColorJitter{Contrast: -1}, "augment: color jitter: contrast is -1"},
		{augment.ColorJitter{Saturation: -1}, "augment: color jitter: saturation is -1"},
		{augment.ColorJitter{Hue: 0.6}, "augment: color jitter: hue is 0.6"},
		{augment.Cutout{}, "augment: cutout: size is 0"},
		{augment.RandAugment{Operations: 15}, "augment: rand augment: operations is 15"},
		{augment.RandAugment{Magnitude: 31}, "augment: rand augment: magnitude is 31"},
		{augment.RandomErasing{P: 2}, "augment: random erasing: p is 2"},
		{augment.RandomErasing{Scale: augment.Range{0.5, 1.5}}, "augment: random erasing: scale is [0.5 1.5]"},
		{augment.RandomErasing{Ratio: augment.Range{0, 1}}, "augment: random erasing: ratio is [0 1]"},
		{augment.RandomErasing{Random: true, Value: augment.Color{1}}, "augment: random erasing: value is [1 0 0] and random is set"},
		{augment.Resize{}, "augment: resize: want size, or width and height"},
		{augment.Resize{Size: 1, Width: 1, Height: 1}, "augment: resize: want size, or width and height, not both"},
		{augment.Resize{Size: -1}, "augment: resize: size is -1"},
		{augment.Resize{Width: 3}, "augment: resize: width and height are 3 and 0"},
		{augment.CenterCrop{}, "augment: center crop: size is 0"},
	} {
		if err := test.a.Check(); err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%#v: error is %v, want %s…", test.a, err, test.want)
		}
		if _, err := test.a.Augment(p, generator(1)); err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("augmenting with %#v: error is %v, want %s…", test.a, err, test.want)
		}
	}
}

func TestFieldsAreReadAndWrittenAsYAML(t *testing.T) {
	for _, test := range []struct {
		text string
		into any
		want any
	}{
		{"pad: 4\nsize: 0\n", &augment.PadCrop{}, &augment.PadCrop{Pad: 4}},
		{"size: 224\n", &augment.RandomResizedCrop{}, &augment.RandomResizedCrop{Size: 224}},
		{"size: 224\nscale:\n- 0.2\n- 1.0\n", &augment.RandomResizedCrop{}, &augment.RandomResizedCrop{Size: 224, Scale: augment.Range{0.2, 1}}},
		{"p: 0.25\n", &augment.Flip{}, &augment.Flip{P: 0.25}},
		{"brightness: 0.5\ncontrast: 0.25\nsaturation: 0.5\nhue: 0.125\n", &augment.ColorJitter{}, &augment.ColorJitter{Brightness: 0.5, Contrast: 0.25, Saturation: 0.5, Hue: 0.125}},
		{"size: 16\nfill:\n- 125\n- 123\n- 114\n", &augment.Cutout{}, &augment.Cutout{Size: 16, Fill: augment.Color{125, 123, 114}}},
		{"operations: 3\nmagnitude: 12\n", &augment.RandAugment{}, &augment.RandAugment{Operations: 3, Magnitude: 12}},
		{"p: 0.25\nvalue:\n- 125\n- 123\n- 114\n", &augment.RandomErasing{}, &augment.RandomErasing{P: 0.25, Value: augment.Color{125, 123, 114}}},
		{"p: 0.0\nrandom: true\n", &augment.RandomErasing{}, &augment.RandomErasing{Random: true}},
		{"width: 64\nheight: 48\n", &augment.Resize{}, &augment.Resize{Width: 64, Height: 48}},
		{"size: 16\n", &augment.Cutout{}, &augment.Cutout{Size: 16}},
		{"size: 224\n", &augment.CenterCrop{}, &augment.CenterCrop{Size: 224}},
	} {
		if err := yaml.UnmarshalWithOptions([]byte(test.text), test.into, yaml.Strict()); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(test.into, test.want) {
			t.Errorf("%q is %+v, want %+v", test.text, test.into, test.want)
		}
		if text, err := yaml.Marshal(test.want); err != nil || string(text) != test.text {
			t.Errorf("%+v is written as %q (%v), want %q", test.want, text, err, test.text)
		}
	}
}

func TestAListOfTheWrongLengthIsAnError(t *testing.T) {
	for _, test := range []struct {
		text string
		into any
	}{
		{"size: 8\nscale: [0.2]\n", &augment.RandomResizedCrop{}},
		{"size: 8\nscale: [0.2, 0.5, 1]\n", &augment.RandomResizedCrop{}},
		{"size: 8\nratio: 1\n", &augment.RandomResizedCrop{}},
		{"size: 8\nfill: [1, 2, 3, 4]\n", &augment.Cutout{}},
		{"size: 8\nfill: [1, 2, 300]\n", &augment.Cutout{}},
	} {
		if err := yaml.UnmarshalWithOptions([]byte(test.text), test.into, yaml.Strict()); err == nil {
			t.Errorf("%q is read as %+v", test.text, test.into)
		}
	}
}
