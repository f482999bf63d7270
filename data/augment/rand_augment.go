package augment

import (
	"fmt"
	"math/rand/v2"

	"github.com/reprise-ml/reprise/data"
)

// RandAugment applies a number of operations in turn, each drawn from fourteen with
// equal probability, all with one magnitude (Cubuk et al. 2019, arXiv
// 1909.13719). The operations and what the magnitude means to each are
// torchvision's RandAugment: shears, translations and a rotation, of nearest
// pixels; brightness, color, contrast and sharpness; posterize, solarize,
// autocontrast and equalize; and the identity. Those with two directions take
// either with equal probability.
type RandAugment struct {
	Operations int   `yaml:"operations"`     // how many, up to 14; the N of the paper; 0 means 2
	Magnitude  int   `yaml:"magnitude"`      // 1 to 30; 0 means 9
	Fill       Color `yaml:"fill,omitempty"` // of what comes in from outside; black if not given
}

// Check reports fields out of range.
func (c RandAugment) Check() error {
	if c.Operations < 0 || c.Operations > kinds {
		return fmt.Errorf("augment: rand augment: operations is %d, want 1 to %d, or 0 for 2", c.Operations, kinds)
	}
	if c.Magnitude < 0 || c.Magnitude >= bins {
		return fmt.Errorf("augment: rand augment: magnitude is %d, want 1 to %d, or 0 for 9", c.Magnitude, bins-1)
	}
	return nil
}

// Augment implements [data.Augmentation]. It draws two values for each
// operation.
func (c RandAugment) Augment(p data.Picture, r *rand.Rand) (data.Picture, error) {
	if err := c.Check(); err != nil {
		return data.Picture{}, err
	}
	w, h, err := size(p)
	if err != nil {
		return data.Picture{}, err
	}
	n, bin := c.Operations, c.Magnitude
	if n == 0 {
		n = 2
	}
	if bin == 0 {
		bin = 9
	}
	ops, magnitudes := operations(), randAugmentScales(float64(w), float64(h))
	from := p.RGB().Pix
	var painted [2][]uint8 // by turns
	for i := range n {
		k, to := below(r, kinds), &painted[i%2]
		if *to == nil {
			*to = make([]uint8, len(from))
		}
		ops[k].apply(*to, from, w, h, magnitudes[k].draw(bin, r), c.Fill)
		from = *to
	}
	return data.Picture{Pix: from, Width: w, Height: h}, nil
}

func randAugmentScales(w, h float64) [kinds]scale {
	return scales(0.3, 150./331*w, 150./331*h, 30, 0.9, 4)
}
