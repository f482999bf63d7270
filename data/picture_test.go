package data_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/reprise-ml/reprise/data"
)

// noise fills planes with random values.
func noise(planes ...[]uint8) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, p := range planes {
		for i := range p {
			p[i] = uint8(r.Uint32())
		}
	}
}

// rgb is the colour of a pixel in the standard library's arithmetic, without
// its opacity.
func rgb(c color.Color) [3]uint8 {
	n := color.NRGBAModel.Convert(c).(color.NRGBA)
	return [3]uint8{n.R, n.G, n.B}
}

// sameColours compares each pixel of p with want.
func sameColours(t *testing.T, name string, p data.Picture, want image.Image) {
	t.Helper()
	b := want.Bounds()
	if w, h := p.Bounds(); w != b.Dx() || h != b.Dy() {
		t.Fatalf("%s has %d×%d pixels, want %v", name, w, h, b)
	}
	q, n := p.RGB(), p.NRGBA()
	for y := range b.Dy() {
		for x := range b.Dx() {
			c := rgb(want.At(b.Min.X+x, b.Min.Y+y))
			if got := [3]uint8(q.Pix[3*(y*b.Dx()+x):]); got != c {
				t.Fatalf("RGB of %s is %v at (%d, %d), want %v", name, got, x, y, c)
			}
			if got := n.NRGBAAt(x, y); got != (color.NRGBA{c[0], c[1], c[2], 255}) {
				t.Fatalf("NRGBA of %s is %v at (%d, %d), want %v", name, got, x, y, c)
			}
		}
	}
}

func TestEveryFormHasTheColoursOfTheStandardLibrary(t *testing.T) {
	outer := image.Rect(0, 0, 40, 30)
	forms := map[string]interface {
		image.Image
		SubImage(image.Rectangle) image.Image
	}{}
	for _, s := range []image.YCbCrSubsampleRatio{
		image.YCbCrSubsampleRatio444, image.YCbCrSubsampleRatio422, image.YCbCrSubsampleRatio420,
		image.YCbCrSubsampleRatio440, image.YCbCrSubsampleRatio411, image.YCbCrSubsampleRatio410,
	} {
		m := image.NewYCbCr(outer, s)
		noise(m.Y, m.Cb, m.Cr)
		forms[s.String()] = m
	}
	gray, gray16, cmyk := image.NewGray(outer), image.NewGray16(outer), image.NewCMYK(outer)
	nrgba, nrgba64, rgba := image.NewNRGBA(outer), image.NewNRGBA64(outer), image.NewRGBA(outer)
	noise(gray.Pix, gray16.Pix, cmyk.Pix, nrgba.Pix, nrgba64.Pix)
	noise(rgba.Pix)
	for i := 3; i < len(rgba.Pix); i += 4 {
		rgba.Pix[i] = 255
	}
	clear := image.NewRGBA(outer)
	for y := range 30 {
		for x := range 40 {
			clear.Set(x, y, nrgba.At(x, y))
		}
	}
	paletted := image.NewPaletted(outer, color.Palette{color.White, color.NRGBA{9, 80, 7, 60}, color.YCbCr{90, 60, 200}, color.Transparent})
	noise(paletted.Pix)
	for i := range paletted.Pix {
		paletted.Pix[i] %= 4
	}
	forms["Paletted"] = paletted
	forms["Gray"], forms["Gray16"], forms["CMYK"] = gray, gray16, cmyk
	forms["NRGBA"], forms["NRGBA64"], forms["RGBA"], forms["RGBA, transparent"] = nrgba, nrgba64, rgba, clear
	for name, m := range forms {
		sameColours(t, name, data.Picture{Image: m}, m)
		part := m.SubImage(image.Rect(3, 5, 24, 18))
		sameColours(t, "a part of "+name, data.Picture{Image: part}, part)
	}
}

// encoded decodes what write makes.
func encoded(t *testing.T, write func(*bytes.Buffer) error) (data.Picture, []byte) {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	p, err := data.Picture{Encoded: b.Bytes()}.Decode()
	if err != nil {
		t.Fatal(err)
	}
	return p, b.Bytes()
}

