package kernel

import "unsafe"

// correlation is one dense set of taps over images, without padding copies: borders are outputs with fewer taps.
// Output (r, c) is pixel (outRow+r*outStep, outColumn+c*outStep) of the output image.
type correlation struct {
	rows, columns              []span
	step                       int // input pixels between neighbouring outputs
	tapRows, tapColumns        int
	outRow, outColumn, outStep int
	firstRow, firstColumn      int         // first taps of the phase, of a backward pass
	at                         int         // where its weights begin in packed
	directions                 []direction // of tiles, by span of rows and of columns
}

// correlator computes correlations of a batch of images with weights that are packed for each run: the
// forward pass of a convolution, and the backward pass to its input, where each phase is a correlation.
//
// For fixed tap rows the inputs of an output pixel are contiguous, taps times channels floats, so a micro-kernel
// reads the image itself: k runs over the taps of a row and the channels, inner over the rows of taps. The rows
// of a tile are output pixels at any one distance: neighbours in a row or in a column, or the same pixel of
// several images.
type correlator struct {
	pool                *Pool
	kernels             *microKernels
	n                   int
	inH, inW, inC       int
	outH, outW, outC    int
	groups              int  // of channels, 1 for all with all
	lanewise            bool // channel i of the output is made of channel i of the input
	list                []correlation
	tallest             int // outputs a column of the tallest correlation
	panels              int // of kernels.width output channels, or the rest of a group
	packed              []float32
	pack                func(dst []float32, c *correlation, panel int)
	imageGroups, strips int // parts: groups of images, strips of rows,
	columns             int // groups of panels
	out, in             []float32
	workers             []*multiplier
	sums                *Sums // of the output, nil where they are not wanted
	packPart, multiPart func(worker, part int)
}

const (
	leastParts = 8       // a run has, where the shape allows
	cacheLen   = 1 << 17 // floats of input and output that a group of images may take
	mostImages = 16      // of a group
)

// prepare completes a correlator whose shapes, list, pack and so on are set.
func (c *correlator) prepare(work int) {
	width := c.kernels.width
	c.pool = c.pool.worth(work)
	c.panels = c.groups * ((c.outC/c.groups + width - 1) / width)
	if c.lanewise {
		c.panels = (c.outC + width - 1) / width
	}
	size := 0
	for i := range c.list {
		q := &c.list[i]
		q.at = size
		size += c.panels * q.weightsLen(c)
		last := q.rows[len(q.rows)-1]
		c.tallest = max(c.tallest, last.first+last.n)
	}
	c.packed = aligned(size)
	limit := cacheLen
	if size > cacheLen { // images are to be many rather than the weights be read often
		limit *= 3
	}
	images := max(1, min(mostImages, limit/(c.inH*c.inW*c.inC+c.outH*c.outW*c.outC)))
	if size <= cacheLen {
		images = min(images, (c.n+leastParts-1)/leastParts)
	}
	c.imageGroups = (c.n + images - 1) / images
	c.columns = 1
	if size > cacheLen/2 && !c.lanewise { // whose last panels may overlap
		c.columns = min(c.panels, (leastParts+c.imageGroups-1)/c.imageGroups)
	}
	for i := range c.list {
		c.list[i].chooseDirections(c)
	}
	c.strips = min(c.tallest, max(1, leastParts/(c.imageGroups*c.columns)))
	c.workers = newMultipliers(c.pool.Threads(), c.kernels)
	c.packPart, c.multiPart = c.packPanels, c.multiply
}

// weightsLen is the length of a panel of weights.
func (q *correlation) weightsLen(c *correlator) int {
	return q.tapRows * q.tapColumns * c.depth() * c.kernels.width
}

// depth is the number of input channels an output channel is made of.
func (c *correlator) depth() int {
	if c.lanewise {
		return 1
	}
	return c.inC / c.groups
}

// channels are the first input channel, the first output channel and the number of output channels of a panel.
// Of a lanewise correlation the last panel is whole and overlaps the one before.
func (c *correlator) channels(panel int) (in, out, lanes int) {
	width := c.kernels.width
	if c.lanewise {
		at := min(panel*width, c.outC-width)
		return at, at, width
	}
	inG, outG := c.inC/c.groups, c.outC/c.groups
	perGroup := c.panels / c.groups
	group, at := panel/perGroup, panel%perGroup*width
	return group * inG, group*outG + at, min(width, outG-at)
}

