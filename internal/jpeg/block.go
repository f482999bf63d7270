package jpeg

// job is what there is to do in each MCU for one of its blocks.
type job struct {
	dc, ac *uint32 // tables of Huffman codes: huffman.look
	at     int     // the block, by its number in Decoder.coef
	step   int     // from there to the block of the next MCU
	pred   int     // where the component's DC value is, in bytes from the first
	limit  int     // of DC values
}

// blocks decodes mcus MCUs, each of the blocks of jobs, whose at it advances (F.2.2): coefficients to coef, to last the
// last position of each block that is not zero. Pred are the DC values of the blocks before. It is false if the data are
// not valid or end before byte end does; up to slack bytes after that are read.
func (r *reader) blocks(jobs []job, tables *[3][2][]uint32, mcus int, coef []int16, last []uint8, pred *[3]int32, end int) (ok bool) {
	for range mcus {
		for i := range jobs {
			j := &jobs[i]
			c := j.pred / 4
			diff, k := r.block(tables[c][0], tables[c][1], (*[64]int16)(coef[64*j.at:]))
			pred[c] += diff
			if k < 0 || pred[c] > int32(j.limit) || pred[c] < -int32(j.limit) || r.used() > 8*end {
				return false
			}
			coef[64*j.at], last[j.at] = int16(pred[c]), uint8(k)
			j.at += j.step
		}
	}
	return true
}

// block decodes a block: the difference of its DC value, and into coef the others. Last is the last position that is not
// zero, or -1 if the data are not valid. What comes after the end of the data counts as zeros; a block takes less than
// slack bytes.
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
