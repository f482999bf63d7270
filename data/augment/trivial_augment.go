package augment

import (
	"math/rand/v2"

	"github.com/reprise-ml/reprise/data"
)

// TrivialAugment applies one operation, drawn from the fourteen of
// [RandAugment] with equal probability, with a magnitude drawn from 31
// (Müller and Hutter 2021, arXiv 2103.10158). The magnitudes are those of the
// wide space, as in torchvision's TrivialAugmentWide.
type TrivialAugment struct {
	Fill Color `yaml:"fill,omitempty"` // of what comes in from outside; black if not given
}

// Check reports nothing: any Fill will do.
func (c TrivialAugment) Check() error { return nil }

// Augment implements [data.Augmentation]. It draws three values.
func (c TrivialAugment) Augment(p data.Picture, r *rand.Rand) (data.Picture, error) {
	w, h, err := size(p)
	if err != nil {
		return data.Picture{}, err
	}
	ops, magnitudes := operations(), trivialAugmentScales()
	k, bin := below(r, kinds), below(r, bins)
	to := make([]uint8, 3*w*h)
	ops[k].apply(to, p.RGB().Pix, w, h, magnitudes[k].draw(bin, r), c.Fill)
	return data.Picture{Pix: to, Width: w, Height: h}, nil
}

func trivialAugmentScales() [kinds]scale { return scales(0.99, 32, 32, 135, 0.99, 6) }
