package data

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/jpeg"
	"os"
	"slices"
	"testing"
)

func TestPicturesAreTurnedAsTheirOrientationSays(t *testing.T) {
	// 0 1 2
	// 3 4 5, as CIPA DC-008 has them seen
	for orientation, want := range map[int][]uint8{
		1: {0, 1, 2, 3, 4, 5},
		2: {2, 1, 0, 5, 4, 3},
		3: {5, 4, 3, 2, 1, 0},
		4: {3, 4, 5, 0, 1, 2},
		5: {0, 3, 1, 4, 2, 5},
		6: {3, 0, 4, 1, 5, 2},
		7: {5, 2, 4, 1, 3, 0},
		8: {2, 5, 1, 4, 0, 3},
	} {
		p := Picture{Width: 3, Height: 2, orientation: orientation}
		for i := range uint8(6) {
			p.Pix = append(p.Pix, i, i+50, i+100)
		}
		before := slices.Clone(p.Pix)
		q := p.Upright()
		if w, h := q.Bounds(); orientation >= 5 && (w != 2 || h != 3) || orientation < 5 && (w != 3 || h != 2) {
			t.Errorf("orientation %d makes %d×%d pixels", orientation, w, h)
		}
		for i, v := range want {
			if got := [3]uint8(q.Pix[3*i:]); got != [3]uint8{v, v + 50, v + 100} {
				t.Errorf("orientation %d: pixel %d is %v, want that of %d", orientation, i, got, v)
			}
		}
		if !slices.Equal(before, p.Pix) {
			t.Errorf("orientation %d: the picture was written to", orientation)
		}
		if q.Oriented() != 1 {
			t.Errorf("orientation %d: what was turned is to be turned again", orientation)
		}
	}
}

// withOrientation is a JPEG file with an EXIF orientation.
func withOrientation(t testing.TB, order binary.AppendByteOrder, orientation uint16) []byte {
	t.Helper()
	var plain bytes.Buffer
	if err := jpeg.Encode(&plain, image.NewGray(image.Rect(0, 0, 9, 5)), nil); err != nil {
		t.Fatal(err)
	}
	tiff := []byte("II*\x00")
	if order.String() == "BigEndian" {
		tiff = []byte("MM\x00*")
	}
	tiff = order.AppendUint32(tiff, 8)
	tiff = order.AppendUint16(tiff, 2)
	for _, e := range [][2]uint16{{0x0100, 9}, {0x0112, orientation}} {
		tiff = order.AppendUint16(tiff, e[0])
		tiff = order.AppendUint16(tiff, 3)
		tiff = order.AppendUint32(tiff, 1)
		tiff = order.AppendUint16(tiff, e[1])
		tiff = order.AppendUint16(tiff, 0)
	}
	body := append([]byte("Exif\x00\x00"), tiff...)
	segment := binary.BigEndian.AppendUint16([]byte{0xff, 0xe1}, uint16(len(body)+2))
	return slices.Concat([]byte("\xff\xd8\xff\xe0\x00\x04ab\xff"), segment, body, plain.Bytes()[2:])
}

func TestTheOrientationIsReadInEitherByteOrder(t *testing.T) {
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		for stored, want := range map[uint16]int{0: 1, 1: 1, 3: 3, 6: 6, 8: 8, 9: 1, 256: 1} {
			b := withOrientation(t, order, stored)
			if got := (Picture{Encoded: b}).Oriented(); got != want {
				t.Errorf("%v, %d: the orientation is %d", order, stored, got)
			}
			p, err := Picture{Encoded: b}.Decode()
			if err != nil {
				t.Fatal(err)
			}
			if p.Oriented() != want {
				t.Errorf("%v, %d: decoded, the orientation is %d", order, stored, p.Oriented())
			}
			if w, _ := p.Bounds(); w != 9 {
				t.Errorf("decoding turned the picture: it is %d wide", w)
			}
			for n := range len(b) { // cut off, there is none or it is the same
				if got := orientationOf(b[:n]); got != want && got != 1 {
					t.Fatalf("of the first %d bytes the orientation is %d", n, got)
				}
			}
		}
	}
}

func TestWebPHasTheColoursOfPIL(t *testing.T) {
	for name, want := range map[string][3]float64{ // see testdata/webp.py; Pillow 9.4
		"lossy.webp":    {127.34, 126.76, 147.63},
		"lossless.webp": {127.03, 127.04, 147},
		"alpha.webp":    {127.84, 127.08, 147.01},
	} {
		b, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Picture{Encoded: b}.Decode()
		if err != nil {
			t.Fatal(err)
		}
		var sum [3]float64
		for i, v := range p.RGB().Pix {
			sum[i%3] += float64(v) / (32 * 24)
		}
		for c, v := range sum {
			if v < want[c]-0.7 || v > want[c]+0.7 {
				t.Errorf("%s has mean colour %.2f, want %.2f", name, sum, want)
				break
			}
		}
		if _, err := (Picture{Encoded: b[:len(b)-20]}).Decode(); err == nil {
			t.Errorf("%s is decoded without its end", name)
		}
	}
}

func FuzzOrientation(f *testing.F) {
	f.Add(withOrientation(f, binary.LittleEndian, 6))
	f.Add(withOrientation(f, binary.BigEndian, 3))
	f.Add([]byte("\xff\xd8\xff\xe1\x00\x10Exif\x00\x00II*\x00\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if o := orientationOf(b); o < 1 || o > 8 {
			t.Errorf("the orientation is %d", o)
		}
	})
}

func TestFactsAreThoseOfTheHeader(t *testing.T) {
	gray := withOrientation(t, binary.LittleEndian, 6)
	webp, err := os.ReadFile("testdata/lossy.webp")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		p    Picture
		want Facts
	}{
		{Picture{Encoded: gray}, Facts{Format: "JPEG", Gray: true, Orientation: 6}},
		{Picture{Encoded: bytes.Replace(gray, []byte{0xff, markerSOF0}, []byte{0xff, markerSOF2}, 1)}, Facts{Format: "JPEG", Gray: true, Progressive: true, Orientation: 6}},
		{Picture{Encoded: webp}, Facts{Format: "WebP", Orientation: 1}},
		{Picture{Encoded: []byte("<html>")}, Facts{Orientation: 1}},
		{Picture{Pix: make([]uint8, 3), Width: 1, Height: 1}, Facts{Format: "RGB", Orientation: 1}},
	} {
		if got := c.p.Facts(); got != c.want {
			t.Errorf("got %+v, want %+v", got, c.want)
		}
	}
}