func (c *correlator) run(out, in []float32) {
	c.out, c.in = out, in
	c.pool.Run(c.panels, c.packPart)
	c.pool.Run(c.imageGroups*c.strips*c.columns, c.multiPart)
	c.out, c.in = nil, nil
}

func (c *correlator) packPanels(_, panel int) {
	for i := range c.list {
		q := &c.list[i]
		if n := q.weightsLen(c); n > 0 {
			c.pack(c.packed[q.at+panel*n:][:n], q, panel)
		}
	}
}

func (c *correlator) multiply(worker, part int) {
	column, strip, group := part%c.columns, part/c.columns%c.strips, part/c.columns/c.strips
	b := block{correlator: c, m: c.workers[worker]}
	n0, n1 := Split(c.n, c.imageGroups, group)
	p0, p1 := Split(c.panels, c.columns, column)
	s0, s1 := Split(c.tallest, c.strips, strip)
	for i := range c.list {
		b.q = &c.list[i]
		for b.panel = p0; b.panel < p1; b.panel++ {
			b.firstIn, b.firstOut, b.lanes = c.channels(b.panel)
			for b.n0 = n0; b.n0 < n1; b.n0++ {
				b.n1 = b.n0 + 1
				b.run(s0, s1, false)
			}
			b.n0, b.n1 = n0, n1
			b.run(s0, s1, true)
		}
	}
	if c.sums != nil {
		c.sumUp(part, n0, n1, s0, s1)
	}
}

// gather makes every run leave sums of its output. There is one correlation, of all of the output, and one group of panels.
func (c *correlator) gather() *Sums {
	if c.sums == nil {
		c.sums = makeSums(ActivePath(), c.n*c.outH*c.outW, c.outC, c.imageGroups*c.strips)
	}
	return c.sums
}

// sumUp sums rows [s0, s1) of images [n0, n1), which are in the cache still.
func (c *correlator) sumUp(part, n0, n1, s0, s1 int) {
	row := c.outW * c.outC
	c.sums.begin(part)
	if c.strips == 1 {
		c.sums.add(part, c.out[n0*c.outH*row:n1*c.outH*row])
	} else {
		for n := n0; n < n1; n++ {
			c.sums.add(part, c.out[(n*c.outH+s0)*row:(n*c.outH+s1)*row])
		}
	}
	c.sums.end(part)
}

// block is a part of a correlation: outputs with the same taps, in a panel of channels.
type block struct {
	*correlator
	m                 *multiplier
	q                 *correlation
	panel             int
	firstIn, firstOut int // channels
	lanes             int // output channels
	n0, n1            int // images
	r0, r1            int // rows
	row, column       *span
}

// run computes rows [s0, s1) of one image, or of all images those outputs whose tiles go across images.
func (b *block) run(s0, s1 int, across bool) {
	for i := range b.q.rows {
		b.row = &b.q.rows[i]
		b.r0, b.r1 = max(s0, b.row.first), min(s1, b.row.first+b.row.n)
		if b.r0 >= b.r1 {
			continue
		}
		for j := range b.q.columns {
			b.column = &b.q.columns[j]
			if d := b.q.directions[i*len(b.q.columns)+j]; (d == acrossImages) == across {
				b.compute(d)
			}
		}
	}
}

// direction is where the next row of a tile lies.
type direction int

const (
	alongRow direction = iota
	alongColumn
	alongBoth // row after row, as one
	acrossImages
)

