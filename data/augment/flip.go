package augment

import (
	"fmt"
	"math/rand/v2"

	"github.com/reprise-ml/reprise/data"
)

// Flip swaps left and right in a share P of the pictures.
type Flip struct {
	P float64 `yaml:"p"` // probability; 0 means 0.5
}

// Check reports fields out of range.
func (f Flip) Check() error {
	if !(0 <= f.P && f.P <= 1) {
		return fmt.Errorf("augment: flip: p is %v, want above 0 and up to 1, or 0 for 0.5", f.P)
	}
	return nil
}

// Augment implements [data.Augmentation]. It draws one value.
func (f Flip) Augment(p data.Picture, r *rand.Rand) (data.Picture, error) { return see(f, p, r) }

// View implements [data.Geometry].
func (f Flip) View(w, h int, r *rand.Rand) (data.View, error) {
	if err := f.Check(); err != nil {
		return data.View{}, err
	}
	share := f.P
	if share == 0 {
		share = 0.5
	}
	v := data.Whole(w, h)
	v.Flip = r.Float64() < share
	return v, nil
}
