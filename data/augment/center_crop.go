package augment

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/reprise-ml/reprise/data"
)

// CenterCrop keeps the Size×Size pixels in the middle. Where the picture is
// smaller there is black round it.
type CenterCrop struct {
	Size int `yaml:"size"` // pixels
}

// Check reports fields out of range.
func (c CenterCrop) Check() error {
	if c.Size < 1 {
		return fmt.Errorf("augment: center crop: size is %d, want 1 or more", c.Size)
	}
	return nil
}

// Augment implements [data.Augmentation]. It draws nothing.
func (c CenterCrop) Augment(p data.Picture, r *rand.Rand) (data.Picture, error) { return see(c, p, r) }

// View implements [data.Geometry].
func (c CenterCrop) View(w, h int, _ *rand.Rand) (data.View, error) {
	return window(c.start(w), c.start(h), c.Size, c.Size), c.Check()
}

// start is where the middle begins on a side of n pixels, rounded as
// torchvision does; below 0 where the side is too short.
func (c CenterCrop) start(n int) int {
	if n < c.Size {
		return -((c.Size - n) / 2)
	}
	return int(math.RoundToEven(float64(n-c.Size) / 2))
}
