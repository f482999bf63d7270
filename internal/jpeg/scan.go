package jpeg

// unknown is the precision of coefficients that no scan has brought.
const unknown = -1

// chunk is how many MCUs are decoded before they are transformed.
const chunk = 16

// scan is what is known of one scan.
type scan struct {
	n            int
	c            [3]scanned
	across, down int    // size in MCUs
	window       window // in MCUs, the part to transform
	first, last  int    // coefficients
	high, low    int    // bits: known before, and after
}

// scanned is a component of a scan.
type scanned struct {
	*component
	index  int // in the frame
	h, v   int // blocks of an MCU
	dc, ac byte
	at     int // its first block in Decoder.coef
	pred   int32
}

// readScan reads a scan (B.2.3), of which s is the header, and b what comes after it. It returns what follows. Done means
// that all is there that is needed.
func (d *Decoder) readScan(s, b []byte) (rest []byte, done bool, err error) {
	f := &d.frame
	if !f.found || len(s) < 6 || int(s[0]) < 1 || int(s[0]) > f.n || len(s) != 4+2*int(s[0]) || d.isRGB() {
		return nil, false, ErrDamaged
	}
	sc := scan{n: int(s[0]), across: f.across, down: f.down, window: d.window, last: 63, high: unknown}
	for i := range sc.n {
		c := &sc.c[i]
		c.index = -1
		for j := range f.c[:f.n] {
			if f.c[j].id == s[1+2*i] {
				c.index = j
			}
		}
		c.dc, c.ac = s[2+2*i]>>4, s[2+2*i]&15
		if c.index < 0 || c.dc > 3 || c.ac > 3 || f.baseline && (c.dc > 1 || c.ac > 1) {
			return nil, false, ErrDamaged
		}
		c.component = &f.c[c.index]
		for j := range sc.c[:i] {
			if sc.c[j].index == c.index {
				return nil, false, ErrDamaged
			}
		}
		if !d.defined.quant[c.quant] {
			return nil, false, ErrDamaged
		}
		c.h, c.v = c.component.h, c.component.v
	}
	if c := &sc.c[0]; sc.n == 1 { // A.2.2: one block is an MCU
		if d.restart > 0 && c.h*c.v > 1 {
			return nil, false, ErrUnsupported // image/jpeg counts otherwise
		}
		sc.across, sc.down = c.wide, c.high
		sc.window = window{
			sc.window.x0 * c.h, sc.window.y0 * c.v,
			min(sc.window.x1*c.h, sc.across), min(sc.window.y1*c.v, sc.down),
		}
		c.h, c.v = 1, 1
	}
	if f.progressive {
		end := s[1+2*sc.n:]
		sc.first, sc.last, sc.low = int(end[0]), int(end[1]), int(end[2]&15)
		if h := int(end[2] >> 4); h > 0 {
			sc.high = h
		}
		if sc.first > sc.last || sc.last > 63 || sc.first == 0 && sc.last != 0 || sc.first > 0 && sc.n > 1 || sc.low > 13 || sc.high >= 0 && sc.high != sc.low+1 {
			return nil, false, ErrDamaged
		}
	}
	for i := range sc.n { // no coefficient is brought twice, or refined before it is there
		for k := sc.first; k <= sc.last; k++ {
			if p := &sc.c[i].precision[k]; int(*p) != sc.high {
				return nil, false, ErrUnsupported
			} else {
				*p = int8(sc.low)
			}
		}
	}
	d.scans++
	rest, ok := d.unstuff(b)
	if !ok {
		return nil, false, ErrDamaged
	}
	d.reader.seek(0)
	if f.progressive {
		return rest, false, d.progressive(&sc)
	}
	if err := d.sequential(&sc); err != nil {
		return nil, false, err
	}
	return rest, d.lenient && d.complete(), nil
}

// complete reports whether all coefficients are there.
func (d *Decoder) complete() bool {
	for i := range d.frame.c[:d.frame.n] {
		if d.frame.c[i].precision != [64]int8{} {
			return false
		}
	}
	return true
}

// finish does what remains at the end of the image.
func (d *Decoder) finish() error {
	if !d.frame.found || d.isRGB() || !d.complete() {
		return ErrDamaged
	}
	if d.frame.progressive && !d.transformAll() {
		return ErrUnsupported
	}
	return nil
}

