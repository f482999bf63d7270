package augment

import (
	"fmt"
	"image"
	"math"
	"math/rand/v2"

	"github.com/reprise-ml/reprise/data"
)

// RandomResizedCrop cuts out a part of random area, shape and place and
// resizes it to Size×Size, by torchvision's algorithm: up to ten times it
// draws an area, a share of the picture's, and a ratio of width to height,
// uniform in its logarithm; the first part that fits in the picture is taken,
// each place being as likely as any other. If none fits it is the largest
// part in the middle whose ratio is in range.
//
// It is the training crop for ImageNet (Szegedy et al. 2014, arXiv 1409.4842,
// section 6), there with a Size of 224.
type RandomResizedCrop struct {
	Size  int   `yaml:"size"`            // pixels
	Scale Range `yaml:"scale,omitempty"` // least and largest area, of the picture's; zeros mean 0.08 and 1
	Ratio Range `yaml:"ratio,omitempty"` // least and largest width/height; zeros mean 3/4 and 4/3
}

// tries is how many parts are drawn.
const tries = 10

// Check reports fields out of range.
func (c RandomResizedCrop) Check() error {
	if c.Size < 1 {
		return fmt.Errorf("augment: random resized crop: size is %d, want 1 or more", c.Size)
	}
	if s := c.scale(); !(0 < s[0] && s[0] <= s[1] && s[1] <= 1) {
		return fmt.Errorf("augment: random resized crop: scale is %v, want two shares above 0 and up to 1, the lower first", c.Scale)
	}
	if q := c.ratio(); !(0 < q[0] && q[0] <= q[1]) || math.IsInf(q[1], 1) {
		return fmt.Errorf("augment: random resized crop: ratio is %v, want two numbers above 0, the lower first", c.Ratio)
	}
	return nil
}

func (c RandomResizedCrop) scale() Range {
	if c.Scale.IsZero() {
		return Range{0.08, 1}
	}
	return c.Scale
}

func (c RandomResizedCrop) ratio() Range {
	if c.Ratio.IsZero() {
		return Range{3. / 4, 4. / 3}
	}
	return c.Ratio
}

// Augment implements [data.Augmentation]. It draws 22 values.
func (c RandomResizedCrop) Augment(p data.Picture, r *rand.Rand) (data.Picture, error) {
	return see(c, p, r)
}

// View implements [data.Geometry].
func (c RandomResizedCrop) View(w, h int, r *rand.Rand) (data.View, error) {
	if err := c.Check(); err != nil {
		return data.View{}, err
	}
	return data.View{Part: c.part(w, h, r), Width: c.Size, Height: c.Size}, nil
}

// part draws the part of a w×h picture to keep.
func (c RandomResizedCrop) part(w, h int, r *rand.Rand) image.Rectangle {
	scale, ratio := c.scale(), c.ratio()
	least, most := math.Log(ratio[0]), math.Log(ratio[1])
	across, down := r.Float64(), r.Float64()
	var part image.Rectangle
	for range tries {
		area := between(r, scale[0], scale[1]) * float64(w) * float64(h)
		q := math.Exp(between(r, least, most))
		pw, ph := math.RoundToEven(math.Sqrt(area*q)), math.RoundToEven(math.Sqrt(area/q))
		if part.Empty() && 0 < pw && pw <= float64(w) && 0 < ph && ph <= float64(h) {
			x, y := across*(float64(w)-pw+1), down*(float64(h)-ph+1)
			part = image.Rect(0, 0, int(pw), int(ph)).Add(image.Pt(int(x), int(y)))
		}
	}
	if part.Empty() {
		return middle(w, h, ratio)
	}
	return part
}

// middle is the largest part in the middle of a w×h picture with a ratio in
// range.
func middle(w, h int, ratio Range) image.Rectangle {
	pw, ph := w, h
	switch q := float64(w) / float64(h); {
	case q < ratio[0]:
		ph = max(1, int(math.RoundToEven(float64(w)/ratio[0])))
	case q > ratio[1]:
		pw = max(1, int(math.RoundToEven(float64(h)*ratio[1])))
	}
	return image.Rect(0, 0, pw, ph).Add(image.Pt((w-pw)/2, (h-ph)/2))
}
