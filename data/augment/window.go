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

// see augments p by a geometry.
func see(g data.Geometry, p data.Picture, r *rand.Rand) (data.Picture, error) {
	w, h, err := size(p)
	if err != nil {
		return data.Picture{}, err
	}
	v, err := g.View(w, h, r)
	if err != nil {
		return data.Picture{}, err
	}
	return p.See(v), nil
}

// window is the view of the w×h pixels from (x, y) on.
func window(x, y, w, h int) data.View {
	return data.View{Part: image.Rect(x, y, x+w, y+h), Width: w, Height: h}
}
