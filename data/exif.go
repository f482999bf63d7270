package data

import (
	"bytes"
	"encoding/binary"
	"iter"
)

// upright is the EXIF orientation of a picture that is stored as it is seen.
const upright = 1

// orientationOf returns the EXIF orientation of a JPEG file, 1 to 8 (CIPA
// DC-008, tag 0x0112 of the 0th IFD), and 1 where it has none, or none that
// is valid. It makes no demands on b.
func orientationOf(b []byte) int {
	const markerAPP1 = 0xe1
	for marker, body := range headerOf(b) {
		if tiff, ok := bytes.CutPrefix(body, []byte("Exif\x00\x00")); ok && marker == markerAPP1 {
			return orientationIn(tiff)
		}
	}
	return upright
}

// headerOf returns the segments of a JPEG file up to its first scan, or up to
// where it is damaged: their markers, and what is in them.
func headerOf(b []byte) iter.Seq2[byte, []byte] {
	return func(yield func(byte, []byte) bool) {
		b, isJPEG := bytes.CutPrefix(b, []byte("\xff\xd8"))
		for isJPEG && len(b) >= 4 && b[0] == 0xff {
			marker, size := b[1], int(binary.BigEndian.Uint16(b[2:]))
			switch {
			case marker == 0xff: // filling
				b = b[1:]
				continue
			case marker == markerSOS, size < 2, 2+size > len(b), !yield(marker, b[4:2+size]):
				return
			}
			b = b[2+size:]
		}
	}
}

// orientationIn returns the orientation in a TIFF structure.
func orientationIn(tiff []byte) int {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(tiff, []byte("II*\x00")):
		order = binary.LittleEndian
	case bytes.HasPrefix(tiff, []byte("MM\x00*")):
		order = binary.BigEndian
	default:
		return upright
	}
	if len(tiff) < 8 {
		return upright
	}
	at := int64(order.Uint32(tiff[4:]))
	if at+2 > int64(len(tiff)) {
		return upright
	}
	entries := int(order.Uint16(tiff[at:]))
	const (
		size        = 12 // of an entry: tag, type, count, value
		orientation = 0x0112
		short       = 3
	)
	for e := tiff[at+2:]; entries > 0 && len(e) >= size; e, entries = e[size:], entries-1 {
		if order.Uint16(e) != orientation {
			continue
		}
		if v := order.Uint16(e[8:]); order.Uint16(e[2:]) == short && 1 <= v && v <= 8 {
			return int(v)
		}
		return upright
	}
	return upright
}

// Oriented returns the EXIF orientation of a picture that is encoded or that
// [Picture.Decode] made, 1 to 8; 1 is upright, and what is without one.
func (p Picture) Oriented() int {
	switch {
	case p.Encoded != nil:
		return orientationOf(p.Encoded)
	case p.orientation != 0:
		return p.orientation
	default:
		return upright
	}
}

// Upright returns a decoded picture as its EXIF orientation says that it is
// to be seen.
func (p Picture) Upright() Picture {
	o := p.Oriented()
	if o == upright {
		return p
	}
	p = p.RGB()
	out := Picture{Pix: make([]uint8, len(p.Pix)), Width: p.Width, Height: p.Height}
	if o >= 5 { // rows are columns
		out.Width, out.Height = p.Height, p.Width
	}
	for y := range out.Height {
		for x := range out.Width {
			// The pixel that is seen at (x, y): of the table in CIPA DC-008,
			// where orientation 6, say, has row 0 at the right and column 0 at
			// the top.
			u, v := x, y
			if o >= 5 {
				u, v = y, x
			}
			if o == 2 || o == 3 || o == 7 || o == 8 {
				u = p.Width - 1 - u
			}
			if o == 3 || o == 4 || o == 6 || o == 7 {
				v = p.Height - 1 - v
			}
			copy(out.Pix[3*(y*out.Width+x):][:3], p.Pix[3*(v*p.Width+u):])
		}
	}
	return out
}
