package jpeg

import "image"

// RGB8 sets dst to the pixels of crop, 3 bytes each, as they are: neighbours share the colours of one sample. Rows begin
// stride bytes apart. Crop must be in p.Rect. Colours are those of [image/color.YCbCrToRGB], to the bit.
func (p *Planes) RGB8(dst []byte, stride int, crop image.Rectangle) {
	if crop.Empty() {
		return
	}
	check(crop, p.Rect)
	n := crop.Dx()
	for y := crop.Min.Y; y < crop.Max.Y; y++ {
		out := dst[(y-crop.Min.Y)*stride:][:3*n]
		row := p.Y[(y-p.Rect.Min.Y)*p.YStride+crop.Min.X-p.Rect.Min.X:][:n]
		if p.Gray() {
			for i, v := range row {
				q := out[3*i:][:3]
				q[0], q[1], q[2] = v, v, v
			}
			continue
		}
		at, base := (y/p.RatioY-p.Rect.Min.Y/p.RatioY)*p.CStride, p.Rect.Min.X/p.RatioX
		cb, cr := p.Cb[at:], p.Cr[at:]
		x, i := crop.Min.X, 0
		for i < n {
			c := x/p.RatioX - base
			// The colours of a sample, with 16 bits of fraction, added to each brightness that it goes with.
			b, r := int32(cb[c])-128, int32(cr[c])-128
			red, green, blue := 91881*r, -22554*b-46802*r, 116130*b
			end := min(n, i+p.RatioX-x%p.RatioX)
			for ; i < end; i++ {
				v := int32(row[i]) * 0x10101
				q := out[3*i:][:3]
				q[0], q[1], q[2] = clamp(v+red), clamp(v+green), clamp(v+blue)
				x++
			}
		}
	}
}

// clamp is the integer part of v, which has 16 bits of fraction, as 0 to 255.
func clamp(v int32) byte {
	if uint32(v)&0xff000000 != 0 {
		return byte(^(v >> 31))
	}
	return byte(v >> 16)
}
