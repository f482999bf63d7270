package kernel

// genericCorrelator is ConvForward and ConvBackwardData in plain Go. As correlator does, it reads the image itself and leaves out
// what lies beyond its borders; a part is a strip of rows of one image.
type genericCorrelator struct {
	shape            ConvShape
	pool             *Pool
	inH, inW, inC    int
	outH, outW, outC int
	list             []correlation
	panels           int // of four output channels
	tallest          int // outputs a column of the tallest correlation
	strip, strips    int
	packed           [][4]float32 // [correlation][panel][tap row][tap column][inC]
	out, in, w       []float32
	packPart, part   func(worker, part int)
}

// stripRows is the number of output rows a part of a convolution computes, such that what it reads stays in the cache next to the
// processor (about 64 KiB).
func stripRows(rows, floatsPerRow int) int { return min(rows, max(1, chunk/floatsPerRow)) }

func newGenericForward(p *Pool, s ConvShape) *genericCorrelator {
	c := &genericCorrelator{
		shape: s, pool: p,
		inH: s.H, inW: s.W, inC: s.In,
		outH: s.OutH(), outW: s.OutW(), outC: s.Out,
		list: []correlation{forwardCorrelation(s)},
	}
	c.prepare()
	c.packPart = c.packForward
	return c
}

func newGenericData(p *Pool, s ConvShape) *genericCorrelator {
	c := &genericCorrelator{
		shape: s, pool: p,
		inH: s.OutH(), inW: s.OutW(), inC: s.Out,
		outH: s.H, outW: s.W, outC: s.In,
		list: backwardCorrelations(s),
	}
	c.prepare()
	c.packPart = c.packReversed
	return c
}

func (c *genericCorrelator) prepare() {
	c.panels = (c.outC + 3) / 4
	size := 0
	for i := range c.list {
		q := &c.list[i]
		q.at = size
		size += c.panels * c.depth(q)
		last := q.rows[len(q.rows)-1]
		c.tallest = max(c.tallest, last.first+last.n)
	}
	c.strip = stripRows(c.tallest, c.list[0].step*c.inW*c.inC)
	c.strips = (c.tallest + c.strip - 1) / c.strip
	c.packed = make([][4]float32, size)
	c.part = c.correlate
}

// depth is the number of weights an output is made with away from borders: the length of a panel.
func (c *genericCorrelator) depth(q *correlation) int { return q.tapRows * q.tapColumns * c.inC }

// Run computes the output y of the images x, or the gradient y of the images from that of the output x.
func (c *genericCorrelator) Run(y, x, w []float32) {
	c.out, c.in, c.w = y, x, w
	c.pool.Run(c.panels, c.packPart)
	c.pool.Run(c.shape.N*c.strips, c.part)
	c.out, c.in, c.w = nil, nil, nil
}

func (c *genericCorrelator) packForward(_, panel int) {
	k := c.depth(&c.list[0])
	packPanel(c.packed[panel*k:(panel+1)*k], min(4, c.outC-4*panel), c.w[4*panel:], c.outC, 1)
}

func (c *genericCorrelator) packReversed(_, panel int) {
	s := &c.shape
	for i := range c.list {
		q := &c.list[i]
		dst := c.packed[q.at+panel*c.depth(q):]
		for a := range q.tapRows {
			for b := range q.tapColumns {
				y, x := q.tap(a, b, s.Stride)
				packPanel(dst[:c.inC], min(4, c.outC-4*panel), c.w[((y*s.KernelW+x)*s.In+4*panel)*s.Out:], 1, s.Out)
				dst = dst[c.inC:]
			}
		}
	}
}

func (c *genericCorrelator) correlate(_, part int) {
	n, s0 := part/c.strips, part%c.strips*c.strip
	s1 := min(c.tallest, s0+c.strip)
	for i := range c.list {
		q := &c.list[i]
		for j := range q.rows {
			row := &q.rows[j]
			for r := max(s0, row.first); r < min(s1, row.first+row.n); r++ {
				c.row(q, row, n, r)
			}
		}
	}
}

// row computes one row of outputs of a correlation, which lies in that span of rows.
func (c *genericCorrelator) row(q *correlation, row *span, n, r int) {
	out := c.out[((n*c.outH+q.outRow+r*q.outStep)*c.outW+q.outColumn)*c.outC:]
	in := (n*c.inH + row.in + (r-row.first)*q.step) * c.inW
	ystep, tapRow := q.outStep*c.outC, q.tapColumns*c.inC
	for p := range c.panels {
		w := c.packed[q.at+p*c.depth(q):]
		for i := range q.columns {
			column := &q.columns[i]
			y := out[column.first*ystep+4*p:]
			if row.taps*column.taps == 0 { // the sum of nothing
				correlate(y, ystep, min(4, c.outC-4*p), column.n, nil, 0, segments{}, nil)
				continue
			}
			seg := segments{row.taps, c.inW * c.inC, column.taps * c.inC, tapRow}
			correlate(y, ystep, min(4, c.outC-4*p), column.n, c.in[(in+column.in)*c.inC:], q.step*c.inC, seg, w[row.tap*tapRow+column.tap*c.inC:])
		}
	}
}