// chooseDirections takes those whose tiles need the fewest cycles.
func (q *correlation) chooseDirections(c *correlator) {
	_, _, columns := c.channels(0)
	highest := c.kernels.maxRows(columns)
	for _, r := range q.rows {
		for _, p := range q.columns {
			cost := func(rows int) int {
				tiles := (rows + highest - 1) / highest
				// An addition takes four cycles and two are done at a time; a call takes about fifty.
				cycles := max(rows*((columns+vector-1)/vector), 8*tiles)
				return cycles*p.taps*r.taps*c.depth() + 100*tiles
			}
			h, w, n := r.n, p.n, c.n/c.imageGroups
			d, best := alongRow, n*h*cost(w)
			if k := n * w * cost(h); k < best {
				d, best = alongColumn, k
			}
			if k := h * w * cost(n); k < best {
				d = acrossImages
			}
			if q.step == 1 && q.outStep == 1 && w == c.inW && w == c.outW {
				d = alongBoth
			}
			q.directions = append(q.directions, d)
		}
	}
}

func (b *block) compute(d direction) {
	q, m, width := b.q, b.m, b.kernels.width
	if b.row.taps*b.column.taps == 0 {
		b.clear()
		return
	}
	depth := b.depth()
	m.bk, m.flags = 4*width, 0
	switch {
	case b.lanewise:
		m.k, m.ak = b.column.taps, 4*b.inC
		m.setBatches(b.row.taps, b.inW*b.inC, q.tapColumns*width, 1, 0, 0)
	case b.groups == 1:
		m.k, m.ak = b.column.taps*depth, 4
		m.setBatches(b.row.taps, b.inW*b.inC, q.tapColumns*depth*width, 1, 0, 0)
	default:
		m.k, m.ak = depth, 4
		m.setBatches(b.column.taps, b.inC, depth*width, b.row.taps, b.inW*b.inC, q.tapColumns*depth*width)
	}
	weights := address(b.packed, q.at+b.panel*q.weightsLen(b.correlator)+(b.row.tap*q.tapColumns+b.column.tap)*depth*width)
	rowIn, rowOut := q.step*b.inW*b.inC, q.outStep*b.outW*b.outC
	pixelIn, pixelOut := q.step*b.inC, q.outStep*b.outC
	in := address(b.in, ((b.n0*b.inH+b.row.in+(b.r0-b.row.first)*q.step)*b.inW+b.column.in)*b.inC+b.firstIn)
	out := address(b.out, b.pixel(b.n0, b.r0, b.column.first))
	h, w := b.r1-b.r0, b.column.n
	switch d {
	case alongBoth:
		m.ai, m.ci = 4*pixelIn, 4*pixelOut
		m.prefetch(uintptr(in)+uintptr(4*h*rowIn), 4*h*rowIn, h*w, b.lanes)
		m.multiply(in, weights, out, h*w, b.lanes)
	case alongRow:
		m.ai, m.ci = 4*pixelIn, 4*pixelOut
		for r := range h {
			m.prefetch(uintptr(in)+uintptr(4*((r+1)*rowIn+(b.row.taps-1)*b.inW*b.inC)), 4*rowIn, w, b.lanes)
			m.multiply(unsafe.Add(in, 4*r*rowIn), weights, unsafe.Add(out, 4*r*rowOut), w, b.lanes)
		}
	case alongColumn:
		m.ai, m.ci = 4*rowIn, 4*rowOut
		for c := range w {
			m.multiply(unsafe.Add(in, 4*c*pixelIn), weights, unsafe.Add(out, 4*c*pixelOut), h, b.lanes)
		}
	case acrossImages:
		m.ai, m.ci = 4*b.inH*b.inW*b.inC, 4*b.outH*b.outW*b.outC
		for r := range h {
			for c := range w {
				m.multiply(unsafe.Add(in, 4*(r*rowIn+c*pixelIn)), weights, unsafe.Add(out, 4*(r*rowOut+c*pixelOut)), b.n1-b.n0, b.lanes)
			}
		}
	}
}

// pixel is where the panel's channels of an output begin.
func (b *block) pixel(n, r, c int) int {
	y, x := b.q.outRow+r*b.q.outStep, b.q.outColumn+c*b.q.outStep
	return ((n*b.outH+y)*b.outW+x)*b.outC + b.firstOut
}

// clear sets outputs that meet no input.
func (b *block) clear() {
	for n := b.n0; n < b.n1; n++ {
		for r := b.r0; r < b.r1; r++ {
			for c := range b.column.n {
				at := b.pixel(n, r, b.column.first+c)
				clear(b.out[at : at+b.lanes])
			}
		}
	}
}
