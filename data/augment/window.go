package augment

import (
	"errors"
	"image"
	"math/rand/v2"

	"github.com/reprise-ml/reprise/data"
)

// size returns width and height of p, or an error where p has no pixels to
// work on.
func size(p data.Picture) (w, h int, err error) {
	if p.Encoded != nil {
		return 0, 0, errors.New("augment: the picture is not decoded")
	}
	if w, h = p.Bounds(); w < 1 || h < 1 {
		return 0, 0, errors.New("augment: the picture has no pixels")
	}
	return w, h, nil
}

// below draws a number from 0 to n-1. Unlike rand.IntN it takes one value of
// r whatever n is.
func below(r *rand.Rand, n int) int { return int(r.Float64() * float64(n)) }

// between draws a number from lo up to hi.
func between(r *rand.Rand, lo, hi float64) float64 { return lo + float64((hi-lo)*r.Float64()) }

// window returns the w×h pixels of p from (x, y) on. What lies outside p is
// black.
func window(p data.Picture, x, y, w, h int) data.Picture {
	pw, ph := p.Bounds()
	whole := image.Rect(0, 0, pw, ph)
	want := image.Rect(x, y, x+w, y+h)
	if want == whole {
		return p.RGB()
	}
	got := want.Intersect(whole)
	if p.Pix == nil {
		p, got = cut(p, got), got.Sub(got.Min)
		if got.Dx() == w && got.Dy() == h {
			return p
		}
		want = want.Sub(image.Pt(max(x, 0), max(y, 0)))
		pw = p.Width
	}
	out := data.Picture{Pix: make([]uint8, 3*w*h), Width: w, Height: h}
	for row := got.Min.Y; row < got.Max.Y; row++ {
		to := 3 * ((row-want.Min.Y)*w + got.Min.X - want.Min.X)
		copy(out.Pix[to:], p.Pix[3*(row*pw+got.Min.X):][:3*got.Dx()])
	}
	return out
}

// cut returns the pixels in part, inside the bounds, of a picture with an
// Image, converting no others if the Image allows it.
func cut(p data.Picture, part image.Rectangle) data.Picture {
	if s, ok := p.Image.(interface {
		SubImage(image.Rectangle) image.Image
	}); ok {
		return data.Picture{Image: s.SubImage(part.Add(p.Image.Bounds().Min))}.RGB()
	}
	return window(p.RGB(), part.Min.X, part.Min.Y, part.Dx(), part.Dy())
}
