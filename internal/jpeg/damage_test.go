package jpeg

import (
	"bytes"
	"errors"
	"image"
	"image/jpeg"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// seeds are good files of every kind.
func seeds(t testing.TB) map[string][]byte {
	files := goFiles()
	files["photo"] = encode(t, photo(67, 45), 80)
	gray := image.NewGray(image.Rect(0, 0, 37, 21))
	for i := range gray.Pix {
		gray.Pix[i] = byte(i * i / 7)
	}
	files["gray"] = encode(t, gray, 60)
	return files
}

// damage changes a copy of a file.
func damage(r *rand.Rand, b []byte) []byte {
	b = slices.Clone(b)
	for range 1 + r.IntN(3) {
		at := 2 + r.IntN(len(b)-2)
		switch r.IntN(6) {
		case 0, 1:
			b[at] ^= 1 << r.IntN(8)
		case 2:
			b[at] = byte(r.Uint32())
		case 3:
			b = slices.Delete(b, at, min(at+1+r.IntN(4), len(b)))
		case 4:
			b = slices.Insert(b, at, []byte{byte(r.Uint32()), 0xff, 0xd0}[:1+r.IntN(3)]...)
		default:
			if r.IntN(4) == 0 {
				b = b[:at]
			}
		}
		if len(b) < 4 {
			break
		}
	}
	return b
}

// agrees checks that what is decoded here image/jpeg decodes to the same pixels, and that all paths do the same. It
// reports whether b is decoded.
func agrees(t testing.TB, decoders []*Decoder, b []byte) bool {
	t.Helper()
	var first Planes
	var verdict error
	for i, d := range decoders {
		var p Planes
		err := d.Decode(&p, b, Options{MaxPixels: 1 << 20})
		if i == 0 {
			first, verdict = p, err
			continue
		}
		if err != verdict {
			t.Fatalf("path %v: error is %v, of %v %v", d.Path, err, decoders[0].Path, verdict)
		}
		if err == nil {
			if mean, _ := distance(t, p.Image(), first.Image()); mean > 0 {
				t.Fatalf("path %v differs by %v", d.Path, mean)
			}
		}
	}
	if verdict != nil {
		if !errors.Is(verdict, ErrDamaged) && !errors.Is(verdict, ErrUnsupported) && !errors.Is(verdict, ErrTooLarge) {
			t.Fatal(verdict)
		}
		return false
	}
	want, err := jpeg.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatalf("decodes what image/jpeg does not: %v", err)
	}
	if mean, most := distance(t, first.Image(), want); mean > 2 {
		t.Fatalf("differs by %.2f on average, at most %.0f", mean, most)
	}
	return true
}

// paths are a decoder for each path.
func paths() (d []*Decoder) {
	for _, p := range Paths() {
		d = append(d, &Decoder{Path: p})
	}
	return d
}

func TestDamagedFilesAreDecodedAsImageJPEGDoesOrNotAtAll(t *testing.T) {
	r, decoders, decoded, refused := rand.New(rand.NewPCG(3, 4)), paths(), 0, 0
	files := seeds(t)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		for range 60 {
			if agrees(t, decoders, damage(r, files[name])) {
				decoded++
			} else {
				refused++
			}
		}
	}
	if decoded < 30 || refused < 30 {
		t.Errorf("%d files are decoded and %d refused: too few to tell", decoded, refused)
	}
}

