package jpeg

import (
	"fmt"
	"image"
)

// strip is how many rows of the result are made at a time.
const strip = 32

// Resampler cuts a part out of a picture and makes it another size. The zero value is ready. It may be used again, but
// not by several goroutines at once.
type Resampler struct {
	Path Path // the instructions to use; the zero value is the fastest

	x, y   [2]axis // of the pixels, and of Cb and Cr
	parts  [3]part
	n      int     // parts in use
	rows   []int16 // a strip of one part, resampled vertically
	turned []int16 // the same column by column
	out    [3][]int16
	colour []byte // a strip, column by column, three rows a column
	pixels []byte // a strip, row by row
	last   []byte // a strip of which only the first rows are wanted
}

// part is one plane of the source, or the pixels of three channels.
type part struct {
	pix      []byte
	stride   int
	channels int // values a sample: 1 or 3
	x, y     *axis
	begin    int // of pix: the first row and column that are needed
	columns  int // that are needed
	padded   []byte
}

// RGB8 sets dst to w×h pixels, 3 bytes each, of what crop shows of src. Flip swaps left and right. Crop, of at least one
// pixel, must be in src.Rect and dst have 3·w·h bytes.
func (r *Resampler) RGB8(dst []byte, w, h int, src *Planes, crop image.Rectangle, flip bool) {
	r.fromPlanes(w, h, src, crop, flip)
	for y := 0; y < h; y += strip {
		r.strip(dst[3*w*y:3*w*h], w, y, min(strip, h-y))
	}
}

// Float32 is RGB8 with each value v of channel c as scale[c]·v + shift[c]. Dst must have 3·w·h elements.
func (r *Resampler) Float32(dst []float32, w, h int, src *Planes, crop image.Rectangle, flip bool, scale, shift [3]float32) {
	r.fromPlanes(w, h, src, crop, flip)
	n := 3 * w * strip
	r.pixels = grow(r.pixels, n)
	for y := 0; y < h; y += strip {
		rows := min(strip, h-y)
		r.strip(r.pixels, w, y, rows)
		Normalize(r.Path, dst[3*w*y:3*w*(y+rows)], r.pixels, scale, shift)
	}
}

// Pixels is RGB8 with a source of 8-bit RGB, width pixels a row.
func (r *Resampler) Pixels(dst []byte, w, h int, src []byte, width int, crop image.Rectangle, flip bool) {
	check(crop, image.Rect(0, 0, width, len(src)/(3*width)))
	r.n = 1
	r.parts[0].pix, r.parts[0].stride, r.parts[0].channels = src, 3*width, 3
	r.x[0].build(float64(crop.Min.X), float64(crop.Dx()), w, crop.Min.X, crop.Max.X, flip)
	r.y[0].build(float64(crop.Min.Y), float64(crop.Dy()), h, crop.Min.Y, crop.Max.Y, false)
	r.prepare(w)
	for y := 0; y < h; y += strip {
		r.strip(dst[3*w*y:3*w*h], w, y, min(strip, h-y))
	}
}

func check(crop, bounds image.Rectangle) {
	if crop.Empty() || !crop.In(bounds) {
		panic(fmt.Sprintf("jpeg: a crop of %v from a picture of %v", crop, bounds))
	}
}

// fromPlanes prepares for the parts of src.
func (r *Resampler) fromPlanes(w, h int, src *Planes, crop image.Rectangle, flip bool) {
	check(crop, src.Rect)
	r.n = 1
	r.parts[0].pix, r.parts[0].stride = src.Y, src.YStride
	if !src.Gray() {
		r.n = 3
		r.parts[1].pix, r.parts[1].stride = src.Cb, src.CStride
		r.parts[2].pix, r.parts[2].stride = src.Cr, src.CStride
	}
	for i, ratio := range [2]image.Point{{1, 1}, {src.RatioX, src.RatioY}} {
		along(&r.x[i], crop.Min.X, crop.Max.X, src.Rect.Min.X, ratio.X, w, flip)
		along(&r.y[i], crop.Min.Y, crop.Max.Y, src.Rect.Min.Y, ratio.Y, h, false)
		if src.Gray() {
			break
		}
	}
	for i := range r.n {
		r.parts[i].channels = 1
	}
	r.prepare(w)
}

// along makes the axis of a plane with one sample for ratio pixels, which begins at the sample of pixel origin.
func along(a *axis, lo, hi, origin, ratio, n int, flip bool) {
	base := origin / ratio
	a.build(float64(lo)/float64(ratio)-float64(base), float64(hi-lo)/float64(ratio), n, lo/ratio-base, (hi+ratio-1)/ratio-base, flip)
}

// prepare makes room for strips w pixels wide, and parts such that vectors may be read from all windows.
func (r *Resampler) prepare(w int) {
	n := 0
	for i := range r.n {
		p := &r.parts[i]
		p.x, p.y = &r.x[min(i, 1)], &r.y[min(i, 1)]
		p.columns, p.begin = p.channels*p.x.count, p.y.first*p.stride+p.channels*p.x.first
		p.pad()
		n = max(n, wholeVectors(p.columns))
	}
	r.rows, r.turned = grow(r.rows, strip*n), grow(r.turned, strip*n)
	for i := range max(r.n, r.parts[0].channels) {
		r.out[i] = grow(r.out[i], strip*w)
	}
	r.colour = grow(r.colour, strip*3*w)
}

// width is how many columns are resampled at once.
const width = 32

// wholeVectors is n or the next multiple of width.
func wholeVectors(n int) int { return (n + width - 1) / width * width }

func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		s = make([]T, n+n/4)
	}
	return s[:n]
}

// pad copies what is needed of a part that has too few rows or columns after it for whole windows and vectors.
func (p *part) pad() {
	n := wholeVectors(p.columns)
	if p.begin+(p.y.count-1)*p.stride+n <= len(p.pix) {
		return
	}
	p.padded = grow(p.padded, p.y.count*n)
	for y := range p.y.count {
		row := p.padded[y*n:][:n]
		clear(row[copy(row, p.pix[min(p.begin+y*p.stride, len(p.pix)):]):])
	}
	p.pix, p.stride, p.begin = p.padded, n, 0
}

// strip makes rows y to y+rows of the result, of w pixels each.
func (r *Resampler) strip(dst []byte, w, y, rows int) {
	path := r.Path.resolve()
	for i := range r.n {
		p := &r.parts[i]
		n := wholeVectors(p.columns)
		for row := range strip {
			at := y + min(row, rows-1)
			src := p.pix[p.begin+int(p.y.start[at])*p.stride:]
			vertical(path, r.rows[row*n:][:n], src, p.stride, p.y.w[at*p.y.taps:][:p.y.taps])
		}
		turn(path, r.turned, r.rows, n)
		for c := range p.channels {
			horizontal(path, r.out[i+c], r.turned[strip*c:], p.x, p.channels*strip)
		}
	}
	switch {
	case r.parts[0].channels == 3:
		fromRGB(path, r.colour, r.out[0], r.out[1], r.out[2])
	case r.n == 3:
		fromYCbCr(path, r.colour, r.out[0], r.out[1], r.out[2])
	default:
		fromRGB(path, r.colour, r.out[0], r.out[0], r.out[0])
	}
	if rows == strip {
		spread(path, dst, r.colour, 3*w)
		return
	}
	r.last = grow(r.last, strip*3*w)
	spread(path, r.last, r.colour, 3*w)
	copy(dst, r.last[:3*w*rows])
}
