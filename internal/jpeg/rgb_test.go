package jpeg

import (
	"image"
	"image/color"
	"testing"

	"pgregory.net/rapid"
)

func TestPixelsHaveTheColoursOfTheStandardLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t)
		m := d.p.Image()
		got := make([]byte, 3*d.crop.Dx()*d.crop.Dy())
		d.p.RGB8(got, 3*d.crop.Dx(), d.crop)
		for i := 0; i < len(got); i += 3 {
			x, y := d.crop.Min.X+i/3%d.crop.Dx(), d.crop.Min.Y+i/3/d.crop.Dx()
			want := color.NRGBAModel.Convert(m.At(x, y)).(color.NRGBA)
			if [3]byte(got[i:]) != [3]byte{want.R, want.G, want.B} {
				t.Fatalf("(%d, %d) is %v, want %v", x, y, got[i:i+3], want)
			}
		}
	})
}

func TestPlanesAndImagesAreTwoViewsOfTheSameMemory(t *testing.T) {
	for _, ratio := range []image.YCbCrSubsampleRatio{
		image.YCbCrSubsampleRatio444, image.YCbCrSubsampleRatio422, image.YCbCrSubsampleRatio420,
		image.YCbCrSubsampleRatio440, image.YCbCrSubsampleRatio411, image.YCbCrSubsampleRatio410,
	} {
		m := image.NewYCbCr(image.Rect(4, 2, 20, 10), ratio)
		p, ok := PlanesOf(m)
		if !ok || p.Gray() || p.Width != 16 || p.Height != 8 {
			t.Fatalf("%v: %+v", ratio, p)
		}
		back := p.Image().(*image.YCbCr)
		if back.SubsampleRatio != ratio || back.Rect != m.Rect || &back.Y[0] != &m.Y[0] || &back.Cr[0] != &m.Cr[0] {
			t.Errorf("%v came back as %v", ratio, back.SubsampleRatio)
		}
	}
	g := image.NewGray(image.Rect(1, 1, 5, 5))
	p, ok := PlanesOf(g)
	if back, isGray := p.Image().(*image.Gray); !ok || !isGray || back.Rect != g.Rect || &back.Pix[0] != &g.Pix[0] {
		t.Errorf("gray came back as %T", p.Image())
	}
	if _, ok := PlanesOf(image.NewNRGBA(image.Rect(0, 0, 1, 1))); ok {
		t.Error("NRGBA has no planes")
	}
}