func TestACropIsAPartOfTheWhole(t *testing.T) {
	files := seeds(t)
	everyPath(t, func(t *testing.T, path Path) {
		r, d := rand.New(rand.NewPCG(5, 6)), Decoder{Path: path}
		var whole, part Planes
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if d.Decode(&whole, files[name], Options{}) != nil {
				continue
			}
			for i := range 6 {
				x, y := r.IntN(whole.Width), r.IntN(whole.Height)
				crop := image.Rect(x, y, x+1+r.IntN(whole.Width-x), y+1+r.IntN(whole.Height-y))
				if err := d.Decode(&part, files[name], Options{Crop: crop, Lenient: i%2 == 0}); err != nil {
					t.Fatalf("%s, %v: %v", name, crop, err)
				}
				if !crop.In(part.Rect) || !part.Rect.In(whole.Rect) || part.Width != whole.Width || part.Height != whole.Height {
					t.Fatalf("%s: the planes hold %v, want %v of %v", name, part.Rect, crop, whole.Rect)
				}
				inside := func(p *Planes) image.Image {
					if m, ok := p.Image().(*image.YCbCr); ok {
						return m.SubImage(part.Rect)
					}
					return p.Image().(*image.Gray).SubImage(part.Rect)
				}
				if mean, _ := distance(t, inside(&whole), inside(&part)); mean > 0 {
					t.Fatalf("%s: %v differs from that part of the whole by %v", name, crop, mean)
				}
			}
		}
	})
}

func TestWhetherAFileIsGoodDoesNotDependOnTheCrop(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	var d Decoder
	var p Planes
	file, differs := encode(t, photo(120, 90), 85), false
	for range 300 {
		b := damage(r, file)
		c, err := d.Config(b)
		if err != nil || c.Width*c.Height > 1<<20 {
			continue
		}
		verdict := d.Decode(&p, b, Options{})
		for range 3 {
			x, y := r.IntN(c.Width), r.IntN(c.Height)
			crop := image.Rect(x, y, x+1, y+1)
			// Where a coefficient is out of range image/jpeg decides, and only those in the crop are looked at.
			if err := d.Decode(&p, b, Options{Crop: crop}); err != verdict && verdict != ErrUnsupported && err != ErrUnsupported {
				t.Fatalf("the verdict is %v, with a crop %v", verdict, err)
			}
			if d.Decode(&p, b, Options{Crop: crop, Lenient: true}) == nil && verdict != nil {
				differs = true
			}
		}
	}
	if !differs {
		t.Error("damage below the crop is never left unread by a lenient decoder")
	}
}

func TestADecoderIsGoodAfterDamage(t *testing.T) {
	r, file := rand.New(rand.NewPCG(9, 1)), encode(t, photo(90, 70), 85)
	everyPath(t, func(t *testing.T, path Path) {
		fresh, used := Decoder{Path: path}, Decoder{Path: path}
		var want, p Planes
		if err := fresh.Decode(&want, file, Options{}); err != nil {
			t.Fatal(err)
		}
		for range 100 {
			used.Decode(&p, damage(r, file), Options{MaxPixels: 1 << 20})
			if err := used.Decode(&p, file, Options{}); err != nil {
				t.Fatal(err)
			}
			if mean, _ := distance(t, p.Image(), want.Image()); mean > 0 {
				t.Fatalf("after a damaged file a good one differs by %v", mean)
			}
		}
	})
}

func TestLargePicturesAreRefusedBeforeMemoryIsTaken(t *testing.T) {
	file := encode(t, photo(64, 48), 75)
	at := bytes.Index(file, []byte{0xff, 0xc0})
	for _, side := range []byte{0x2c, 0xff} { // 11264 and 65280
		b := slices.Clone(file)
		copy(b[at+5:], []byte{side, 0, side, 0})
		var d Decoder
		var p Planes
		if err := d.Decode(&p, b, Options{}); err != ErrTooLarge {
			t.Errorf("error is %v, want %v", err, ErrTooLarge)
		}
		if cap(p.Y) > 0 {
			t.Errorf("a header alone takes %d bytes", cap(p.Y))
		}
	}
	var d Decoder
	var p Planes
	if err := d.Decode(&p, file, Options{MaxPixels: 64*48 - 1}); err != ErrTooLarge {
		t.Errorf("error is %v, want %v", err, ErrTooLarge)
	}
}

