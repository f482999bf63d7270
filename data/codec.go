package data

import (
	"bytes"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
)

// codec is a format of encoded pictures.
type codec struct {
	name          string
	config        func(io.Reader) (image.Config, error)
	decode        func(io.Reader) (image.Image, error)
	whole         func([]byte) error // reports what a decoded file lacks; may be nil
	pixelsPerByte int                // the most that a byte of a file can stand for
}

// codecOf returns the codec of the format that b begins as. It knows these
// three whatever package image does, where any package may add formats.
func codecOf(b []byte) (c codec, ok bool) {
	switch {
	case bytes.HasPrefix(b, []byte("\xff\xd8")):
		// A block of 8×8 takes at least a bit.
		return codec{"JPEG", jpeg.DecodeConfig, jpeg.Decode, wholeJPEG, 8 * 64}, true
	case bytes.HasPrefix(b, []byte("\x89PNG\r\n\x1a\n")):
		// Deflate makes at most 1032 bytes of one, of a pixel a bit.
		return codec{"PNG", png.DecodeConfig, png.Decode, nil, 8 * 1032}, true
	case bytes.HasPrefix(b, []byte("GIF87a")), bytes.HasPrefix(b, []byte("GIF89a")):
		// A code of n bits stands for at most 2ⁿ pixels, and n is at most 12.
		return codec{"GIF", gif.DecodeConfig, gif.Decode, nil, 8 * 4096 / 12}, true
	default:
		return codec{}, false
	}
}
