package kernel

import "unsafe"

// Sums are the sums, by channel, of a convolution's output and of its squares, which ConvForward leaves on every Run once it is asked
// to Gather them. They are in float64 and added in an order that does not depend on threads.
type Sums struct {
	path                  Path
	rows, channels, times int       // times: rows that assembly takes as one
	sums                  []float64 // [part][2][times·channels], of which the first channels are valid
}

func makeSums(path Path, rows, channels, parts int) *Sums {
	times := fold(path, channels, rows/parts)
	return &Sums{path, rows, channels, times, make([]float64, parts*2*times*channels)}
}

// begin clears the sums of a part.
func (s *Sums) begin(part int) {
	n := 2 * s.times * s.channels
	clear(s.sums[part*n : (part+1)*n])
}

// add adds rows, at least one, to the sums of a part.
func (s *Sums) add(part int, rows []float32) {
	lanes := s.times * s.channels
	first := s.sums[part*2*lanes : (part+1)*2*lanes]
	p := pass{a: floats(rows), sums: unsafe.Pointer(unsafe.SliceData(first))}
	p.p[3] = unsafe.Pointer(unsafe.SliceData(first[lanes:]))
	rowsPass(p, s.path, kStatistics, s.channels, s.times, len(rows)/s.channels)
}

// end folds the sums of a part to one a channel.
func (s *Sums) end(part int) {
	lanes := s.times * s.channels
	foldLanes(s.sums[part*2*lanes:][:lanes], s.channels)
	foldLanes(s.sums[(part*2+1)*lanes:][:lanes], s.channels)
}

// foldLanes adds all numbers of a channel to its first.
func foldLanes(sums []float64, channels int) {
	for lane := channels; lane < len(sums); lane++ {
		sums[lane%channels] += sums[lane]
	}
}

// total adds up pairs of sums, [part][2][lanes], in order.
func total(sums []float64, lanes, channel int) (first, second float64) {
	for ; len(sums) > 0; sums = sums[2*lanes:] {
		first += sums[channel]
		second += sums[lanes+channel]
	}
	return first, second
}
