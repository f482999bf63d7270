package augment

import (
	"math/rand/v2"

	"github.com/reprise-ml/reprise/data"
)

// Upright turns and mirrors a picture as its EXIF orientation says. Only the
// first augmentation can do that: what another one makes has no EXIF.
type Upright struct{}

// Check reports nothing.
func (Upright) Check() error { return nil }

// Augment implements [data.Augmentation]. It draws nothing.
func (Upright) Augment(p data.Picture, _ *rand.Rand) (data.Picture, error) {
	if _, _, err := size(p); err != nil {
		return data.Picture{}, err
	}
	return p.Upright(), nil
}
