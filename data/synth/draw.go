package synth

import (
	"image"
	"math"
	"math/rand/v2"
)

// colour is red, green and blue, 0 to 1, or beyond until it is stored.
type colour [3]float64

// mix is a, or b where t is 1.
func (a colour) mix(b colour, t float64) colour {
	for c := range a {
		a[c] += t * (b[c] - a[c])
	}
	return a
}

// tint returns a random colour of a luma.
func tint(luma float64, r *rand.Rand) colour {
	sin, cos := math.Sincos(2 * math.Pi * r.Float64())
	radius := 0.3 * r.Float64()
	cb, cr := radius*cos, radius*sin
	return colour{luma + 1.402*cr, luma - 0.344*cb - 0.714*cr, luma + 1.772*cb}
}

// item is a shape somewhere in the picture.
type item struct {
	kind
	x, y, radius float64 // in pixels
	turn, grain  float64 // rotation of the outline and of the texture
	period       float64 // of the texture, in radii
	a, b         colour
}

// between returns a number from lo to hi.
func between(lo, hi float64, r *rand.Rand) float64 { return lo + (hi-lo)*r.Float64() }

// contrasting returns a luma that differs from another by lo to hi.
func contrasting(luma, lo, hi float64, r *rand.Rand) float64 {
	d := between(lo, hi, r)
	if up := luma + d; up <= 1 && (luma-d < 0 || r.IntN(2) == 0) {
		return up
	}
	return luma - d
}

// newItem dresses a kind in random colours that differ from ground, a luma.
func newItem(k kind, radius, ground float64, r *rand.Rand) item {
	it := item{kind: k, radius: radius}
	it.turn, it.grain = between(0, 2*math.Pi, r), between(0, 2*math.Pi, r)
	it.period = max(between(0.45, 0.65, r), 4/radius)
	luma := contrasting(ground, 0.12, 0.5, r)
	it.a = tint(luma, r)
	it.b = tint(contrasting(luma, 0.25, 0.6, r), r)
	return it
}

// draw makes the picture of a kind, size×size pixels: the subject among
// clutter, or alone.
func draw(k kind, size int, alone bool, r *rand.Rand) *image.RGBA {
	side := float64(size)
	c := canvas{size: size, pix: make([]colour, size*size)}
	ground := between(0.15, 0.85, r)
	if alone {
		fill := tint(ground, r)
		for i := range c.pix {
			c.pix[i] = fill
		}
		subject := newItem(k, side*between(0.38, 0.48, r), ground, r)
		subject.turn, subject.grain = 0, 0
		subject.x, subject.y = side*between(0.4, 0.6, r), side*between(0.4, 0.6, r)
		c.add(subject)
		return c.expose(1, 0, 0, r)
	}
	c.ground(ground, r)
	subject := newItem(k, side*between(0.27, 0.42, r), ground, r)
	subject.x = between(0.8*subject.radius, side-0.8*subject.radius, r)
	subject.y = between(0.8*subject.radius, side-0.8*subject.radius, r)
	for range 1 + r.IntN(4) {
		c.add(clutter(side, ground, r))
	}
	c.add(subject)
	if r.IntN(3) == 0 {
		c.add(clutter(side, ground, r))
	}
	return c.expose(between(0.75, 1.1, r), between(-0.08, 0.08, r), between(0, 0.06, r), r)
}

// clutter returns a small item of any kind anywhere.
func clutter(side, ground float64, r *rand.Rand) item {
	k := kind{shape(r.IntN(shapes)), texture(r.IntN(textures))}
	it := newItem(k, side*between(0.05, 0.11, r), ground, r)
	it.x, it.y = between(0, side, r), between(0, side, r)
	return it
}

// canvas is a picture in the making.
type canvas struct {
	size int
	pix  []colour
}

// ground fills the canvas with a fade between two tints of about one luma,
// under clouds: smooth noise on a coarse grid.
func (c *canvas) ground(luma float64, r *rand.Rand) {
	const cells = 5
	var clouds [cells + 1][cells + 1]float64
	depth := between(0, 0.22, r)
	for y := range clouds {
		for x := range clouds[y] {
			clouds[y][x] = depth * between(-1, 1, r)
		}
	}
	from, to := tint(luma, r), tint(luma, r)
	sin, cos := math.Sincos(between(0, 2*math.Pi, r))
	scale := 1 / float64(c.size)
	for y := range c.size {
		v := (float64(y) + 0.5) * scale
		gy, fy := math.Modf(v * cells)
		fy *= fy * (3 - 2*fy)
		upper, lower := &clouds[int(gy)], &clouds[int(gy)+1]
		for x := range c.size {
			u := (float64(x) + 0.5) * scale
			gx, fx := math.Modf(u * cells)
			fx *= fx * (3 - 2*fx)
			i := int(gx)
			top := upper[i] + fx*(upper[i+1]-upper[i])
			bottom := lower[i] + fx*(lower[i+1]-lower[i])
			cloud := top + fy*(bottom-top)
			p := from.mix(to, 0.5+0.7*((u-0.5)*cos+(v-0.5)*sin))
			for ch := range p {
				p[ch] += cloud
			}
			c.pix[y*c.size+x] = p
		}
	}
}

// add draws it over what is there, with smooth edges.
func (c *canvas) add(it item) {
	reach := 1.15*it.radius + 1
	x0, x1 := max(0, int(it.x-reach)), min(c.size, int(it.x+reach)+1)
	y0, y1 := max(0, int(it.y-reach)), min(c.size, int(it.y+reach)+1)
	sin, cos := math.Sincos(it.turn)
	gsin, gcos := math.Sincos(it.grain)
	for y := y0; y < y1; y++ {
		dy := (float64(y) + 0.5 - it.y) / it.radius
		for x := x0; x < x1; x++ {
			dx := (float64(x) + 0.5 - it.x) / it.radius
			cover := 0.5 - it.radius*it.shape.distance(dx*cos+dy*sin, dy*cos-dx*sin)
			if cover <= 0 {
				continue
			}
			t := it.texture.at(dx*gcos+dy*gsin, dy*gcos-dx*gsin, it.period, it.radius)
			p := &c.pix[y*c.size+x]
			*p = p.mix(it.a.mix(it.b, t), min(cover, 1))
		}
	}
}

// expose stores the canvas in 8 bits, under a light of some gain and lift and
// with noise as the grain of a film has it.
func (c *canvas) expose(gain, lift, noise float64, r *rand.Rand) *image.RGBA {
	m := image.NewRGBA(image.Rect(0, 0, c.size, c.size))
	for i, p := range c.pix {
		n := lift + noise*between(-1, 1, r)
		q := m.Pix[4*i : 4*i+4 : 4*i+4]
		for ch, v := range p {
			q[ch] = uint8(255*min(max(gain*v+n, 0), 1) + 0.5)
		}
		q[3] = 0xff
	}
	return m
}
