package data

import (
	"bytes"
	"image/color"
)

// Facts are what the header of a picture tells of it.
type Facts struct {
	Format      string // JPEG, PNG, GIF or WebP; RGB of pixels as they are; "" of what is none of these
	Gray, CMYK  bool   // neither means colours of any other kind
	Progressive bool   // of a JPEG
	Orientation int    // EXIF's, 1 to 8; 1 means upright
}

// Facts returns what the header of p tells, as far as it can be read.
func (p Picture) Facts() Facts {
	f := Facts{Orientation: p.Oriented()}
	if p.Encoded == nil {
		f.Format = "RGB"
		return f
	}
	format, ok := codecOf(p.Encoded)
	if !ok {
		return f
	}
	f.Format = format.name
	if c, err := format.config(bytes.NewReader(p.Encoded)); err == nil {
		f.Gray = c.ColorModel == color.GrayModel || c.ColorModel == color.Gray16Model
		f.CMYK = c.ColorModel == color.CMYKModel
	}
	for marker := range headerOf(p.Encoded) {
		f.Progressive = f.Progressive || marker == markerSOF2
	}
	return f
}
