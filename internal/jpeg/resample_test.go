package jpeg

import (
	"image"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// noisePlanes are planes of smooth noise, of which Rect does not begin at the origin.
func noisePlanes(rect image.Rectangle, ratioX, ratioY int, gray bool, seed uint64) *Planes {
	r := rand.New(rand.NewPCG(seed, 1))
	fill := func(x0, y0, x1, y1, stride int) []byte {
		b := make([]byte, (y1-y0)*stride)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	p := &Planes{Width: rect.Max.X, Height: rect.Max.Y, Rect: rect, RatioX: ratioX, RatioY: ratioY, YStride: rect.Dx() + 3}
	p.Y = fill(rect.Min.X, rect.Min.Y, rect.Max.X, rect.Max.Y, p.YStride)
	if !gray {
		x0, y0, x1, y1 := rect.Min.X/ratioX, rect.Min.Y/ratioY, (rect.Max.X+ratioX-1)/ratioX, (rect.Max.Y+ratioY-1)/ratioY
		p.CStride = x1 - x0 + 1
		p.Cb, p.Cr = fill(x0, y0, x1, y1, p.CStride), fill(x0, y0, x1, y1, p.CStride)
	}
	return p
}

// triangle is the weight of each of the samples first to end-1 in result i of n, which cover lo to hi.
func triangle(lo, hi float64, n, i, first, end int) []float64 {
	ratio := (hi - lo) / float64(n)
	centre, w, sum := lo+(float64(i)+0.5)*ratio, make([]float64, end-first), 0.0
	for k := range w {
		w[k] = max(0, 1-math.Abs(float64(first+k)+0.5-centre)/max(ratio, 1))
		sum += w[k]
	}
	for k := range w {
		w[k] /= sum
	}
	return w
}

// oracle resamples one plane in floating point. At is the sample at a place, of what has a resolution of 1/ratio.
func oracle(at func(x, y int) float64, ratioX, ratioY, w, h int, crop image.Rectangle, flip bool) [][]float64 {
	out := make([][]float64, h)
	x0, x1, y0, y1 := crop.Min.X/ratioX, (crop.Max.X+ratioX-1)/ratioX, crop.Min.Y/ratioY, (crop.Max.Y+ratioY-1)/ratioY
	for y := range h {
		out[y] = make([]float64, w)
		row, down := make([]float64, x1-x0), triangle(float64(crop.Min.Y)/float64(ratioY), float64(crop.Max.Y)/float64(ratioY), h, y, y0, y1)
		for x := range row {
			for k, v := range down {
				row[x] += v * at(x0+x, y0+k)
			}
		}
		for x := range w {
			sum := 0.0
			for k, v := range triangle(float64(crop.Min.X)/float64(ratioX), float64(crop.Max.X)/float64(ratioX), w, x, x0, x1) {
				sum += v * row[k]
			}
			if flip {
				out[y][w-1-x] = sum
			} else {
				out[y][x] = sum
			}
		}
	}
	return out
}

// wanted is what RGB8 has to give, before it is rounded.
func wanted(p *Planes, w, h int, crop image.Rectangle, flip bool) []float64 {
	plane := func(pix []byte, stride, ratioX, ratioY int) [][]float64 {
		return oracle(func(x, y int) float64 {
			return float64(pix[(y-p.Rect.Min.Y/ratioY)*stride+x-p.Rect.Min.X/ratioX])
		}, ratioX, ratioY, w, h, crop, flip)
	}
	ys := plane(p.Y, p.YStride, 1, 1)
	var cbs, crs [][]float64
	if !p.Gray() {
		cbs, crs = plane(p.Cb, p.CStride, p.RatioX, p.RatioY), plane(p.Cr, p.CStride, p.RatioX, p.RatioY)
	}
	var out []float64
	for y := range h {
		for x := range w {
			v, cb, cr := ys[y][x], 0.0, 0.0
			if !p.Gray() {
				cb, cr = cbs[y][x]-128, crs[y][x]-128
			}
			for _, c := range []float64{v + 1.402*cr, v - 0.344136*cb - 0.714136*cr, v + 1.772*cb} {
				out = append(out, min(max(c, 0), 255))
			}
		}
	}
	return out
}

// drawn is a picture, a crop of it and a size.
type drawn struct {
	p    *Planes
	crop image.Rectangle
	w, h int
	flip bool
}

func draw(t *rapid.T) (d drawn) {
	min := image.Pt(rapid.IntRange(0, 20).Draw(t, "x"), rapid.IntRange(0, 20).Draw(t, "y"))
	size := image.Pt(rapid.IntRange(1, 90).Draw(t, "width"), rapid.IntRange(1, 90).Draw(t, "height"))
	rect := image.Rectangle{min, min.Add(size)}
	ratio := rapid.SampledFrom([]image.Point{{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 1}, {4, 2}}).Draw(t, "ratio")
	d.p = noisePlanes(rect, ratio.X, ratio.Y, rapid.Bool().Draw(t, "gray"), rapid.Uint64().Draw(t, "seed"))
	d.crop.Min.X = rapid.IntRange(rect.Min.X, rect.Max.X-1).Draw(t, "left")
	d.crop.Min.Y = rapid.IntRange(rect.Min.Y, rect.Max.Y-1).Draw(t, "top")
	d.crop.Max.X = rapid.IntRange(d.crop.Min.X+1, rect.Max.X).Draw(t, "right")
	d.crop.Max.Y = rapid.IntRange(d.crop.Min.Y+1, rect.Max.Y).Draw(t, "bottom")
	d.w, d.h = rapid.IntRange(1, 70).Draw(t, "w"), rapid.IntRange(1, 70).Draw(t, "h")
	d.flip = rapid.Bool().Draw(t, "flip")
	return d
}

func TestResamplingIsTheTriangleFilterOfEachPlane(t *testing.T) {
	var r Resampler
	r.Path = Generic
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t)
		got, want := make([]byte, 3*d.w*d.h), wanted(d.p, d.w, d.h, d.crop, d.flip)
		r.RGB8(got, d.w, d.h, d.p, d.crop, d.flip)
		for i, v := range got {
			if math.Abs(float64(v)-want[i]) > 0.6 {
				t.Fatalf("value %d is %d, want %.2f", i, v, want[i])
			}
		}
	})
}

