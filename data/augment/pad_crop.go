package augment

import (
	"fmt"
	"math/rand/v2"

	"github.com/reprise-ml/reprise/data"
)

// PadCrop adds Pad black pixels on each side and cuts a picture of the
// original size, or of Size×Size, out of the result, each place being as
// likely as any other. It fails on a picture which, padded, is smaller than
// Size.
//
// It is the crop that goes with CIFAR (He et al. 2016, arXiv 1512.03385,
// section 4.2), there with a Pad of 4.
type PadCrop struct {
	Pad  int `yaml:"pad"`  // pixels, on each side
	Size int `yaml:"size"` // pixels; 0 means the picture's own size
}

// Check reports fields out of range.
func (c PadCrop) Check() error {
	if c.Pad < 0 {
		return fmt.Errorf("augment: pad crop: pad is %d, want 0 or more", c.Pad)
	}
	if c.Size < 0 {
		return fmt.Errorf("augment: pad crop: size is %d, want 1 or more, or 0 for the picture's own", c.Size)
	}
	return nil
}

// Augment implements [data.Augmentation]. It draws two values.
func (c PadCrop) Augment(p data.Picture, r *rand.Rand) (data.Picture, error) { return see(c, p, r) }

// View implements [data.Geometry].
func (c PadCrop) View(w, h int, r *rand.Rand) (data.View, error) {
	if err := c.Check(); err != nil {
		return data.View{}, err
	}
	toW, toH := w, h
	if c.Size > 0 {
		toW, toH = c.Size, c.Size
	}
	roomX, roomY := w+2*c.Pad-toW, h+2*c.Pad-toH
	if roomX < 0 || roomY < 0 {
		return data.View{}, fmt.Errorf("augment: pad crop: the picture is %d×%d pixels and the pad %d, too little for a size of %d", w, h, c.Pad, c.Size)
	}
	x := below(r, roomX+1) - c.Pad
	y := below(r, roomY+1) - c.Pad
	return window(x, y, toW, toH), nil
}
