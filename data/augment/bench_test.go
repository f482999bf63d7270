package augment_test

import (
	"fmt"
	"testing"

	"github.com/disintegration/imaging"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/data/augment"
)

func BenchmarkAugment(b *testing.B) {
	small, photo := forms(32, 32), forms(500, 375)
	square := forms(224, 224)["Pix"]
	jitter := augment.ColorJitter{Brightness: 0.4, Contrast: 0.4, Saturation: 0.4}
	for _, test := range []struct {
		a data.Augmentation
		p data.Picture
	}{
		{augment.PadCrop{Pad: 4}, small["Pix"]},
		{augment.PadCrop{Pad: 4}, small["YCbCr 4:2:0"]},
		{augment.Flip{P: 1}, small["Pix"]},
		{augment.Cutout{Size: 16}, small["Pix"]},
		{jitter, small["Pix"]},
		{augment.RandomResizedCrop{Size: 32}, small["Pix"]},
		{augment.RandomResizedCrop{Size: 224}, photo["YCbCr 4:2:0"]},
		{augment.RandomResizedCrop{Size: 224}, photo["Pix"]},
		{augment.PadCrop{Pad: 28}, square},
		{augment.Flip{P: 1}, square},
		{augment.Cutout{Size: 112}, square},
		{jitter, square},
		{augment.ColorJitter{Hue: 0.1}, square},
		{augment.Resize{Size: 256}, photo["YCbCr 4:2:0"]},
		{augment.CenterCrop{Size: 224}, photo["YCbCr 4:2:0"]},
	} {
		w, h := test.p.Bounds()
		b.Run(fmt.Sprintf("%T/%dx%d/%T", test.a, w, h, test.p.Image), func(b *testing.B) {
			b.ReportAllocs()
			for i := range b.N {
				if _, err := test.a.Augment(test.p, generator(uint64(i))); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	// What crop and flip would cost with imaging.
	for _, p := range []data.Picture{small["Pix"], square} {
		m := p.NRGBA()
		b.Run(fmt.Sprintf("imaging.FlipH/%dx%d", p.Width, p.Height), func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				imaging.FlipH(m)
			}
		})
	}
}

// BenchmarkCIFAR is from decoded pixels to normalised rows of a batch: a padded crop and a flip.
func BenchmarkCIFAR(b *testing.B) {
	p, list := forms(32, 32)["Pix"], []data.Augmentation{augment.PadCrop{Pad: 4}, augment.Flip{}}
	format := data.Format{Mean: []float32{0.4914, 0.4822, 0.4465}, Std: []float32{0.2470, 0.2435, 0.2616}}
	r := generator(1)
	const size = 128
	rows := make([]data.Value, size)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		q := p
		for _, a := range list {
			var err error
			if q, err = a.Augment(q, r); err != nil {
				b.Fatal(err)
			}
		}
		if rows[i%size] = q; i%size == size-1 {
			if _, err := q.Stack(rows, format); err != nil {
				b.Fatal(err)
			}
		}
	}
}
