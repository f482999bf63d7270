package augment

import (
	"fmt"
	"image"
	"math"
	"math/rand/v2"

	"github.com/reprise-ml/reprise/data"
)

// Cutmix pastes a rectangle of one picture into another, in the same place
// (Yun et al. 2019, arXiv 1905.04899). With λ drawn from Beta(Alpha, Alpha)
// for each batch, its sides are √(1−λ) of the picture's; its middle is any
// pixel, and what lies outside the picture is lost. The share of the classes
// is that of the pixels that are left.
type Cutmix struct {
	Alpha float64 `yaml:"alpha"` // 0 means 1, the authors' choice
}

// mix writes the rows of x, [N,H,W,C], with a rectangle of their partners to
// out, and returns the share of a row's own pixels.
func (m Cutmix) mix(out []float32, x data.Array, partner []int, r *rand.Rand) (float32, error) {
	if len(x.Shape) != 4 {
		return 0, fmt.Errorf("augment: cutmix: inputs have the shape %v, want [N,H,W,C]", x.Shape)
	}
	h, w, c := x.Shape[1], x.Shape[2], x.Shape[3]
	part := m.part(w, h, r)
	copy(out, x.F32)
	for i, j := range partner {
		for y := part.Min.Y; y < part.Max.Y; y++ {
			row := func(n int) int { return ((n*h+y)*w + part.Min.X) * c }
			copy(out[row(i):][:part.Dx()*c], x.F32[row(j):])
		}
	}
	return 1 - float32(part.Dx()*part.Dy())/float32(w*h), nil
}

// part draws the rectangle, in w×h pixels.
func (m Cutmix) part(w, h int, r *rand.Rand) image.Rectangle {
	side := math.Sqrt(1 - beta(orElse(m.Alpha, 1), r))
	pw, ph := int(float64(w)*side), int(float64(h)*side)
	x, y := below(r, w), below(r, h)
	return image.Rect(x-pw/2, y-ph/2, x+pw/2, y+ph/2).Intersect(image.Rect(0, 0, w, h))
}