func TestPNGAndGIFKeepTheirColoursAlsoUnderTransparency(t *testing.T) {
	colours := color.Palette{
		color.NRGBA{200, 10, 30, 255}, color.NRGBA{10, 220, 30, 128}, color.NRGBA{7, 8, 250, 0}, color.NRGBA{255, 255, 255, 255},
	}
	paletted := image.NewPaletted(image.Rect(0, 0, 9, 7), colours)
	for i := range paletted.Pix {
		paletted.Pix[i] = uint8(i % 4)
	}
	p, _ := encoded(t, func(b *bytes.Buffer) error { return png.Encode(b, paletted) })
	sameColours(t, "a paletted PNG", p, paletted)

	nrgba := image.NewNRGBA(image.Rect(0, 0, 9, 7))
	noise(nrgba.Pix)
	p, _ = encoded(t, func(b *bytes.Buffer) error { return png.Encode(b, nrgba) })
	sameColours(t, "a PNG with transparency", p, nrgba)

	// A GIF has no colour where it is transparent.
	p, _ = encoded(t, func(b *bytes.Buffer) error { return gif.Encode(b, paletted, nil) })
	pix := p.RGB().Pix
	for i, want := range [][3]uint8{{200, 10, 30}, {5, 110, 15}, {0, 0, 0}, {255, 255, 255}} {
		if got := [3]uint8(pix[3*i:]); got != want {
			t.Errorf("colour %d of a GIF is %v, want %v", i, got, want)
		}
	}
}

func TestJPEGsAreHeldInThePlanesOfTheDecoder(t *testing.T) {
	gray, coloured := image.NewGray(image.Rect(0, 0, 17, 11)), image.NewNRGBA(image.Rect(0, 0, 17, 11))
	noise(gray.Pix, coloured.Pix)
	p, b := encoded(t, func(b *bytes.Buffer) error { return jpeg.Encode(b, gray, nil) })
	if _, ok := p.Image.(*image.Gray); !ok {
		t.Errorf("a gray JPEG is held as %T", p.Image)
	}
	if n := (data.Picture{Encoded: b}).Size(); n != len(b) {
		t.Errorf("the size of an encoded picture is %d, want %d", n, len(b))
	}
	p, b = encoded(t, func(b *bytes.Buffer) error { return jpeg.Encode(b, coloured, nil) })
	m, ok := p.Image.(*image.YCbCr)
	if !ok || m.SubsampleRatio != image.YCbCrSubsampleRatio420 {
		t.Fatalf("a JPEG in colour is held as %T", p.Image)
	}
	if p.Size() != len(m.Y)+len(m.Cb)+len(m.Cr) {
		t.Errorf("the size of a decoded picture is %d", p.Size())
	}
	want, err := jpeg.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := mean(p), mean(data.Picture{Image: want}); !near(got, want, 0.5) {
		t.Errorf("the mean colour of a JPEG is %.2f, want %.2f", got, want)
	}
	sameColours(t, "a JPEG", p, p.Image)
	if q := p.RGB(); q.Size() != 3*17*11 || &q.RGB().Pix[0] != &q.Pix[0] {
		t.Error("pixels are copied once more")
	}
	if q, err := p.Decode(); err != nil || q.Image != p.Image {
		t.Error("a decoded picture is decoded again")
	}
}

func TestAStackOfPicturesIsNormalised(t *testing.T) {
	a := data.Picture{Pix: []uint8{0, 51, 255, 255, 102, 0}, Width: 2, Height: 1}
	gray := image.NewGray(image.Rect(0, 0, 2, 1))
	gray.Pix = []uint8{51, 255}
	rows := []data.Value{a, data.Picture{Image: gray}}
	for _, test := range []struct {
		format data.Format
		want   []float32
	}{
		{data.Format{}, []float32{0, 0.2, 1, 1, 0.4, 0, 0.2, 0.2, 0.2, 1, 1, 1}},
		{
			data.Format{Mean: []float32{0.5, 0.2, 0}, Std: []float32{0.5, 0.2, 4}},
			[]float32{-1, 0, 0.25, 1, 1, 0, -0.6, 0, 0.05, 1, 4, 0.25},
		},
		{data.Format{Mean: []float32{1, 1, 1}}, []float32{-1, -0.8, 0, 0, -0.6, -1, -0.8, -0.8, -0.8, 0, 0, 0}},
	} {
		got, err := a.Stack(rows, test.format)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Shape, []int{2, 1, 2, 3}) || got.I32 != nil {
			t.Errorf("the shape is %v, want [2 1 2 3]", got.Shape)
		}
		for i, want := range test.want {
			if math.Abs(float64(got.F32[i]-want)) > 1e-6 {
				t.Errorf("with %+v value %d is %v, want %v", test.format, i, got.F32[i], want)
			}
		}
	}
}

