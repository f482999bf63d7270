package augment

import (
	"fmt"
	"image"
	"math"
	"math/rand/v2"

	"github.com/reprise-ml/reprise/data"
)

// RandomErasing paints a rectangle of random area, shape and place over a
// share P of the pictures (Zhong et al. 2017, arXiv 1708.04896), by
// torchvision's algorithm and with its defaults: up to ten times it draws an
// area and a ratio of height to width, uniform in its logarithm; the first
// rectangle smaller than the picture on both sides is painted, each place
// being as likely as any other. If none is, the picture stays.
//
// Torchvision paints after normalisation, with 0, which is the mean colour of
// the data set: give that as Value to do the same. The authors found random
// values as good: Random draws each anew, from 0 to 255.
type RandomErasing struct {
	P      float64 `yaml:"p"`                // probability; 0 means 0.5
	Scale  Range   `yaml:"scale,omitempty"`  // least and largest area, of the picture's; zeros mean 0.02 and 0.33
	Ratio  Range   `yaml:"ratio,omitempty"`  // least and largest height/width; zeros mean 0.3 and 3.3
	Value  Color   `yaml:"value,omitempty"`  // black if not given
	Random bool    `yaml:"random,omitempty"` // noise instead of Value
}

// Check reports fields out of range.
func (c RandomErasing) Check() error {
	if !(0 <= c.P && c.P <= 1) {
		return fmt.Errorf("augment: random erasing: p is %v, want above 0 and up to 1, or 0 for 0.5", c.P)
	}
	if s := c.scale(); !(0 <= s[0] && s[0] <= s[1] && s[1] <= 1) {
		return fmt.Errorf("augment: random erasing: scale is %v, want two shares up to 1, the lower first", c.Scale)
	}
	if q := c.ratio(); !(0 < q[0] && q[0] <= q[1]) || math.IsInf(q[1], 1) {
		return fmt.Errorf("augment: random erasing: ratio is %v, want two numbers above 0, the lower first", c.Ratio)
	}
	if c.Random && !c.Value.IsZero() {
		return fmt.Errorf("augment: random erasing: value is %v and random is set, want one of the two", c.Value)
	}
	return nil
}

func (c RandomErasing) scale() Range {
	if c.Scale.IsZero() {
		return Range{0.02, 0.33}
	}
	return c.Scale
}

func (c RandomErasing) ratio() Range {
	if c.Ratio.IsZero() {
		return Range{0.3, 3.3}
	}
	return c.Ratio
}

// Augment implements [data.Augmentation]. It draws 24 values.
func (c RandomErasing) Augment(p data.Picture, r *rand.Rand) (data.Picture, error) {
	if err := c.Check(); err != nil {
		return data.Picture{}, err
	}
	w, h, err := size(p)
	if err != nil {
		return data.Picture{}, err
	}
	share := c.P
	if share == 0 {
		share = 0.5
	}
	erases := r.Float64() < share
	part := c.part(w, h, r)
	noise := rand.NewPCG(r.Uint64(), 0) // of its own, since parts differ in size
	if !erases || part.Empty() {
		return p, nil
	}
	p = own(p)
	for y := part.Min.Y; y < part.Max.Y; y++ {
		row := p.Pix[3*(y*w+part.Min.X) : 3*(y*w+part.Max.X)]
		for ; len(row) >= 3; row = row[3:] {
			if copy(row, c.Value[:]); c.Random {
				v := noise.Uint64()
				row[0], row[1], row[2] = uint8(v), uint8(v>>8), uint8(v>>16)
			}
		}
	}
	return p, nil
}

// part draws the part of a w×h picture to paint over.
func (c RandomErasing) part(w, h int, r *rand.Rand) (part image.Rectangle) {
	scale, ratio := c.scale(), c.ratio()
	least, most := math.Log(ratio[0]), math.Log(ratio[1])
	across, down := r.Float64(), r.Float64()
	for range tries {
		area := between(r, scale[0], scale[1]) * float64(w) * float64(h)
		q := math.Exp(between(r, least, most))
		pw, ph := math.RoundToEven(math.Sqrt(area/q)), math.RoundToEven(math.Sqrt(area*q))
		if part.Empty() && pw < float64(w) && ph < float64(h) {
			x, y := across*(float64(w)-pw+1), down*(float64(h)-ph+1)
			part = image.Rect(0, 0, int(pw), int(ph)).Add(image.Pt(int(x), int(y)))
		}
	}
	return part
}
