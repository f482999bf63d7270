package data

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/reprise-ml/reprise/internal/jpeg"
)

// Decode returns p decoded. It fails on what is no JPEG, PNG, GIF or WebP, is
// damaged or not whole, or has more than [MaxPixels]; a header alone costs no
// memory. Damage to a JPEG that leaves a valid file, of other pixels, is not
// noticed: the format has no checksums.
func (p Picture) Decode() (Picture, error) { return new(decoder).decode(p) }

// decoder decodes pictures, one after another.
type decoder struct{ jpeg jpeg.Decoder }

// unforeseen, deferred, turns a panic of a decoder on data that nobody foresaw
// into an error.
func unforeseen(err *error) {
	if bug := recover(); bug != nil {
		*err = fmt.Errorf("data: the decoder panicked: %v", bug)
	}
}

// planes decodes a JPEG, or a part of it, to the memory of p. An error is no
// verdict on the file.
func (d *decoder) planes(p *jpeg.Planes, file []byte, o jpeg.Options) (err error) {
	defer unforeseen(&err)
	return d.jpeg.Decode(p, file, o)
}

func (d *decoder) decode(p Picture) (decoded Picture, err error) {
	defer unforeseen(&err)
	if p.Encoded == nil {
		return p, nil
	}
	if len(p.Encoded) == 0 {
		return Picture{}, errors.New("data: the picture is empty")
	}
	var planes jpeg.Planes
	if d.jpeg.Decode(&planes, p.Encoded, jpeg.Options{MaxPixels: MaxPixels}) == nil {
		return Picture{Image: planes.Image(), orientation: orientationOf(p.Encoded)}, nil
	}
	_, headless := d.jpeg.Config(p.Encoded)
	format, ok := codecOf(p.Encoded) // whose verdict is final, also of a JPEG
	if !ok {
		return Picture{}, fmt.Errorf("data: no JPEG, PNG, GIF or WebP: %s", foreign(p.Encoded))
	}
	c, err := format.config(bytes.NewReader(p.Encoded))
	if err != nil {
		return Picture{}, fmt.Errorf("data: decoding the header of a %s: %w", format.name, err)
	}
	if c.Width <= 0 || c.Height <= 0 || c.Width > MaxPixels/c.Height {
		return Picture{}, fmt.Errorf("data: the picture is %d×%d pixels, want at least one and at most %d", c.Width, c.Height, MaxPixels)
	}
	if c.Width*c.Height/format.pixelsPerByte > len(p.Encoded) {
		return Picture{}, fmt.Errorf("data: the picture is %d×%d pixels, more than %d bytes of %s can hold", c.Width, c.Height, len(p.Encoded), format.name)
	}
	m, err := format.decode(bytes.NewReader(p.Encoded))
	if err != nil {
		return Picture{}, fmt.Errorf("data: decoding a %s: %w", format.name, err)
	}
	if format.whole != nil {
		if err := format.whole(p.Encoded); err != nil {
			return Picture{}, err
		}
	}
	return Picture{Image: m, orientation: orientationOf(p.Encoded), indivisible: headless == nil}, nil
}

// Indivisible reports whether p was decoded by image/jpeg, although a part of
// it may be decoded here where damage elsewhere is not noticed; the last bits
// of its pixels then depend on what was read. See [Preparation].
func (p Picture) Indivisible() bool { return p.indivisible }
