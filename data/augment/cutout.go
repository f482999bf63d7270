package augment

import (
	"fmt"
	"math/rand/v2"

	"github.com/reprise-ml/reprise/data"
)

// Cutout paints a square over the picture (DeVries and Taylor 2017, arXiv
// 1708.04552; for CIFAR-10 with a Size of 16). Every pixel is its centre as
// likely as any other, and what lies outside the picture is lost, so that the
// square is whole only away from the border.
//
// The authors paint after normalisation, with 0, which is the mean colour of
// the data set: give that as Fill to do the same.
type Cutout struct {
	Size int   `yaml:"size"`           // side of the square, in pixels
	Fill Color `yaml:"fill,omitempty"` // black if not given
}

// Check reports fields out of range.
func (c Cutout) Check() error {
	if c.Size < 1 {
		return fmt.Errorf("augment: cutout: size is %d, want 1 or more", c.Size)
	}
	return nil
}

// Augment implements [data.Augmentation]. It draws two values.
func (c Cutout) Augment(p data.Picture, r *rand.Rand) (data.Picture, error) {
	if err := c.Check(); err != nil {
		return data.Picture{}, err
	}
	w, h, err := size(p)
	if err != nil {
		return data.Picture{}, err
	}
	x, y := below(r, w)-c.Size/2, below(r, h)-c.Size/2
	p = own(p)
	for row := max(y, 0); row < min(y+c.Size, h); row++ {
		for col := max(x, 0); col < min(x+c.Size, w); col++ {
			copy(p.Pix[3*(row*w+col):], c.Fill[:])
		}
	}
	return p, nil
}
