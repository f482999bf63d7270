package augment

import (
	"encoding/binary"
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
func (f Flip) Augment(p data.Picture, r *rand.Rand) (data.Picture, error) {
	if err := f.Check(); err != nil {
		return data.Picture{}, err
	}
	w, h, err := size(p)
	if err != nil {
		return data.Picture{}, err
	}
	share := f.P
	if share == 0 {
		share = 0.5
	}
	if r.Float64() >= share {
		return p, nil
	}
	p = p.RGB()
	out := data.Picture{Pix: make([]uint8, len(p.Pix)), Width: w, Height: h}
	for y := range h {
		from, to := p.Pix[3*w*y:3*w*(y+1)], out.Pix[3*w*y:3*w*(y+1)]
		for ; len(to) > 3; to, from = to[3:], from[:len(from)-3] {
			// Four bytes at once. The fourth is not of the pixel, and is overwritten by the next one.
			binary.LittleEndian.PutUint32(to, binary.LittleEndian.Uint32(from[len(from)-4:])>>8)
		}
		copy(to, from)
	}
	return out, nil
}
