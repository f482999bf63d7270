package data

import (
	"image"
	"math/rand/v2"

	"github.com/reprise-ml/reprise/internal/jpeg"
)

// View is a part of a picture, perhaps at another size, perhaps mirrored.
// Where the size is another, resampling is bilinear with antialiasing, as
// PIL's BILINEAR; the colours of a JPEG are resampled as it holds them.
type View struct {
	Part          image.Rectangle // in pixels from the upper left corner; what it has outside the picture is black, and it has nothing there where the size is another
	Width, Height int             // of what is seen, in pixels
	Flip          bool            // left and right are swapped
}

// Whole is the view of all of a picture as it is.
func Whole(width, height int) View {
	return View{Part: image.Rect(0, 0, width, height), Width: width, Height: height}
}

// Geometry is an [Augmentation] that moves pixels and changes nothing else: it
// says what is seen of a picture, given its size. [Preparation] joins those
// that follow one another, so that pixels are moved once, and decodes no
// others. What Augment makes must be [Picture.See] of the view.
type Geometry interface {
	Augmentation
	View(width, height int, r *rand.Rand) (View, error)
}

// resizes reports whether v has another size than its part.
func (v View) resizes() bool { return v.Part.Dx() != v.Width || v.Part.Dy() != v.Height }

// then is what next shows of what v shows; it is not ok where no View gives
// the same pixels, to the bit.
func (v View) then(next View) (both View, ok bool) {
	switch frame := image.Rect(0, 0, v.Width, v.Height); {
	case next.Part == frame && !next.resizes():
		if v.Flip && next.Flip { // what looks like no view at all has made planes pixels
			return View{}, false
		}
		v.Flip = v.Flip || next.Flip
		return v, true
	case v.resizes() || next.resizes() || !next.Part.In(frame):
		return View{}, false
	case v.Flip:
		next.Part.Min.X, next.Part.Max.X = v.Width-next.Part.Max.X, v.Width-next.Part.Min.X
	}
	next.Part = next.Part.Add(v.Part.Min)
	next.Flip = v.Flip != next.Flip
	return next, true
}

// See returns what v shows of a decoded picture.
func (p Picture) See(v View) Picture { return p.see(v, new(jpeg.Resampler)) }

func (p Picture) see(v View, r *jpeg.Resampler) Picture {
	w, h := p.Bounds()
	whole := image.Rect(0, 0, w, h)
	if v == Whole(w, h) {
		return p
	}
	if planes, ok := jpeg.PlanesOf(p.Image); ok {
		return v.of(&planes, planes.Rect.Min, r)
	}
	part := v.Part.Intersect(whole)
	if sub, ok := p.Image.(interface {
		SubImage(image.Rectangle) image.Image
	}); ok && !part.Empty() { // the rest need not be converted
		p = Picture{Image: sub.SubImage(part.Add(p.Image.Bounds().Min))}
		v.Part, part = v.Part.Sub(part.Min), part.Sub(part.Min)
	}
	p = p.RGB()
	out := Picture{Pix: make([]uint8, 3*v.Width*v.Height), Width: v.Width, Height: v.Height}
	if v.resizes() {
		r.Pixels(out.Pix, v.Width, v.Height, p.Pix, p.Width, v.Part, v.Flip)
		return out
	}
	for y := part.Min.Y; y < part.Max.Y; y++ {
		copy(out.Pix[v.offset(part.Min.X, y):], p.Pix[3*(y*p.Width+part.Min.X):][:3*part.Dx()])
	}
	out.mirror(v.Flip)
	return out
}

// of returns what v shows of a picture of which planes hold at least that
// much; corner is the place of its upper left pixel in their coordinates.
func (v View) of(planes *jpeg.Planes, corner image.Point, r *jpeg.Resampler) Picture {
	out := Picture{Pix: make([]uint8, 3*v.Width*v.Height), Width: v.Width, Height: v.Height}
	part := v.Part.Add(corner)
	if v.resizes() {
		r.RGB8(out.Pix, v.Width, v.Height, planes, part, v.Flip)
		return out
	}
	if inside := part.Intersect(planes.Rect); !inside.Empty() {
		planes.RGB8(out.Pix[v.offset(inside.Min.X-corner.X, inside.Min.Y-corner.Y):], 3*v.Width, inside)
	}
	out.mirror(v.Flip)
	return out
}

// offset is where the pixel of the picture at (x, y) is in the memory of what
// v shows, before it is mirrored.
func (v View) offset(x, y int) int { return 3 * ((y-v.Part.Min.Y)*v.Width + x - v.Part.Min.X) }

// mirror swaps left and right of pixels that nobody has seen yet.
func (p Picture) mirror(flip bool) {
	if !flip {
		return
	}
	for y := range p.Height {
		row := p.Pix[3*p.Width*y : 3*p.Width*(y+1)]
		for len(row) >= 6 {
			a, b := row[:3:3], row[len(row)-3:]
			a[0], b[0], a[1], b[1], a[2], b[2] = b[0], a[0], b[1], a[1], b[2], a[2]
			row = row[3 : len(row)-3]
		}
	}
}