func TestPicturesThatDoNotStackAreReported(t *testing.T) {
	p := data.Picture{Pix: make([]uint8, 6), Width: 2, Height: 1}
	for _, test := range []struct {
		row    data.Value
		format data.Format
		want   string
	}{
		{data.Picture{Pix: make([]uint8, 6), Width: 1, Height: 2}, data.Format{}, "row 1 is a picture of 1×2 pixels, row 0 of 2×1; a crop or resize makes them equal"},
		{data.Picture{Encoded: []byte("x")}, data.Format{}, "row 1 is not decoded"},
		{data.Class(1), data.Format{}, "row 1 is a data.Class, row 0 a data.Picture"},
		{p, data.Format{Mean: []float32{1}}, "mean and std have 1 values, want one for each of 3 channels"},
		{p, data.Format{Std: []float32{1, 2}}, "mean and std have 2 values, want one for each of 3 channels"},
	} {
		if _, err := p.Stack([]data.Value{p, test.row}, test.format); err == nil || err.Error() != test.want {
			t.Errorf("error is %v, want %s", err, test.want)
		}
	}
}

// tinyJPEG writes JPEG files of one block of 8×8 pixels a component.
type tinyJPEG struct{ b []byte }

func (f *tinyJPEG) segment(marker byte, body ...byte) *tinyJPEG {
	n := len(body) + 2
	f.b = append(append(f.b, 0xff, marker, byte(n>>8), byte(n)), body...)
	return f
}

