package jpeg

import (
	"bytes"
	"image"
	"image/jpeg"
	"math"
	"math/rand/v2"
	"testing"
)

// pictures decodes the header of every file and keeps those of a kind.
func pictures(b *testing.B, archiveName string, most int, keep func(Config) bool) (files [][]byte) {
	names, all := archive(b, archiveName, most)
	var d Decoder
	for _, name := range names {
		if c, err := d.Config(all[name]); err == nil && keep(c) {
			files = append(files, all[name])
		}
	}
	return files
}

// perPicture runs f over files and reports pictures a second of the processor.
func perPicture(b *testing.B, files [][]byte, f func(file []byte) error) {
	b.ReportAllocs()
	for _, file := range files { // makes room
		if err := f(file); err != nil {
			b.Fatal(err)
		}
	}
	i, before := 0, processorTime()
	for b.Loop() {
		if err := f(files[i%len(files)]); err != nil {
			b.Fatal(err)
		}
		i++
	}
	if used := (processorTime() - before).Seconds(); used > 0 {
		b.ReportMetric(float64(i)/used, "images/cpu-s")
	}
}

func stock(file []byte) error {
	_, err := jpeg.Decode(bytes.NewReader(file))
	return err
}

func BenchmarkDecode(b *testing.B) {
	for _, set := range []struct {
		name, archive string
		most          int
		keep          func(Config) bool
	}{
		{"photo420", "imagenet-240.tar", 240, func(c Config) bool { return c.RatioX == 2 && c.RatioY == 2 && !c.Progressive }},
		{"photo444", "imagenet-240.tar", 240, func(c Config) bool { return c.Components == 3 && c.RatioX == 1 && c.RatioY == 1 && !c.Progressive }},
		{"cifar", "cifar10-jpeg.tar.gz", 500, func(Config) bool { return true }},
	} {
		b.Run(set.name, func(b *testing.B) {
			files := pictures(b, set.archive, set.most, set.keep)
			for _, path := range Paths() {
				b.Run(path.String(), func(b *testing.B) {
					d, p := Decoder{Path: path}, Planes{}
					perPicture(b, files, func(file []byte) error { return d.Decode(&p, file, Options{}) })
				})
			}
			b.Run("image-jpeg", func(b *testing.B) { perPicture(b, files, stock) })
		})
	}
}

// randomResizedCrop is the usual crop for training on ImageNet.
func randomResizedCrop(r *rand.Rand, w, h int) image.Rectangle {
	for range 10 {
		area := (0.08 + 0.92*r.Float64()) * float64(w*h)
		q := math.Exp(math.Log(3./4) + r.Float64()*(math.Log(4./3)-math.Log(3./4)))
		cw, ch := int(math.Round(math.Sqrt(area*q))), int(math.Round(math.Sqrt(area/q)))
		if 0 < cw && cw <= w && 0 < ch && ch <= h {
			x, y := r.IntN(w-cw+1), r.IntN(h-ch+1)
			return image.Rect(x, y, x+cw, y+ch)
		}
	}
	n := min(w, h)
	return image.Rect(0, 0, n, n).Add(image.Pt((w-n)/2, (h-n)/2))
}

// imagenet are the scale and shift of the usual mean and deviation.
func imagenet() (scale, shift [3]float32) {
	for c, m := range [3]float32{0.485, 0.456, 0.406} {
		s := [3]float32{0.229, 0.224, 0.225}[c]
		scale[c], shift[c] = 1/(255*s), -m/s
	}
	return scale, shift
}

// BenchmarkTransform is a photograph to what a network is trained on: decoding, a random crop resized to 224×224, flip
// and normalisation.
func BenchmarkTransform(b *testing.B) {
	files := pictures(b, "imagenet-240.tar", 240, func(Config) bool { return true })
	scale, shift := imagenet()
	for _, path := range Paths() {
		for _, lenient := range []bool{false, true} {
			name := path.String() + map[bool]string{false: "/strict", true: "/lenient"}[lenient]
			b.Run(name, func(b *testing.B) {
				d, r, p := Decoder{Path: path}, Resampler{Path: path}, Planes{}
				dst, random := make([]float32, 3*224*224), rand.New(rand.NewPCG(1, 2))
				perPicture(b, files, func(file []byte) error {
					c, err := d.Config(file)
					if err != nil {
						return err
					}
					crop := randomResizedCrop(random, c.Width, c.Height)
					if err := d.Decode(&p, file, Options{Crop: crop, Lenient: lenient}); err != nil {
						return err
					}
					r.Float32(dst, 224, 224, &p, crop, random.IntN(2) == 0, scale, shift)
					return nil
				})
			})
		}
	}
}

func BenchmarkResample(b *testing.B) {
	scale, shift := imagenet()
	for _, path := range Paths() {
		b.Run(path.String(), func(b *testing.B) {
			r, p := Resampler{Path: path}, noisePlanes(image.Rect(0, 0, 500, 375), 2, 2, false, 1)
			dst := make([]float32, 3*224*224)
			b.ReportAllocs()
			for b.Loop() {
				r.Float32(dst, 224, 224, p, image.Rect(90, 41, 390, 331), true, scale, shift)
			}
		})
	}
}

// BenchmarkCIFAR is a file of 32×32 pixels to normalised pixels.
func BenchmarkCIFAR(b *testing.B) {
	files := pictures(b, "cifar10-jpeg.tar.gz", 500, func(Config) bool { return true })
	scale, shift := imagenet()
	for _, path := range Paths() {
		b.Run(path.String(), func(b *testing.B) {
			d, p, pixels, dst := Decoder{Path: path}, Planes{}, make([]byte, 3*32*32), make([]float32, 3*32*32)
			perPicture(b, files, func(file []byte) error {
				if err := d.Decode(&p, file, Options{}); err != nil {
					return err
				}
				p.RGB8(pixels, 3*p.Rect.Dx(), p.Rect)
				Normalize(path, dst, pixels, scale, shift)
				return nil
			})
		})
	}
}
