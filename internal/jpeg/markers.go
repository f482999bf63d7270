package jpeg

import "bytes"

// Markers (table B.1).
const (
	markerSOF0 = 0xc0 // baseline
	markerSOF1 = 0xc1 // extended
	markerSOF2 = 0xc2 // progressive
	markerDHT  = 0xc4
	markerRST0 = 0xd0
	markerRST7 = 0xd7
	markerSOI  = 0xd8
	markerEOI  = 0xd9
	markerSOS  = 0xda
	markerDQT  = 0xdb
	markerDRI  = 0xdd
	markerAPP0 = 0xe0
	markerJFIF = markerAPP0
	markerADOB = 0xee
	markerAPPF = 0xef
	markerCOM  = 0xfe
)

// read goes through the segments of a file, up to the first scan if header.
func (d *Decoder) read(b []byte, header bool) error {
	if len(b) < 2 || b[0] != 0xff || b[1] != markerSOI {
		return ErrUnsupported
	}
	d.frame.found, d.restart, d.jfif, d.adobe, d.rgb, d.scans = false, 0, false, false, false, 0
	d.defined.quant, d.defined.dc, d.defined.ac = [4]bool{}, [4]bool{}, [4]bool{}
	for b = b[2:]; ; {
		if len(b) < 2 || b[0] != 0xff {
			return ErrDamaged
		}
		marker := b[1]
		if marker == 0xff {
			b = b[1:]
			continue
		}
		if marker == markerEOI {
			return d.finish()
		}
		if len(b) < 4 {
			return ErrDamaged
		}
		n := 2 + int(b[2])<<8 + int(b[3])
		if n < 4 || n > len(b) {
			return ErrDamaged
		}
		body := b[4:n]
		b = b[n:]
		var err error
		switch {
		case marker == markerSOF0 || marker == markerSOF1 || marker == markerSOF2:
			err = d.readFrame(marker, body)
		case marker == markerDHT:
			if !header {
				err = d.readHuffman(body)
			}
		case marker == markerDQT:
			err = d.readQuant(body)
		case marker == markerDRI:
			if len(body) != 2 {
				return ErrDamaged
			}
			d.restart = int(body[0])<<8 | int(body[1])
		case marker == markerJFIF:
			if len(body) >= 5 {
				d.jfif = bytes.HasPrefix(body, []byte("JFIF\x00"))
			}
		case marker == markerADOB:
			if len(body) >= 12 && bytes.HasPrefix(body, []byte("Adobe")) {
				d.adobe, d.rgb = true, body[11] == 0
			}
		case marker == markerSOS:
			if header {
				if !d.frame.found || d.isRGB() {
					return ErrUnsupported
				}
				return nil
			}
			var done bool
			if b, done, err = d.readScan(body, b); done && err == nil {
				return nil
			}
		case markerAPP0 <= marker && marker <= markerAPPF || marker == markerCOM:
		default:
			return ErrUnsupported
		}
		if err != nil {
			return err
		}
	}
}

// isRGB reports whether the components are red, green and blue, by the rule of image/jpeg.
func (d *Decoder) isRGB() bool {
	f := &d.frame
	return f.n == 3 && !d.jfif && (d.adobe && d.rgb || f.c[0].id == 'R' && f.c[1].id == 'G' && f.c[2].id == 'B')
}

// readFrame reads a frame header (B.2.2).
func (d *Decoder) readFrame(marker byte, s []byte) error {
	f := &d.frame
	if f.found || len(s) < 6 || s[0] != 8 {
		return ErrUnsupported
	}
	f.baseline, f.progressive = marker == markerSOF0, marker == markerSOF2
	f.height, f.width, f.n = int(s[1])<<8|int(s[2]), int(s[3])<<8|int(s[4]), int(s[5])
	if f.n != 1 && f.n != 3 || len(s) != 6+3*f.n || f.width == 0 || f.height == 0 {
		return ErrUnsupported
	}
	for i := range f.n {
		s := s[6+3*i:]
		c := component{id: s[0], quant: s[2], h: int(s[1] >> 4), v: int(s[1] & 15)}
		if c.quant > 3 || c.h < 1 || c.h > 2 || c.v < 1 || c.v > 2 {
			return ErrUnsupported
		}
		if f.n == 1 {
			c.h, c.v = 1, 1
		}
		for k := range c.precision {
			c.precision[k] = unknown
		}
		f.c[i] = c
	}
	f.h, f.v = f.c[0].h, f.c[0].v
	f.across, f.down = (f.width+8*f.h-1)/(8*f.h), (f.height+8*f.v-1)/(8*f.v)
	blocks := 0
	for i := range f.c[:f.n] {
		c := &f.c[i]
		if f.h%c.h != 0 || f.v%c.v != 0 || i == 2 && (c.h != f.c[1].h || c.v != f.c[1].v) {
			return ErrUnsupported
		}
		for _, other := range f.c[:i] {
			if other.id == c.id {
				return ErrDamaged
			}
		}
		x, y := 8*f.h/c.h, 8*f.v/c.v
		c.wide, c.high = (f.width+x-1)/x, (f.height+y-1)/y
		c.stride = even(f.across * c.h)
		blocks += c.h * c.v
	}
	if blocks > maxBlocks {
		return ErrUnsupported
	}
	f.found = true
	return nil
}

// maxBlocks is how many blocks an MCU may have (B.2.3).
const maxBlocks = 10

// readHuffman reads Huffman tables (B.2.4.2).
func (d *Decoder) readHuffman(s []byte) error {
	for len(s) > 0 {
		if len(s) < 17 {
			return ErrDamaged
		}
		class, to, n := s[0]>>4, s[0]&15, 0
		for _, c := range s[1:17] {
			n += int(c)
		}
		if class > 1 || to > 3 || to > 1 && d.frame.found && d.frame.baseline || n == 0 || n > 256 || len(s) < 17+n {
			return ErrDamaged
		}
		tables, defined := &d.dc, &d.defined.dc
		if class == 1 {
			tables, defined = &d.ac, &d.defined.ac
		}
		if !tables[to].set(s[1:17], s[17:17+n]) {
			return ErrDamaged
		}
		defined[to] = true
		s = s[17+n:]
	}
	return nil
}

// readQuant reads quantisation tables (B.2.4.1).
func (d *Decoder) readQuant(s []byte) error {
	for len(s) > 0 {
		if len(s) < 65 || s[0] > 3 {
			return ErrUnsupported // also tables of 16 bits
		}
		if d.frame.progressive && d.scans > 0 {
			return ErrUnsupported // image/jpeg goes by the last table, others by that at the first scan
		}
		d.quant[s[0]].set((*[64]byte)(s[1:]))
		d.defined.quant[s[0]] = true
		s = s[65:]
	}
	return nil
}