// start writes what comes before the frame: tables by which a value of a
// solid block is its DC coefficient, in twelve codes of four bits, and an
// AC table of the one code "no more", of one bit.
func start(quantised bool) *tinyJPEG {
	f := &tinyJPEG{b: []byte{0xff, 0xd8}}
	if quantised {
		f.segment(0xdb, append([]byte{0}, bytes.Repeat([]byte{8}, 64)...)...)
	}
	f.segment(0xc4, append([]byte{0x00, 0, 0, 0, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)...)
	return f.segment(0xc4, 0x10, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
}

// frame begins a picture of w×h pixels.
func (f *tinyJPEG) frame(marker byte, w, h, components int) *tinyJPEG {
	body := []byte{8, byte(h >> 8), byte(h), byte(w >> 8), byte(w), byte(components)}
	for c := range components {
		body = append(body, byte(c+1), 0x11, 0)
	}
	return f.segment(marker, body...)
}

// scan writes code, bits as text, as the data of components.
func (f *tinyJPEG) scan(components []byte, first, last, precision byte, code string) *tinyJPEG {
	body := []byte{byte(len(components))}
	for _, c := range components {
		body = append(body, c, 0)
	}
	f.segment(0xda, append(body, first, last, precision)...)
	for len(code)%8 > 0 {
		code += "1"
	}
	for ; code != ""; code = code[8:] {
		var v byte
		fmt.Sscanf(code[:8], "%08b", &v)
		if f.b = append(f.b, v); v == 0xff {
			f.b = append(f.b, 0)
		}
	}
	return f
}

func (f *tinyJPEG) end() []byte { return append(f.b, 0xff, 0xd9) }

// dc is the code of a solid block.
func dc(v uint8) string {
	d := int(v) - 128
	n := bits.Len(uint(max(d, -d)))
	if d < 0 {
		d += 1<<n - 1
	}
	if n == 0 {
		return "0000"
	}
	return fmt.Sprintf("%04b%0*b", n, n, d)
}

// madeJPEGs are files for every case that matters, and what is wrong with
// each.
func madeJPEGs() []struct {
	name string
	b    []byte
	want string // of the error; empty where the picture is good
	mean [3]float64
} {
	one, three := []byte{1}, []byte{1, 2, 3}
	colour := dc(140) + "0" + dc(100) + "0" + dc(150) + "0"
	adobe := func() *tinyJPEG { return start(true).segment(0xee, []byte("Adobe\x00d\x00\x00\x00\x00\x00")...) }
	good := start(true).frame(0xc0, 8, 8, 3).scan(three, 0, 63, 0, colour).end()
	photo := image.NewNRGBA(image.Rect(0, 0, 64, 48))
	noise(photo.Pix)
	var large, zipped bytes.Buffer
	if err := jpeg.Encode(&large, photo, nil); err != nil {
		panic(err)
	}
	z := gzip.NewWriter(&zipped)
	z.Write(good)
	z.Close()
	huge := slices.Clone(large.Bytes())
	at := bytes.Index(huge, []byte{0xff, 0xc0})
	copy(huge[at+5:], []byte{0xff, 0xdc, 0xff, 0xdc})
	big := slices.Clone(large.Bytes())
	copy(big[at+5:], []byte{0x2c, 0, 0x2c, 0})
	ycc := [3]float64{170.84, 134.23, 90.38} // of 140, 100, 150 by JFIF
	return []struct {
		name string
		b    []byte
		want string
		mean [3]float64
	}{
		{"baseline", good, "", ycc},
		{"gray", start(true).frame(0xc0, 8, 8, 1).scan(one, 0, 63, 0, dc(200)+"0").end(), "", [3]float64{200, 200, 200}},
		{"a scan a component", start(true).frame(0xc0, 8, 8, 3).scan(one, 0, 63, 0, dc(140)+"0").scan([]byte{2}, 0, 63, 0, dc(100)+"0").scan([]byte{3}, 0, 63, 0, dc(150)+"0").end(), "", ycc},
		{"RGB", adobe().frame(0xc0, 8, 8, 3).scan(three, 0, 63, 0, colour).end(), "", [3]float64{140, 100, 150}},
		{"CMYK", adobe().frame(0xc0, 8, 8, 4).scan([]byte{1, 2, 3, 4}, 0, 63, 0, colour+dc(204)+"0").end(), "", [3]float64{140 * .8, 100 * .8, 150 * .8}},
		{"CMYK of no colour model", start(true).frame(0xc0, 8, 8, 4).scan([]byte{1, 2, 3, 4}, 0, 63, 0, colour+dc(204)+"0").end(), "unknown color model", [3]float64{}},
		{"progressive", start(true).frame(0xc2, 8, 8, 1).scan(one, 0, 0, 0x01, dc(164)).scan(one, 1, 63, 0, "0").scan(one, 0, 0, 0x10, "1").end(), "", [3]float64{201, 201, 201}},
		{"progressive without refinement", start(true).frame(0xc2, 8, 8, 1).scan(one, 0, 0, 0x01, dc(164)).scan(one, 1, 63, 0, "0").end(), "ends before the last scan of component 1", [3]float64{}},
		{"progressive without detail", start(true).frame(0xc2, 8, 8, 1).scan(one, 0, 0, 0, dc(200)).end(), "ends before the last scan of component 1", [3]float64{}},
		{"progressive with a gap", start(true).frame(0xc2, 8, 8, 1).scan(one, 0, 0, 0x02, dc(164)).scan(one, 0, 0, 0x10, "1").end(), "does not follow", [3]float64{}},
		{"no scan of two components", start(true).frame(0xc0, 8, 8, 3).scan(one, 0, 63, 0, dc(140)+"0").end(), "ends before the last scan of component 2", [3]float64{}},
		{"no quantisation table", start(false).frame(0xc0, 8, 8, 1).scan(one, 0, 63, 0, dc(200)+"0").end(), "lacks quantisation table 0", [3]float64{}},
		{"no scan", start(true).frame(0xc0, 8, 8, 1).end(), "missing SOS", [3]float64{}},
		{"tables only", start(true).end(), "missing SOS", [3]float64{}},
		{"12 bits", bytes.Replace(good, []byte{0xff, 0xc0, 0, 17, 8}, []byte{0xff, 0xc0, 0, 17, 12}, 1), "precision", [3]float64{}},
		{"arithmetic coding", bytes.Replace(good, []byte{0xff, 0xc0}, []byte{0xff, 0xc9}, 1), "unknown marker", [3]float64{}},
		{"lossless", bytes.Replace(good, []byte{0xff, 0xc0}, []byte{0xff, 0xc3}, 1), "unknown marker", [3]float64{}},
		{"no end", good[:len(good)-2], "EOF", [3]float64{}},
		{"cut in the scan", large.Bytes()[:large.Len()*2/3], "decoding a JPEG", [3]float64{}},
		{"cut in the scan, and ended", append(slices.Clone(large.Bytes()[:large.Len()*2/3]), 0xff, 0xd9), "decoding a JPEG", [3]float64{}},
		{"cut in the header", large.Bytes()[:20], "decoding the header of a JPEG", [3]float64{}},
		{"an unknown code", start(true).frame(0xc0, 8, 8, 1).scan(one, 0, 63, 0, strings.Repeat("1", 24)).end(), "bad Huffman code", [3]float64{}},
		{"0×8", start(true).frame(0xc0, 0, 8, 1).scan(one, 0, 63, 0, dc(200)+"0").end(), "the picture is 0×8 pixels", [3]float64{}},
		{"a header of 65500×65500", huge, "the picture is 65500×65500 pixels, want", [3]float64{}},
		{"a header of 11264×11264", big, "the picture is 11264×11264 pixels, more than", [3]float64{}},
		{"empty", []byte{}, "the picture is empty", [3]float64{}},
		{"HTML", []byte("<html><body>404 not found</body></html>"), `it is a web page (HTML)`, [3]float64{}},
		{"gzip", zipped.Bytes(), "no JPEG, PNG, GIF or WebP: it is packed with gzip", [3]float64{}},
		{"BMP", append([]byte("BM"), make([]byte, 100)...), "no JPEG, PNG, GIF or WebP: it is a BMP", [3]float64{}},
	}
}

// mean is the mean colour of a picture.
func mean(p data.Picture) (m [3]float64) {
	pix := p.RGB().Pix
	for i, v := range pix {
		m[i%3] += float64(v) / float64(len(pix)/3)
	}
	return m
}

// near compares two mean colours.
func near(a, b [3]float64, limit float64) bool {
	for c := range a {
		if math.Abs(a[c]-b[c]) > limit {
			return false
		}
	}
	return true
}

func TestWhatIsNoWholePictureIsRefused(t *testing.T) {
	for _, test := range madeJPEGs() {
		p, err := data.Picture{Encoded: test.b}.Decode()
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s: %v", test.name, err)
		case test.want == "":
			if got := mean(p); !near(got, test.mean, 1.5) {
				t.Errorf("%s: the mean colour is %.1f, want %.1f", test.name, got, test.mean)
			}
		case err == nil:
			t.Errorf("%s: is decoded, of mean colour %.1f; want an error with %q", test.name, mean(p), test.want)
		case !strings.HasPrefix(err.Error(), "data: ") || !strings.Contains(err.Error(), test.want):
			t.Errorf("%s: error is %v, want one with %q", test.name, err, test.want)
		}
	}
}

// allocated is the memory that f takes in all.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestAHeaderAloneCostsNoMemory(t *testing.T) {
	giant := []byte("GIF89a\x00\x20\x00\x20\x80\x00\x00\x00\x00\x00\xff\xff\xff,\x00\x00\x00\x00\x00\x20\x00\x20\x00\x02\x02L\x01\x00;")
	if _, err := (data.Picture{Encoded: giant}).Decode(); err == nil {
		t.Error("a GIF of 8192×8192 pixels in 40 bytes is decoded")
	}
	files := map[string][]byte{"GIF": giant}
	for _, test := range madeJPEGs() {
		if strings.HasPrefix(test.name, "a header of") {
			files[test.name] = test.b
		}
	}
	for name, b := range files {
		if n := allocated(func() { data.Picture{Encoded: b}.Decode() }); n > 1<<17 {
			t.Errorf("%s takes %d bytes to refuse", name, n)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, test := range madeJPEGs() {
		f.Add(test.b)
	}
	small := image.NewPaletted(image.Rect(0, 0, 5, 4), color.Palette{color.Black, color.Transparent})
	var p, g bytes.Buffer
	if err := png.Encode(&p, small); err != nil {
		f.Fatal(err)
	}
	if err := gif.Encode(&g, small, nil); err != nil {
		f.Fatal(err)
	}
	f.Add(p.Bytes())
	f.Add(g.Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		n := allocated(func() {
			p, err := data.Picture{Encoded: b}.Decode()
			if err != nil {
				return
			}
			w, h := p.Bounds()
			if q := p.RGB(); len(q.Pix) != 3*w*h || q.Width != w || q.Height != h {
				t.Errorf("%d×%d pixels became %d bytes", w, h, len(q.Pix))
			}
		})
		// 8 bytes a pixel, or 15 of a progressive JPEG, and 3 as RGB.
		if pixels := min(uint64(len(b))*8*1032, data.MaxPixels); n > 1<<20+18*pixels {
			t.Errorf("a file of %d bytes takes %d", len(b), n)
		}
	})
}

func TestAQuantisationTableWithABytePastItsEndIsNoPanic(t *testing.T) {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, image.NewGray(image.Rect(0, 0, 8, 8)), nil); err != nil {
		t.Fatal(err)
	}
	file := b.Bytes()
	at := bytes.Index(file, []byte{0xff, 0xdb})
	length := int(file[at+2])<<8 | int(file[at+3])
	longer := slices.Concat(file[:at+2], []byte{byte((length + 1) >> 8), byte(length + 1)}, file[at+4:at+2+length], []byte{0}, file[at+2+length:])
	for _, file := range [][]byte{longer, longer[:len(longer)-2]} {
		if _, err := (data.Picture{Encoded: file}).Decode(); err != nil && strings.Contains(err.Error(), "panicked") {
			t.Error(err)
		}
	}
}
