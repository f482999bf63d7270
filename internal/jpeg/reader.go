package jpeg

import (
	"bytes"
	"encoding/binary"
)

// slack is how many zeros follow the data of a scan: more than a block can take, so that nothing is read past them
// before its end is noticed. A block has 64 values of at most 26 bits.
const slack = 512

// reader reads the bits of a scan without its stuffing.
type reader struct {
	acc  uint64 // the next bits, from the highest on
	n    int    // how many of them are there
	next int    // the byte that comes after them
	data []byte // followed by slack
}

// refill makes n at least 56.
func (r *reader) refill() {
	r.acc |= binary.BigEndian.Uint64(r.data[r.next:]) >> uint(r.n&63)
	r.next += (63 - r.n) >> 3
	r.n |= 56
}

// seek goes to a byte.
func (r *reader) seek(at int) { r.acc, r.n, r.next = 0, 0, at }

// used is how many bits have been taken since the beginning of data.
func (r *reader) used() int { return 8*r.next - r.n }

// look is the entry of the next code. At least 16 bits must be there.
func (r *reader) look(table []uint32) uint32 {
	e := table[r.acc>>(64-lookBits)]
	if e&link != 0 {
		e = table[int(e&^link)+int(r.acc<<lookBits>>(64-secondBits))]
	}
	return e
}

// take drops the code and the value of e and returns the value.
func (r *reader) take(e uint32) int32 {
	x := r.acc << (e >> 16 & 63)
	r.acc <<= e & 63
	r.n -= int(e & 63)
	sign := ^int64(x) >> 63 // -1 where the highest bit of the value is 0, which makes it negative
	v := int64((x ^ uint64(sign)) >> 1 >> (e >> 24 & 63))
	return int32((v ^ sign) - sign)
}

// bits takes the next n bits, up to 16, without sign.
func (r *reader) bits(n int) int {
	v := int(r.acc >> 1 >> (63 - n&63))
	r.acc <<= n & 63
	r.n -= n
	return v
}

// segment is a part of a scan between restart markers.
type segment struct {
	begin, end int // in data
	marker     byte
}

// unstuff copies the data of a scan that b begins with to d.reader.data and notes its segments in d.segments, and what
// marker ends each. It returns what follows from the marker on that ends the scan.
func (d *Decoder) unstuff(b []byte) (rest []byte, ok bool) {
	if need := len(b) + slack; cap(d.data) < need {
		d.data = make([]byte, need+need/4)
	}
	dst, n := d.data[:cap(d.data)], 0
	d.segments = append(d.segments[:0], segment{})
	for {
		i := bytes.IndexByte(b, 0xff)
		if i < 0 || i+1 == len(b) {
			return nil, false
		}
		n += copy(dst[n:], b[:i])
		marker := b[i+1]
		switch {
		case marker == 0:
			dst[n] = 0xff
			n++
			b = b[i+2:]
			continue
		case marker == 0xff:
			return nil, false // fill bytes: rare
		}
		last := &d.segments[len(d.segments)-1]
		last.end, last.marker = n, marker
		if marker < markerRST0 || marker > markerRST7 {
			clear(dst[n : n+slack])
			d.data = dst
			d.reader.data = dst[:n+slack]
			return b[i:], true
		}
		b = b[i+2:]
		d.segments = append(d.segments, segment{begin: n})
	}
}
