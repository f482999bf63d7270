package augment

import (
	"math"
	"math/rand/v2"
)

// operation is one of those that RandAugment and TrivialAugment draw from. It
// either paints a new picture or changes the pixels of a copy.
type operation struct {
	name   string // torchvision's
	paint  func(to, from []uint8, w, h int, magnitude float64, fill Color)
	change func(pix []uint8, amount float64)
	plus   float64 // is added to the magnitude
}

// kinds is how many operations there are.
const kinds = 14

// apply paints on to what o makes of from, both w×h pixels. The two share no
// memory.
func (o operation) apply(to, from []uint8, w, h int, magnitude float64, fill Color) {
	if o.paint != nil {
		o.paint(to, from, w, h, o.plus+magnitude, fill)
		return
	}
	copy(to, from)
	if o.change != nil {
		o.change(to, o.plus+magnitude)
	}
}

// operations returns the fourteen of torchvision, in its order.
func operations() [kinds]operation {
	return [kinds]operation{
		{name: "Identity"},
		{name: "ShearX", paint: shearX},
		{name: "ShearY", paint: shearY},
		{name: "TranslateX", paint: translateX},
		{name: "TranslateY", paint: translateY},
		{name: "Rotate", paint: rotate},
		{name: "Brightness", change: brighten, plus: 1},
		{name: "Color", change: saturate, plus: 1},
		{name: "Contrast", change: contrast, plus: 1},
		{name: "Sharpness", paint: sharpen, plus: 1},
		{name: "Posterize", change: posterize},
		{name: "Solarize", change: solarize},
		{name: "AutoContrast", change: autoContrast},
		{name: "Equalize", change: equalize},
	}
}

// bins is how many magnitudes there are, 0 to 30.
const bins = 31

// scale is a table of the magnitudes of one operation: bins values from one
// to another.
type scale struct {
	from, to float64
	signed   bool // both directions are equally likely
	whole    bool // rounded to whole numbers
}

// at returns the magnitude of a bin, as torch.linspace has it: in float32,
// counted from the nearer end.
func (s scale) at(bin int) float64 {
	if s.whole {
		return s.from + math.RoundToEven((s.to-s.from)*float64(bin)/(bins-1))
	}
	from, to := float32(s.from), float32(s.to)
	step := (to - from) / (bins - 1)
	if bin < bins/2 {
		return float64(from + float32(step*float32(bin)))
	}
	return float64(to - float32(step*float32(bins-1-bin)))
}

// scales are the magnitudes of operations, in their order.
func scales(shear, across, down, angle, mixture, bits float64) [kinds]scale {
	return [kinds]scale{
		{}, // Identity
		{to: shear, signed: true},
		{to: shear, signed: true},
		{to: across, signed: true},
		{to: down, signed: true},
		{to: angle, signed: true},
		{to: mixture, signed: true},
		{to: mixture, signed: true},
		{to: mixture, signed: true},
		{to: mixture, signed: true},
		{from: 8, to: 8 - bits, whole: true},
		{from: 255},
		{}, // AutoContrast
		{}, // Equalize
	}
}

// draw returns the magnitude of a bin in a direction. It draws one value of r
// whether there are two directions or not.
func (s scale) draw(bin int, r *rand.Rand) float64 {
	if back := below(r, 2) == 1; back && s.signed {
		return -s.at(bin)
	}
	return s.at(bin)
}