func TestPixelsAreResampledAsPlanesAre(t *testing.T) {
	everyPath(t, func(t *testing.T, path Path) {
		r := Resampler{Path: path}
		rapid.Check(t, func(t *rapid.T) {
			d := draw(t)
			w, h := d.p.Rect.Dx(), d.p.Rect.Dy()
			pix := make([]byte, 3*w*h)
			for i := range pix {
				pix[i] = byte(7*i + i*i/5)
			}
			crop := d.crop.Sub(d.p.Rect.Min)
			got := make([]byte, 3*d.w*d.h)
			r.Pixels(got, d.w, d.h, pix, w, crop, d.flip)
			for c := range 3 {
				want := oracle(func(x, y int) float64 { return float64(pix[3*(y*w+x)+c]) }, 1, 1, d.w, d.h, crop, d.flip)
				for i := c; i < len(got); i += 3 {
					if v := want[i/3/d.w][i/3%d.w]; math.Abs(float64(got[i])-v) > 0.6 {
						t.Fatalf("value %d is %d, want %.2f", i, got[i], v)
					}
				}
			}
		})
	})
}

func TestEveryPathResamplesToTheSameBits(t *testing.T) {
	for _, path := range Paths()[1:] {
		t.Run(path.String(), func(t *testing.T) {
			r, plain := Resampler{Path: path}, Resampler{Path: Generic}
			scale, shift := [3]float32{1. / 58, 1. / 57, 1. / 56}, [3]float32{-2.1, -2, -1.8}
			rapid.Check(t, func(t *rapid.T) {
				d := draw(t)
				n := 3 * d.w * d.h
				got, want := make([]byte, n), make([]byte, n)
				r.RGB8(got, d.w, d.h, d.p, d.crop, d.flip)
				plain.RGB8(want, d.w, d.h, d.p, d.crop, d.flip)
				if !slices.Equal(got, want) {
					t.Fatalf("%v of %v to %d×%d differs", d.crop, d.p.Rect, d.w, d.h)
				}
				floats, wantFloats := make([]float32, n), make([]float32, n)
				r.Float32(floats, d.w, d.h, d.p, d.crop, d.flip, scale, shift)
				plain.Float32(wantFloats, d.w, d.h, d.p, d.crop, d.flip, scale, shift)
				if !slices.Equal(floats, wantFloats) {
					t.Fatalf("floats of %v of %v to %d×%d differ", d.crop, d.p.Rect, d.w, d.h)
				}
				for i, v := range floats {
					if w := scale[i%3]*float32(want[i]) + shift[i%3]; math.Abs(float64(v-w)) > 1e-6 {
						t.Fatalf("float %d is %v, want %v", i, v, w)
					}
				}
			})
		})
	}
}

func TestLargeRatiosKeepTheMean(t *testing.T) {
	everyPath(t, func(t *testing.T, path Path) {
		r := Resampler{Path: path}
		p := noisePlanes(image.Rect(0, 0, 9000, 40), 2, 2, false, 5)
		got, want := make([]byte, 3*3*2), wanted(p, 3, 2, p.Rect, false)
		r.RGB8(got, 3, 2, p, p.Rect, false)
		for i, v := range got {
			if math.Abs(float64(v)-want[i]) > 0.7 {
				t.Errorf("value %d is %d, want %.2f", i, v, want[i])
			}
		}
	})
}

func TestNothingIsAllocatedOnceThereIsRoom(t *testing.T) {
	everyPath(t, func(t *testing.T, path Path) {
		d, r := Decoder{Path: path}, Resampler{Path: path}
		var p Planes
		small, large := encode(t, photo(70, 50), 90), encode(t, photo(200, 150), 75)
		dst, floats := make([]byte, 3*64*64), make([]float32, 3*64*64)
		n := testing.AllocsPerRun(10, func() {
			for _, b := range [][]byte{large, small} {
				if err := d.Decode(&p, b, Options{}); err != nil {
					t.Fatal(err)
				}
				r.RGB8(dst, 64, 64, &p, image.Rect(3, 5, 60, 50), true)
				r.Float32(floats, 64, 64, &p, p.Rect, false, [3]float32{1, 1, 1}, [3]float32{})
				r.Pixels(dst[:300], 10, 10, dst, 64, image.Rect(1, 1, 60, 60), false)
			}
		})
		if n > 0 {
			t.Errorf("%v allocations", n)
		}
	})
}
