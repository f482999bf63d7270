package kernel

// span is a run of neighbouring outputs, in one dimension, that meet the same taps inside the input.
type span struct {
	first, n  int // outputs
	tap, taps int // the first tap inside and how many are; none of them: 0
	in        int // input where the first output meets the first tap inside
}

// spans divides n outputs into runs. Output o meets input start+o*step+t with each tap t.
func spans(n, step, start, taps, size int) []span {
	var all []span
	for o := range n {
		at := start + o*step
		lo, hi := max(0, -at), min(taps, size-at)
		s := span{o, 1, lo, hi - lo, at + lo}
		if hi <= lo {
			s = span{first: o, n: 1}
		}
		if last := len(all) - 1; last >= 0 && all[last].tap == s.tap && all[last].taps == s.taps {
			all[last].n++
		} else {
			all = append(all, s)
		}
	}
	return all
}

// met is the range [lo, hi) of n outputs that meet a tap inside the input. Output o meets input start+o*step with it.
func met(n, step, start, size int) (lo, hi int) {
	lo = (max(0, -start) + step - 1) / step
	if start < size {
		hi = min(n, (size-1-start)/step+1)
	}
	return lo, max(lo, hi)
}

// phase is the pixels of an input whose coordinate leaves one remainder modulo the stride, in one dimension.
type phase struct {
	first int // first tap of the kernel that meets these pixels
	taps  int // how many do, one every stride
	start int // output met by pixel 0 of the phase and the last tap
	n     int // pixels
}

func phases(size, kernel, stride, pad int) []phase {
	var all []phase
	for r := range min(stride, size) {
		p := phase{first: (r + pad) % stride, n: (size - r + stride - 1) / stride}
		if p.first < kernel {
			p.taps = (kernel - p.first + stride - 1) / stride
		}
		p.start = (r+pad)/stride - p.taps + 1
		all = append(all, p)
	}
	return all
}

// forwardCorrelation is the correlation that a convolution is.
func forwardCorrelation(s ConvShape) correlation {
	return correlation{
		rows:    spans(s.OutH(), s.Stride, -s.Pad, s.KernelH, s.H),
		columns: spans(s.OutW(), s.Stride, -s.Pad, s.KernelW, s.W),
		step:    s.Stride, tapRows: s.KernelH, tapColumns: s.KernelW, outStep: 1,
	}
}

// backwardCorrelations make the input's gradient. They gather: the pixels whose coordinates leave the same remainders modulo the
// stride are a correlation of the output's gradient with some of the taps, in reverse order.
func backwardCorrelations(s ConvShape) []correlation {
	var all []correlation
	for i, r := range phases(s.H, s.KernelH, s.Stride, s.Pad) {
		for j, c := range phases(s.W, s.KernelW, s.Stride, s.Pad) {
			all = append(all, correlation{
				rows:    spans(r.n, 1, r.start, r.taps, s.OutH()),
				columns: spans(c.n, 1, c.start, c.taps, s.OutW()),
				step:    1, tapRows: r.taps, tapColumns: c.taps,
				outRow: i, outColumn: j, outStep: s.Stride, firstRow: r.first, firstColumn: c.first,
			})
		}
	}
	return all
}

// tap is the tap of a convolution of that stride that is at (row, column) of a backward correlation.
func (q *correlation) tap(row, column, stride int) (y, x int) {
	return q.firstRow + (q.tapRows-1-row)*stride, q.firstColumn + (q.tapColumns-1-column)*stride
}
