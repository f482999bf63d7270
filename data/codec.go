package data

import (
	"bytes"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/webp"
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
// four whatever package image does, where any package may add formats.
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
	case len(b) >= 12 && string(b[:4]) == "RIFF" && string(b[8:12]) == "WEBP":
		// There is no bound: pixels of a plain picture may take no bits at all.
		// A plain one of more than this is refused.
		return codec{"WebP", webp.DecodeConfig, decodeWebP, nil, 1 << 16}, true
	default:
		return codec{}, false
	}
}

// foreign says what b is that is no picture, as far as it is something that
// is often found under the name of one.
func foreign(b []byte) string {
	start := bytes.ToLower(bytes.TrimLeft(b[:min(len(b), 256)], " \t\r\n\ufeff"))
	switch {
	case bytes.HasPrefix(b, []byte("\x1f\x8b")):
		return "it is packed with gzip"
	case bytes.HasPrefix(start, []byte("<!doctype html")), bytes.HasPrefix(start, []byte("<html")):
		return "it is a web page (HTML)"
	case bytes.HasPrefix(start, []byte("<?xml")), bytes.HasPrefix(start, []byte("<svg")):
		return "it is XML, perhaps SVG"
	case bytes.HasPrefix(b, []byte("BM")):
		return "it is a BMP"
	case bytes.HasPrefix(b, []byte("II*\x00")), bytes.HasPrefix(b, []byte("MM\x00*")):
		return "it is a TIFF"
	case len(b) >= 12 && string(b[4:8]) == "ftyp":
		return "it is a HEIF, AVIF or MP4"
	default:
		return fmt.Sprintf("it begins with %.16q", b)
	}
}
