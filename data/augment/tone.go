package augment

// posterize keeps the highest bits of every value: PIL's ImageOps.posterize.
func posterize(pix []uint8, bits float64) {
	mask := uint8(0xff << (8 - int(bits)))
	for i := range pix {
		pix[i] &= mask
	}
}

// solarize inverts what is not below the threshold: ImageOps.solarize.
func solarize(pix []uint8, threshold float64) {
	var table [256]uint8
	for v := range table {
		if table[v] = uint8(v); float64(v) >= threshold {
			table[v] = uint8(255 - v)
		}
	}
	for i, v := range pix {
		pix[i] = table[v]
	}
}

// autoContrast stretches each channel to the whole range from 0 to 255:
// ImageOps.autocontrast.
func autoContrast(pix []uint8, _ float64) {
	eachChannel(pix, func(counts *[256]int, table *[256]uint8) {
		low, high := 0, 255
		for low < 255 && counts[low] == 0 {
			low++
		}
		for high > 0 && counts[high] == 0 {
			high--
		}
		if high <= low {
			return
		}
		scale := 255 / float64(high-low)
		offset := float64(-low) * scale
		for v := range table {
			table[v] = uint8(min(max(float64(float64(v)*scale)+offset, 0), 255))
		}
	})
}

// equalize makes the values of each channel about equally frequent:
// ImageOps.equalize.
func equalize(pix []uint8, _ float64) {
	eachChannel(pix, func(counts *[256]int, table *[256]uint8) {
		total, last := 0, 0
		for _, n := range counts {
			if total += n; n > 0 {
				last = n
			}
		}
		step := (total - last) / 255
		if step == 0 {
			return
		}
		n := step / 2
		for v := range table {
			table[v] = uint8(min(n/step, 255))
			n += counts[v]
		}
	})
}

// eachChannel replaces the values of each channel by the table that make
// fills, given how often each value occurs. The table is filled with the
// identity before.
func eachChannel(pix []uint8, make func(counts *[256]int, table *[256]uint8)) {
	var counts [3][256]int
	for i := 0; i+3 <= len(pix); i += 3 {
		counts[0][pix[i]]++
		counts[1][pix[i+1]]++
		counts[2][pix[i+2]]++
	}
	for c := range counts {
		var table [256]uint8
		for v := range table {
			table[v] = uint8(v)
		}
		make(&counts[c], &table)
		for i := c; i < len(pix); i += 3 {
			pix[i] = table[pix[i]]
		}
	}
}

// sharpen mixes the picture from with a smoothed one, on to: by shares above
// 1 it is sharpened, by shares below it is blurred. It is PIL's
// ImageEnhance.Sharpness: the smoothed pixel is (4·own + Σ of the 3×3)/13, and
// those at the border stay.
func sharpen(to, from []uint8, w, h int, share float64, _ Color) {
	copy(to, from)
	s, row := float32(share), 3*w
	for y := 1; y < h-1; y++ {
		for i := row*y + 3; i < row*(y+1)-3; i++ {
			sum := 4 * int(from[i])
			for _, at := range [3]int{i - row, i, i + row} {
				sum += int(from[at-3]) + int(from[at]) + int(from[at+3])
			}
			to[i] = mix(uint8((2*sum+13)/26), from[i], s)
		}
	}
}
