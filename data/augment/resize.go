package augment

import (
	"errors"
	"fmt"
	"image"
	"math/rand/v2"

	"github.com/reprise-ml/reprise/data"
)

// Resize makes the shorter side Size pixels long and keeps the shape, the
// longer side being rounded down; or it makes the picture Width×Height and
// does not. Just one of the two is given. It fails where the result has more
// than [data.MaxPixels].
type Resize struct {
	Size   int `yaml:"size,omitempty"`   // of the shorter side, in pixels
	Width  int `yaml:"width,omitempty"`  // in pixels, together with Height
	Height int `yaml:"height,omitempty"` // in pixels, together with Width
}

// Check reports fields out of range.
func (c Resize) Check() error {
	shape := c.Width != 0 || c.Height != 0
	switch {
	case c.Size == 0 && !shape:
		return errors.New("augment: resize: want size, or width and height")
	case c.Size != 0 && shape:
		return errors.New("augment: resize: want size, or width and height, not both")
	case c.Size < 0:
		return fmt.Errorf("augment: resize: size is %d, want 1 or more", c.Size)
	case shape && (c.Width < 1 || c.Height < 1):
		return fmt.Errorf("augment: resize: width and height are %d and %d, want both 1 or more", c.Width, c.Height)
	}
	return nil
}

// Augment implements [data.Augmentation]. It draws nothing.
func (c Resize) Augment(p data.Picture, r *rand.Rand) (data.Picture, error) { return see(c, p, r) }

// View implements [data.Geometry].
func (c Resize) View(w, h int, _ *rand.Rand) (data.View, error) {
	if err := c.Check(); err != nil {
		return data.View{}, err
	}
	toW, toH := c.Width, c.Height
	if c.Size > 0 {
		short := min(w, h)
		toW, toH = c.Size*w/short, c.Size*h/short
	}
	if toW > data.MaxPixels/toH {
		return data.View{}, fmt.Errorf("augment: resize: a picture of %d×%d pixels becomes %d×%d, more than %d", w, h, toW, toH, data.MaxPixels)
	}
	return data.View{Part: image.Rect(0, 0, w, h), Width: toW, Height: toH}, nil
}
