package synth

import (
	"math"
	"slices"
	"strings"
)

// kind is what a class looks like.
type kind struct {
	shape   shape
	texture texture
}

func (k kind) String() string { return k.shape.String() + "-" + k.texture.String() }

// kinds returns what the classes look like, sorted by name. They fill a
// square of shapes and textures as evenly as their number allows, so that
// neither decides the class; plain ones are shapes alone.
func (c Config) kinds() []kind {
	side := int(math.Ceil(math.Sqrt(float64(c.Classes))))
	ks := make([]kind, c.Classes)
	for i := range ks {
		ks[i] = kind{shape(i % side), texture(i / side)}
		if c.Plain {
			ks[i] = kind{shape(i), plain}
		}
	}
	slices.SortFunc(ks, func(a, b kind) int { return strings.Compare(a.String(), b.String()) })
	return ks
}

// shape is an outline of about radius 1 around the origin.
type shape int

const shapes = 8

func (s shape) String() string {
	return [shapes]string{"disc", "square", "star", "ring", "triangle", "cross", "crescent", "bar"}[s]
}

// distance is negative inside the outline and, near it, about the distance
// to it.
func (s shape) distance(u, v float64) float64 {
	au, av := math.Abs(u), math.Abs(v)
	switch s {
	case 0: // disc
		return math.Hypot(u, v) - 0.88
	case 1: // square
		return max(au, av) - 0.78
	case 2: // star of five points: a line from a point to a notch, mirrored ten times
		const notch = 0.45
		angle := math.Abs(math.Mod(math.Atan2(v, u)+2*math.Pi, 2*math.Pi/5) - math.Pi/5)
		sin, cos := math.Sincos(math.Pi/5 - angle)
		r := math.Hypot(u, v)
		qu, qv := notch*math.Cos(math.Pi/5)-1, notch*math.Sin(math.Pi/5)
		return ((r*cos-1)*qv - r*sin*qu) / math.Hypot(qu, qv)
	case 3: // ring
		return math.Abs(math.Hypot(u, v)-0.7) - 0.26
	case 4: // triangle
		return max(v, math.Sqrt(3)/2*au-v/2) - 0.56
	case 5: // cross
		return min(max(au-1, av-0.33), max(au-0.33, av-1))
	case 6: // crescent
		return max(math.Hypot(u, v)-0.95, 0.8-math.Hypot(u-0.55, v))
	default: // bar
		return max(au-1, av-0.38)
	}
}

// texture is a pattern of two colours that fills the plane.
type texture int

const textures = 8

// plain is one colour.
const plain texture = 2

func (t texture) String() string {
	return [textures]string{"stripes", "dots", "plain", "checks", "rings", "rays", "blotches", "fade"}[t]
}

// at is how much of the second colour is at a point of an item of radius
// pixels, 0 to 1. The pattern repeats after period; its edges are a pixel
// wide.
func (t texture) at(u, v, period, radius float64) float64 {
	var edge float64 // about the distance to where the colours meet, positive in the second
	switch t {
	case 0: // stripes
		edge = period * wave(u/period)
	case 1: // dots
		edge = period * (0.31 - math.Hypot(0.25-wave(u/period), 0.25-wave(v/period)))
	case plain:
		return 0
	case 3: // checks
		cell := 1.25 * period
		du, dv := wave(u/cell), wave(v/cell)
		edge = cell * math.Copysign(min(math.Abs(du), math.Abs(dv)), du*dv)
	case 4: // rings
		edge = period * wave(math.Hypot(u, v)/period)
	case 5: // rays
		n := math.Round(3.6 / period)
		edge = math.Hypot(u, v) * 2 * math.Pi / n * wave(math.Atan2(v, u)/(2*math.Pi)*n)
	case 6: // blotches
		k := 5 / period
		edge = (math.Sin(k*u+1.7*math.Sin(0.7*k*v)) + math.Sin(k*v+1.7*math.Sin(0.6*k*u+2))) / k
	default: // fade
		return min(max(0.5+0.7*u, 0), 1)
	}
	return min(max(0.5+radius*edge, 0), 1)
}

// wave is a triangle of period 1, from -1/4 at 0 to 1/4 at 1/2.
func wave(x float64) float64 { return 0.25 - math.Abs(x-math.Floor(x)-0.5) }
