package jpeg

// block decodes a block (F.2.2): the difference of its DC value, and into coef the others. Last is the last position
// that is not zero, or -1 if the data are not valid. What comes after the end of the data counts as zeros; a block
// takes less than slack bytes.
func (r *reader) block(dc, ac []uint32, coef *[64]int16) (diff int32, last int) {
	r.refill()
	e := r.look(dc)
	if e>>8&0xff == badCode {
		return 0, -1
	}
	diff = r.take(e)
	for k := 0; ; {
		r.refill()
		for range 2 {
			e = r.look(ac)
			v := r.take(e)
			k += int(e >> 8 & 0xff)
			if k > 63 {
				if k < endOfBlock || k >= badCode {
					return 0, -1
				}
				return diff, last
			}
			coef[transposed[k]] = int16(v)
			if last = k; k == 63 {
				return diff, last
			}
		}
	}
}

// decodeBlock is [reader.block] on a path.
func decodeBlock(path Path, r *reader, dc, ac []uint32, coef *[64]int16) (diff int32, last int) {
	if path != Generic {
		return decodeBlockSIMD(r, dc, ac, coef)
	}
	return r.block(dc, ac, coef)
}
