package data

import (
	"bytes"
	"fmt"
)

// Markers of a JPEG file (ITU T.81, table B.1).
const (
	markerSOF0 = 0xc0 // baseline
	markerSOF1 = 0xc1 // extended
	markerSOF2 = 0xc2 // progressive
	markerRST0 = 0xd0
	markerRST7 = 0xd7
	markerEOI  = 0xd9
	markerSOS  = 0xda
	markerDQT  = 0xdb
)

// unknown is the precision of coefficients that no scan has brought.
const unknown = -1

// component is what the scans so far have told of one component.
type component struct {
	id, table byte
	precision [64]int // of each coefficient, the lowest bit known; 0 when whole
}

// wholeJPEG reports what a file lacks that image/jpeg decodes all the same: a
// scan of a component, whose plane stays empty; a quantisation table, without
// which all is gray; the later scans of a progressive file, without which it
// is blurred. Since image/jpeg has read b, its segments are well formed.
func wholeJPEG(b []byte) error {
	var components []component
	var tables [4]bool
	progressive := false
	for b = b[2:]; ; {
		marker, body, rest := nextSegment(b)
		switch marker {
		case markerSOF0, markerSOF1, markerSOF2:
			progressive = marker == markerSOF2
			for c := body[6:]; len(c) >= 3; c = c[3:] {
				next := component{id: c[0], table: c[2]}
				for k := range next.precision {
					next.precision[k] = unknown
				}
				components = append(components, next)
			}
		case markerDQT:
			for len(body) > 0 {
				tables[body[0]&3] = true
				body = body[min(1+64<<(body[0]>>4), len(body)):]
			}
		case markerSOS:
			s := parseScan(body, progressive)
			for i := range components {
				c := &components[i]
				if bytes.IndexByte(s.ids, c.id) < 0 {
					continue
				}
				if !tables[c.table] {
					return fmt.Errorf("data: the JPEG lacks quantisation table %d", c.table)
				}
				if err := c.apply(s); err != nil {
					return err
				}
			}
		case markerEOI:
			for _, c := range components {
				for _, p := range c.precision {
					if p != 0 {
						return fmt.Errorf("data: the JPEG ends before the last scan of component %d", c.id)
					}
				}
			}
			return nil
		}
		b = rest
	}
}

// scan is the header of a scan: it brings coefficients first to last of its
// components from a precision of before down to after.
type scan struct {
	ids           []byte
	first, last   int
	before, after int
}

func parseScan(body []byte, progressive bool) scan {
	n := int(body[0])
	s := scan{last: 63, before: unknown}
	for i := range n {
		s.ids = append(s.ids, body[1+2*i])
	}
	if progressive {
		end := body[1+2*n:]
		s.first, s.last, s.after = int(end[0]), int(end[1]), int(end[2]&15)
		if high := int(end[2] >> 4); high > 0 {
			s.before = high
		}
	}
	return s
}

// apply notes in c what s brings.
func (c *component) apply(s scan) error {
	for k := s.first; k <= s.last; k++ {
		if c.precision[k] != s.before {
			return fmt.Errorf("data: the JPEG has a scan of component %d that does not follow from those before", c.id)
		}
		c.precision[k] = s.after
	}
	return nil
}

// nextSegment returns the first segment of b that has a body, or the end of
// the image, and what comes after. What is before it, such as the data of a
// scan, is skipped.
func nextSegment(b []byte) (marker byte, body, rest []byte) {
	for {
		i := bytes.IndexByte(b, 0xff)
		if i < 0 || i+1 == len(b) {
			return markerEOI, nil, nil
		}
		marker, b = b[i+1], b[i+1:]
		switch {
		case marker == 0xff:
			continue
		case marker == 0, markerRST0 <= marker && marker <= markerRST7:
			b = b[1:]
			continue
		case marker == markerEOI:
			return marker, nil, nil
		}
		end := 1 + (int(b[1])<<8 | int(b[2]))
		return marker, b[3:end], b[end:]
	}
}