func TestOddFilesAreLeftToImageJPEG(t *testing.T) {
	want := map[string]error{
		"progressive.jpg": nil, "orientation_0.jpg": nil, "orientation_1.jpg": nil, "orientation_2.jpg": nil, "orientation_3.jpg": nil,
		"orientation_4.jpg": nil, "orientation_5.jpg": nil, "orientation_6.jpg": nil, "orientation_7.jpg": nil, "orientation_8.jpg": nil,

		"adobe_rgb.jpg": ErrUnsupported, "cmyk.jpg": ErrUnsupported, "png_named.jpg": ErrUnsupported,
		"bad_quant_selector.jpg": ErrUnsupported, "corrupt.jpg": ErrDamaged,
		"corrupt34_2.jpg": ErrTooLarge, "corrupt34_3.jpg": ErrTooLarge, "corrupt34_4.jpg": ErrTooLarge,
		"empty.jpg": ErrUnsupported, "gzip_named.jpg": ErrUnsupported, "html_named.jpg": ErrUnsupported,
		"huge_header_65500.jpg": ErrTooLarge, "lossless.jpg": ErrUnsupported, "tables_only.jpg": ErrDamaged,
		"testorig12.jpg": ErrUnsupported, "truncated.jpg": ErrDamaged, "bad_huffman.jpg": ErrDamaged,
		"progressive_truncated.jpg": ErrDamaged, "odd_subsampling_441.jpg": ErrUnsupported, "testimgari.jpg": ErrUnsupported,
	}
	names, files := archive(t, "odd-jpeg.tar.gz", 1000)
	decoders := paths()
	for _, name := range names {
		base := name[len("odd-jpeg/"):]
		verdict, ok := want[base]
		if !ok {
			t.Errorf("%s: no verdict is known", base)
			continue
		}
		var p Planes
		if err := decoders[0].Decode(&p, files[name], Options{}); err != verdict {
			t.Errorf("%s: error is %v, want %v", base, err, verdict)
		}
		agrees(t, decoders, files[name])
	}
}

// FuzzDecode checks that nothing makes a decoder panic or read what it should not, that all paths agree, and that what
// is decoded image/jpeg decodes alike.
func FuzzDecode(f *testing.F) {
	for _, b := range seeds(f) {
		f.Add(b)
	}
	addOdd(f)
	decoders := paths()
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<16 {
			return
		}
		agrees(t, decoders, b)
	})
}

// FuzzCrop checks that with a crop the verdict is the same and the samples are, on every path.
func FuzzCrop(f *testing.F) {
	for _, b := range seeds(f) {
		f.Add(b, uint16(3), uint16(5), uint16(20), uint16(10))
	}
	decoders := paths()
	f.Fuzz(func(t *testing.T, b []byte, x, y, w, h uint16) {
		if len(b) > 1<<16 {
			return
		}
		o := Options{MaxPixels: 1 << 20}
		for _, d := range decoders {
			var whole, part Planes
			verdict := d.Decode(&whole, b, o)
			o := o
			o.Crop = image.Rect(int(x), int(y), int(x)+int(w), int(y)+int(h))
			if err := d.Decode(&part, b, o); err != verdict && verdict != ErrUnsupported && err != ErrUnsupported {
				t.Fatalf("path %v: error is %v, with the crop %v", d.Path, verdict, err)
			} else if err != nil || verdict != nil {
				continue
			}
			for y := part.Rect.Min.Y; y < part.Rect.Max.Y; y++ {
				n := part.Rect.Dx()
				got := part.Y[(y-part.Rect.Min.Y)*part.YStride:][:n]
				if !bytes.Equal(got, whole.Y[y*whole.YStride+part.Rect.Min.X:][:n]) {
					t.Fatalf("path %v: row %d of %v differs", d.Path, y, part.Rect)
				}
			}
			o.Lenient = true
			if err := d.Decode(&part, b, o); err != nil {
				t.Fatalf("path %v: lenient: %v", d.Path, err)
			}
		}
	})
}
