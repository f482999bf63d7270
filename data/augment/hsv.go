package augment

import "math"

// hsv returns hue, saturation and value of a colour, each from 0 to 255, in
// the arithmetic of PIL's mode HSV: float32 between steps, rounded down.
func hsv(r, g, b uint8) (h, s, v uint8) {
	most, least := max(r, g, b), min(r, g, b)
	if most == least {
		return 0, 0, most
	}
	spread := float32(most - least)
	rest := func(c uint8) float64 { return float64(float32(most-c) / spread) }
	var hue float32
	switch most {
	case r:
		hue = float32(rest(b) - rest(g))
	case g:
		hue = float32(2 + rest(r) - rest(b))
	default:
		hue = float32(4 + rest(g) - rest(r))
	}
	hue = float32(math.Mod(float64(hue)/6+1, 1))
	saturation := spread / float32(most)
	return uint8(float64(hue) * 255), uint8(float64(saturation) * 255), most
}

// rgb is the inverse of hsv, as far as 8 bits allow: rounded to nearest.
func rgb(h, s, v uint8) (r, g, b uint8) {
	if s == 0 {
		return v, v, v
	}
	sector := math.Floor(float64(h) * 6 / 255)
	f := float64(float32(float64(h)*6/255 - sector))
	fs := float64(float32(float64(s) / 255))
	at := func(x float64) uint8 { return uint8(math.Round(float64(v) * (1 - x))) }
	p, q, t := at(fs), at(float64(float32(fs*f))), at(fs*(1-f))
	switch int(sector) % 6 {
	case 0:
		return v, t, p
	case 1:
		return q, v, p
	case 2:
		return p, v, t
	case 3:
		return p, q, v
	case 4:
		return t, p, v
	default:
		return v, p, q
	}
}
