package data

import (
	"fmt"
	"image"
	"image/color"

	"github.com/reprise-ml/reprise/internal/jpeg"
	"github.com/reprise-ml/reprise/internal/kernel"
)

// MaxPixels is the largest picture that is decoded, width times height.
const MaxPixels = 1 << 27

// Picture is a picture in the cheapest form that its place in the pipeline
// allows. Just one of Encoded, Image and Pix is set. Copies share memory:
// nothing may write to it.
type Picture struct {
	Encoded []byte      // as the source holds it: JPEG, PNG, GIF or WebP
	Sound   bool        // of Encoded: it was found good before and not Indivisible, so that what is not needed may stay unread
	Image   image.Image // decoded, in the planes of the decoder

	Pix           []uint8 // 8-bit RGB, row by row, as augmentation leaves it
	Width, Height int     // of Pix, in pixels

	indivisible bool // see Indivisible
	orientation int  // EXIF's, of a picture that Decode made; see Oriented
}

// Size implements [Value].
func (p Picture) Size() int {
	switch m := p.Image.(type) {
	case nil:
		return len(p.Encoded) + len(p.Pix)
	case *image.YCbCr:
		return len(m.Y) + len(m.Cb) + len(m.Cr)
	case *image.Gray:
		return len(m.Pix)
	default:
		return 4 * m.Bounds().Dx() * m.Bounds().Dy()
	}
}

// Unpack implements [Encoded]: the picture of e is decoded.
func (p Picture) Unpack(e Example) (Example, error) {
	decoded, err := p.Decode()
	e.Input = decoded
	return e, err
}

// Bounds returns width and height in pixels of a decoded picture.
func (p Picture) Bounds() (width, height int) {
	if p.Image != nil {
		b := p.Image.Bounds()
		return b.Dx(), b.Dy()
	}
	return p.Width, p.Height
}

// NRGBA returns the pixels of a decoded picture as an image of their own
// memory, without transparency: gray and CMYK become RGB, as does what lies
// under transparent pixels.
func (p Picture) NRGBA() *image.NRGBA {
	w, h := p.Bounds()
	out := image.NewNRGBA(image.Rect(0, 0, w, h))
	p.each(func(i int, r, g, b uint8) {
		q := out.Pix[4*i : 4*i+4 : 4*i+4]
		q[0], q[1], q[2], q[3] = r, g, b, 0xff
	})
	return out
}

// RGB returns a decoded picture with its pixels in Pix.
func (p Picture) RGB() Picture {
	if p.Pix != nil {
		return p
	}
	w, h := p.Bounds()
	pix := make([]uint8, 3*w*h)
	if planes, ok := jpeg.PlanesOf(p.Image); ok {
		planes.RGB8(pix, 3*w, planes.Rect)
		return Picture{Pix: pix, Width: w, Height: h}
	}
	p.each(func(i int, r, g, b uint8) {
		q := pix[3*i : 3*i+3 : 3*i+3]
		q[0], q[1], q[2] = r, g, b
	})
	return Picture{Pix: pix, Width: w, Height: h}
}

// each calls f with the colour of each pixel, row by row.
func (p Picture) each(f func(i int, r, g, b uint8)) {
	if p.Pix != nil {
		for i := range len(p.Pix) / 3 {
			f(i, p.Pix[3*i], p.Pix[3*i+1], p.Pix[3*i+2])
		}
		return
	}
	b := p.Image.Bounds()
	i := 0
	var colours []color.NRGBA
	if m, ok := p.Image.(*image.Paletted); ok {
		for _, c := range m.Palette {
			colours = append(colours, color.NRGBAModel.Convert(c).(color.NRGBA))
		}
	}
	for y := b.Min.Y; y < b.Max.Y; y++ {
		switch m := p.Image.(type) {
		case *image.YCbCr:
			for x := b.Min.X; x < b.Max.X; x++ {
				c := m.COffset(x, y)
				r, g, b := color.YCbCrToRGB(m.Y[m.YOffset(x, y)], m.Cb[c], m.Cr[c])
				f(i, r, g, b)
				i++
			}
		case *image.Gray:
			for _, v := range m.Pix[m.PixOffset(b.Min.X, y):][:b.Dx()] {
				f(i, v, v, v)
				i++
			}
		case *image.NRGBA:
			row := m.Pix[m.PixOffset(b.Min.X, y):][:4*b.Dx()]
			for ; len(row) >= 4; row = row[4:] {
				f(i, row[0], row[1], row[2])
				i++
			}
		case *image.RGBA:
			row := m.Pix[m.PixOffset(b.Min.X, y):][:4*b.Dx()]
			for ; len(row) >= 4; row = row[4:] {
				c := color.NRGBA{row[0], row[1], row[2], row[3]}
				if c.A != 0xff {
					c = color.NRGBAModel.Convert(color.RGBA(c)).(color.NRGBA)
				}
				f(i, c.R, c.G, c.B)
				i++
			}
		case *image.Paletted:
			for _, v := range m.Pix[m.PixOffset(b.Min.X, y):][:b.Dx()] {
				c := colours[v]
				f(i, c.R, c.G, c.B)
				i++
			}
		case *image.CMYK:
			row := m.Pix[m.PixOffset(b.Min.X, y):][:4*b.Dx()]
			for ; len(row) >= 4; row = row[4:] {
				r, g, b := color.CMYKToRGB(row[0], row[1], row[2], row[3])
				f(i, r, g, b)
				i++
			}
		default:
			for x := b.Min.X; x < b.Max.X; x++ {
				c := color.NRGBAModel.Convert(m.At(x, y)).(color.NRGBA)
				f(i, c.R, c.G, c.B)
				i++
			}
		}
	}
}

// Stack implements [Value]: pictures of one size become float32 [N,H,W,3],
// each channel (value/255 − mean) / std.
func (p Picture) Stack(rows []Value, f Format) (Array, error) {
	scale, shift, err := f.line()
	if err != nil {
		return Array{}, err
	}
	w, h := p.Bounds()
	a := Array{Shape: []int{len(rows), h, w, 3}, F32: f.room(len(rows) * h * w * 3)}
	for i, v := range rows {
		r, err := as[Picture](v, i)
		if err != nil {
			return Array{}, err
		}
		if r.Encoded != nil {
			return Array{}, fmt.Errorf("row %d is not decoded", i)
		}
		if rw, rh := r.Bounds(); rw != w || rh != h {
			return Array{}, fmt.Errorf("row %d is a picture of %d×%d pixels, row 0 of %d×%d; a crop or resize makes them equal", i, rw, rh, w, h)
		}
		pix := r.RGB().Pix
		kernel.Pixels(a.F32[i*len(pix):][:len(pix)], pix, scale[:], shift[:])
	}
	return a, nil
}

// line gives the normalised value of an 8-bit value v of each channel: scale·v + shift.
func (f Format) line() (scale, shift [3]float32, err error) {
	for _, stat := range [][]float32{f.Mean, f.Std} {
		if n := len(stat); n != 0 && n != 3 {
			return scale, shift, fmt.Errorf("mean and std have %d values, want one for each of 3 channels", n)
		}
	}
	for c := range scale {
		mean, std := 0.0, 1.0
		if f.Mean != nil {
			mean = float64(f.Mean[c])
		}
		if f.Std != nil {
			std = float64(f.Std[c])
		}
		scale[c], shift[c] = float32(1/(255*std)), float32(-mean/std)
	}
	return scale, shift, nil
}