// sequential decodes a scan of a baseline or extended picture (F.2).
func (d *Decoder) sequential(sc *scan) error {
	blocks := 0
	var tables [3][2][]uint32
	for i := range sc.n {
		c := &sc.c[i]
		if !d.defined.dc[c.dc] || !d.defined.ac[c.ac] {
			return ErrDamaged
		}
		c.q = &d.quant[c.quant]
		d.dc[c.dc].build(tableDC)
		d.ac[c.ac].build(tableAC)
		tables[i] = [2][]uint32{d.dc[c.dc].look, d.ac[c.ac].look}
		c.at = blocks
		blocks += even(chunk*c.h) * c.v
	}
	d.room(blocks + 1)
	jobs := d.jobs[:0]
	for i := range sc.n {
		c := &sc.c[i]
		for range c.h * c.v {
			jobs = append(jobs, job{dc: &tables[i][0][0], ac: &tables[i][1][0], pred: 4 * i, limit: int(c.q.limit[0])})
		}
	}
	w, path := sc.window, d.Path.resolve()
	d.pred = [3]int32{}
	seg, left := 0, d.restart
	for my := range sc.down {
		if d.lenient && my >= w.y1 {
			break
		}
		for mx := 0; mx < sc.across; {
			n, inside := min(chunk, sc.across-mx), my >= w.y0 && my < w.y1 && mx >= w.x0 && mx < w.x1
			switch {
			case inside:
				n = min(n, w.x1-mx)
			case mx < w.x0:
				n = min(n, w.x0-mx)
			}
			sc.place(jobs, inside, n, blocks)
			for done := 0; done < n; {
				run := n - done
				if d.restart > 0 {
					if left == 0 {
						if !d.next(&seg) {
							return ErrDamaged
						}
						left, d.pred = d.restart, [3]int32{}
					}
					run = min(run, left)
					left -= run
				}
				end, ok := d.segments[seg].end, false
				if path == Generic {
					ok = d.reader.blocks(jobs, &tables, run, d.coef, d.last, &d.pred, end)
				} else {
					ok = d.reader.blocksSIMD(jobs, run, d.coef, d.last, &d.pred, end)
				}
				if !ok {
					return ErrDamaged
				}
				done += run
			}
			if inside && !d.transform(path, sc, mx-w.x0, my-w.y0, n) {
				return ErrUnsupported
			}
			mx += n
		}
	}
	if !d.lenient && !d.ended(seg) {
		return ErrDamaged
	}
	// All other blocks were cleared when they were transformed.
	clear(d.coef[64*blocks:][:64])
	d.dirty = false
	return nil
}

// place says where the blocks of n MCUs go: of each component row by row, or all to one block if they are not inside the
// window.
func (sc *scan) place(jobs []job, inside bool, n, scrap int) {
	for i := range sc.n {
		c := &sc.c[i]
		for j := range c.h * c.v {
			jobs[0].at, jobs[0].step = scrap, 0
			if inside {
				jobs[0].at, jobs[0].step = c.at+j/c.h*even(n*c.h)+j%c.h, c.h
			}
			jobs = jobs[1:]
		}
	}
}

// next goes to the segment after a restart marker.
func (d *Decoder) next(seg *int) bool {
	s := d.segments[*seg]
	if *seg+1 == len(d.segments) || s.marker != markerRST0+byte(*seg&7) || 8*s.end-d.reader.used() >= 8 {
		return false
	}
	*seg++
	d.reader.seek(s.end)
	return true
}

// ended reports whether segment seg is the last and all of it has been used.
func (d *Decoder) ended(seg int) bool {
	return seg+1 == len(d.segments) && 8*d.segments[seg].end-d.reader.used() < 8
}

// even is n or the even number after it: two blocks are transformed at once, and rows of blocks leave room for that.
func even(n int) int { return (n + 1) &^ 1 }

// room makes Decoder.coef hold n blocks of zeros.
func (d *Decoder) room(n int) {
	if cap(d.last) < n {
		d.coef, d.last = make([]int16, 64*n), make([]uint8, n)
	}
	if d.coef = d.coef[:cap(d.coef)]; d.dirty {
		clear(d.coef)
	}
	d.last, d.dirty = d.last[:cap(d.last)], true
}

// transform transforms n MCUs from (mx, my) of the window on; ok is as of inverseRow.
func (d *Decoder) transform(path Path, sc *scan, mx, my, n int) (ok bool) {
	ok = true
	for i := range sc.n {
		c := &sc.c[i]
		plane, stride := d.plane(c.index)
		for y := range c.v {
			at := c.at + y*even(n*c.h)
			ok = inverseRow(path, plane[8*(my*c.v+y)*stride+8*mx*c.h:], stride, d.coef[64*at:], d.last[at:], c.q, n*c.h) && ok
		}
	}
	return ok
}
