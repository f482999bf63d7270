package augment

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/reprise-ml/reprise/data"
)

// ColorJitter changes brightness, contrast, saturation and hue, each by a
// random amount, in random order. What it does is what torchvision's does to
// a PIL image, to the last bit of the colours:
//
//   - brightness: a mixture with black,
//   - contrast: with the mean gray of the picture,
//   - saturation: with the gray of the same pixel,
//   - hue: a turn of the colour circle.
//
// The share of the picture in a mixture is drawn from max(0, 1−x) to 1+x,
// where x is the field; above 1 it moves away from the gray. The turn is
// drawn from −Hue to Hue. A field of 0 leaves its property alone.
type ColorJitter struct {
	Brightness float64 `yaml:"brightness"` // 0 or more
	Contrast   float64 `yaml:"contrast"`   // 0 or more
	Saturation float64 `yaml:"saturation"` // 0 or more
	Hue        float64 `yaml:"hue"`        // 0 to 0.5, in turns
}

// Check reports fields out of range.
func (c ColorJitter) Check() error {
	for _, f := range []struct {
		name  string
		value float64
	}{{"brightness", c.Brightness}, {"contrast", c.Contrast}, {"saturation", c.Saturation}} {
		if !(f.value >= 0) || math.IsInf(f.value, 1) {
			return fmt.Errorf("augment: color jitter: %s is %v, want 0 or more", f.name, f.value)
		}
	}
	if !(0 <= c.Hue && c.Hue <= 0.5) {
		return fmt.Errorf("augment: color jitter: hue is %v, want 0 to 0.5", c.Hue)
	}
	return nil
}

// Augment implements [data.Augmentation]. It draws seven values.
func (c ColorJitter) Augment(p data.Picture, r *rand.Rand) (data.Picture, error) {
	if err := c.Check(); err != nil {
		return data.Picture{}, err
	}
	if _, _, err := size(p); err != nil {
		return data.Picture{}, err
	}
	changes := [4]struct {
		most, amount float64
		apply        func(pix []uint8, amount float64)
	}{
		{c.Brightness, share(r, c.Brightness), brighten},
		{c.Contrast, share(r, c.Contrast), contrast},
		{c.Saturation, share(r, c.Saturation), saturate},
		{c.Hue, between(r, -c.Hue, c.Hue), turn},
	}
	p = own(p)
	for _, i := range order(r) {
		if change := changes[i]; change.most > 0 {
			change.apply(p.Pix, change.amount)
		}
	}
	return p, nil
}

// share draws how much of the picture is in a mixture.
func share(r *rand.Rand, x float64) float64 { return between(r, max(0, 1-x), 1+x) }

// order draws the order of four changes.
func order(r *rand.Rand) [4]int {
	o := [4]int{0, 1, 2, 3}
	for i := len(o) - 1; i > 0; i-- {
		j := below(r, i+1)
		o[i], o[j] = o[j], o[i]
	}
	return o
}

// own returns p as pixels that may be written to.
func own(p data.Picture) data.Picture {
	if p.Pix == nil {
		return p.RGB()
	}
	p.Pix = slices.Clone(p.Pix)
	return p
}

// mix moves from gray to v and beyond by a share, as PIL's blend: float32,
// rounded down.
func mix(gray, v uint8, share float32) uint8 {
	x := float32(gray) + float32(share*(float32(v)-float32(gray)))
	return uint8(min(max(x, 0), 255))
}

// gray is the luma of a colour, as PIL's mode L (ITU-R 601-2).
func gray(r, g, b uint8) uint8 {
	return uint8((19595*uint32(r) + 38470*uint32(g) + 7471*uint32(b) + 1<<15) >> 16)
}

// mixAll mixes every value of pix with one gray.
func mixAll(pix []uint8, g uint8, share float64) {
	var table [256]uint8
	for v := range table {
		table[v] = mix(g, uint8(v), float32(share))
	}
	for i, v := range pix {
		pix[i] = table[v]
	}
}

func brighten(pix []uint8, share float64) { mixAll(pix, 0, share) }

func contrast(pix []uint8, share float64) {
	sum := 0
	for i := 0; i+3 <= len(pix); i += 3 {
		sum += int(gray(pix[i], pix[i+1], pix[i+2]))
	}
	mean := float64(sum) / float64(len(pix)/3)
	mixAll(pix, uint8(mean+0.5), share)
}

func saturate(pix []uint8, share float64) {
	s := float32(share)
	for i := 0; i+3 <= len(pix); i += 3 {
		q := pix[i : i+3 : i+3]
		g := gray(q[0], q[1], q[2])
		q[0], q[1], q[2] = mix(g, q[0], s), mix(g, q[1], s), mix(g, q[2], s)
	}
}

// turn adds to the hue, which goes round after 1.
func turn(pix []uint8, turns float64) {
	shift := uint8(int(turns * 255)) // wraps
	for i := 0; i+3 <= len(pix); i += 3 {
		q := pix[i : i+3 : i+3]
		h, s, v := hsv(q[0], q[1], q[2])
		q[0], q[1], q[2] = rgb(h+shift, s, v)
	}
}
