package data

import (
	"image"
	"io"

	"golang.org/x/image/webp"
)

// decodeWebP decodes a still WebP, and leaves transparency out. The decoder
// gives lossy ones in the colours of video, of which black is 16 and white
// 235, as if they were those of JPEG: they become RGB here, in the arithmetic
// of libwebp (VP8YUVToRGB of its src/dsp/yuv.h).
func decodeWebP(r io.Reader) (image.Image, error) {
	m, err := webp.Decode(r)
	switch m := m.(type) {
	case *image.YCbCr:
		return fromVideo(m), err
	case *image.NYCbCrA:
		return fromVideo(&m.YCbCr), err
	}
	return m, err
}

func fromVideo(m *image.YCbCr) *image.NRGBA {
	b := m.Bounds()
	out := image.NewNRGBA(b)
	high := func(v uint8, by int) int { return int(v) * by >> 8 }
	clip := func(v int) uint8 { return uint8(min(max(v>>6, 0), 255)) }
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			c := m.COffset(x, y)
			luma, u, v := high(m.Y[m.YOffset(x, y)], 19077), m.Cb[c], m.Cr[c]
			q := out.Pix[out.PixOffset(x, y):][:4:4]
			q[0] = clip(luma + high(v, 26149) - 14234)
			q[1] = clip(luma - high(u, 6419) - high(v, 13320) + 8708)
			q[2] = clip(luma + high(u, 33050) - 17685)
			q[3] = 0xff
		}
	}
	return out
}
