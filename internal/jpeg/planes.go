package jpeg

import "image"

// Planes is a picture, or a part of one, as JPEG holds it: brightness and two colours, each at its own resolution. The
// layout is that of [image.YCbCr], or of [image.Gray] where Cb and Cr are empty.
type Planes struct {
	Width, Height int             // of the whole picture, in pixels
	Rect          image.Rectangle // the part that the planes hold
	Y, Cb, Cr     []byte          // samples; Cb and Cr are empty if the picture is gray
	YStride       int             // bytes from a row of Y to the next
	CStride       int             // the same of Cb and Cr
	RatioX        int             // pixels that a sample of Cb and Cr covers, across: 1, 2 or 4
	RatioY        int             // the same down: 1 or 2
}

// Gray reports whether p has no colours.
func (p *Planes) Gray() bool { return len(p.Cb) == 0 }

// Image is p as an image that shares its memory.
func (p *Planes) Image() image.Image {
	if p.Gray() {
		return &image.Gray{Pix: p.Y, Stride: p.YStride, Rect: p.Rect}
	}
	ratio := image.YCbCrSubsampleRatio444
	switch [2]int{p.RatioX, p.RatioY} {
	case [2]int{1, 2}:
		ratio = image.YCbCrSubsampleRatio440
	case [2]int{2, 1}:
		ratio = image.YCbCrSubsampleRatio422
	case [2]int{2, 2}:
		ratio = image.YCbCrSubsampleRatio420
	case [2]int{4, 1}:
		ratio = image.YCbCrSubsampleRatio411
	case [2]int{4, 2}:
		ratio = image.YCbCrSubsampleRatio410
	}
	return &image.YCbCr{Y: p.Y, Cb: p.Cb, Cr: p.Cr, YStride: p.YStride, CStride: p.CStride, SubsampleRatio: ratio, Rect: p.Rect}
}

// PlanesOf views m, an [image.YCbCr] or [image.Gray], as planes that share its memory; ok is false for other images.
func PlanesOf(m image.Image) (p Planes, ok bool) {
	switch m := m.(type) {
	case *image.Gray:
		p = Planes{Y: m.Pix, YStride: m.Stride, RatioX: 1, RatioY: 1, Rect: m.Rect}
	case *image.YCbCr:
		p = Planes{Y: m.Y, Cb: m.Cb, Cr: m.Cr, YStride: m.YStride, CStride: m.CStride, RatioX: 1, RatioY: 1, Rect: m.Rect}
		switch m.SubsampleRatio {
		case image.YCbCrSubsampleRatio422:
			p.RatioX = 2
		case image.YCbCrSubsampleRatio420:
			p.RatioX, p.RatioY = 2, 2
		case image.YCbCrSubsampleRatio440:
			p.RatioY = 2
		case image.YCbCrSubsampleRatio411:
			p.RatioX = 4
		case image.YCbCrSubsampleRatio410:
			p.RatioX, p.RatioY = 4, 2
		}
	default:
		return Planes{}, false
	}
	p.Width, p.Height = p.Rect.Dx(), p.Rect.Dy()
	return p, true
}
