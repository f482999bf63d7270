package jpeg

// progressive decodes a scan of a progressive picture (G.1.2) to the coefficients.
func (d *Decoder) progressive(sc *scan) error {
	f := &d.frame
	if d.scans == 1 {
		blocks := 0
		for i := range f.c[:f.n] {
			c := &f.c[i]
			c.offset = blocks
			blocks += c.stride * f.down * c.v
		}
		d.room(blocks + 1)
		clear(d.last)
	}
	var p refinement
	p.reader, p.first, p.last, p.low = &d.reader, sc.first, sc.last, sc.low
	for i := range sc.n {
		c := &sc.c[i]
		c.q = &d.quant[c.quant]
		if sc.first == 0 && sc.high == unknown {
			if !d.defined.dc[c.dc] {
				return ErrDamaged
			}
			d.dc[c.dc].build(tableDC)
		}
		if sc.first > 0 {
			if !d.defined.ac[c.ac] {
				return ErrDamaged
			}
			d.ac[c.ac].build(tableSymbols)
			p.table = d.ac[c.ac].look
		}
	}
	seg, left := 0, d.restart
	for my := range sc.down {
		for mx := range sc.across {
			for i := range sc.n {
				c := &sc.c[i]
				for j := range c.h * c.v {
					at := c.offset + (my*c.v+j/c.h)*c.stride + mx*c.h + j%c.h
					block, ok := (*[64]int16)(d.coef[64*at:]), true
					switch {
					case sc.first > 0 && sc.high == unknown:
						ok = p.start(block, &d.last[at])
					case sc.first > 0:
						ok = p.refine(block, &d.last[at])
					case sc.high == unknown:
						d.reader.refill()
						e := d.reader.look(d.dc[c.dc].look)
						c.pred += d.reader.take(e)
						v := c.pred << sc.low
						ok = e>>8&0xff != badCode && v <= maxCoefficient && v >= -maxCoefficient
						block[0] = int16(v)
					default:
						d.reader.refill()
						block[0] |= int16(d.reader.bits(1) << sc.low)
					}
					if !ok || d.reader.used() > 8*d.segments[seg].end {
						return ErrDamaged
					}
				}
			}
			if left--; left == 0 && (mx+1 < sc.across || my+1 < sc.down) {
				if !d.next(&seg) {
					return ErrDamaged
				}
				left, p.run = d.restart, 0
				for i := range sc.n {
					sc.c[i].pred = 0
				}
			}
		}
	}
	if p.run > 0 || !d.ended(seg) { // image/jpeg goes on with the run in the next scan
		return ErrDamaged
	}
	return nil
}

// refinement is a scan of one component's coefficients from first to last, down to bit low.
type refinement struct {
	*reader
	table            []uint32
	first, last, low int
	run              int // blocks to come in which no more coefficients get values
}

// symbol takes the next symbol: a run of zeros and a size. At least 16 bits must be there.
func (p *refinement) symbol() (run, size int, ok bool) {
	e := p.look(p.table)
	n := e & 63
	p.acc <<= n
	p.n -= int(n)
	return int(e >> 12 & 15), int(e >> 8 & 15), n > 0
}

// start decodes a block's first scan of some coefficients.
func (p *refinement) start(block *[64]int16, last *uint8) bool {
	if p.run > 0 {
		p.run--
		return true
	}
	for k := p.first; k <= p.last; k++ {
		p.refill()
		run, size, ok := p.symbol()
		if !ok {
			return false
		}
		if size == 0 {
			if run < 15 {
				p.run = 1<<run - 1 + p.bits(run)
				return true
			}
			k += 15
			continue
		}
		if k += run; k > p.last || size > maxSizeAC {
			return false
		}
		v := int32(p.bits(size))
		if v < 1<<(size-1) {
			v -= 1<<size - 1
		}
		if v <<= p.low; v > maxCoefficient || v < -maxCoefficient {
			return false
		}
		block[transposed[k]] = int16(v)
		*last = max(*last, uint8(k))
	}
	return true
}

// refine decodes one bit more of a block's coefficients.
func (p *refinement) refine(block *[64]int16, last *uint8) bool {
	delta := int16(1) << p.low
	k := p.first
	if p.run == 0 {
		for ; k <= p.last; k++ {
			p.refill()
			run, size, ok := p.symbol()
			if !ok || size > 1 {
				return false
			}
			value := int16(0)
			switch {
			case size == 1:
				if value = delta; p.bits(1) == 0 {
					value = -delta
				}
			case run < 15:
				p.run = 1<<run + p.bits(run)
			}
			if p.run > 0 {
				break
			}
			if k = p.correct(block, k, run, delta); k > p.last {
				return false
			}
			if value != 0 {
				block[transposed[k]] = value
				*last = max(*last, uint8(k))
			}
		}
	}
	if p.run > 0 {
		p.run--
		p.correct(block, k, 64, delta)
	}
	return true
}

// correct takes a bit for each coefficient from k on that is not zero, up to the zero after run of them, and returns
// the position of that.
func (p *refinement) correct(block *[64]int16, k, run int, delta int16) int {
	for ; k <= p.last; k++ {
		c := &block[transposed[k]]
		if *c == 0 {
			if run == 0 {
				break
			}
			run--
			continue
		}
		if p.n < 1 {
			p.refill()
		}
		if p.bits(1) == 1 {
			if *c > 0 {
				*c += delta
			} else {
				*c -= delta
			}
		}
	}
	return k
}

// transformAll transforms the part of a progressive picture that is wanted; ok is as of inverseRow.
func (d *Decoder) transformAll() (ok bool) {
	ok = true
	path, w := d.Path.resolve(), d.window
	for i := range d.frame.c[:d.frame.n] {
		c := &d.frame.c[i]
		plane, stride := d.plane(i)
		for y := range (w.y1 - w.y0) * c.v {
			at := c.offset + (w.y0*c.v+y)*c.stride + w.x0*c.h
			for x := range (w.x1 - w.x0) * c.h {
				dc, limit := d.coef[64*(at+x)], c.q.limit[0]
				ok = ok && dc <= limit && dc >= -limit
			}
			ok = inverseRow(path, plane[8*y*stride:], stride, d.coef[64*at:], d.last[at:], c.q, (w.x1-w.x0)*c.h) && ok
		}
	}
	return ok
}
