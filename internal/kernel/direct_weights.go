package kernel

import "unsafe"

// backwardWeights is ConvBackwardWeights on micro-kernels. For a fixed tap row the weights of the taps inside
// the image are one contiguous matrix, taps times In by Out, and so are the inputs that a pixel of dy meets: the
// gradient is a sum over pixels of outer products. The micro-kernels sum over the pixels of a row, the rows of
// a block and the images of a block; a column of border pixels, which meets fewer taps, is one more such sum.
//
// A part is a group of images, a group of panels of output channels and a group of tap rows, or of input channels
// where there is a single tap. Groups of images have a partial sum each; their number depends on the shape alone.
type backwardWeights struct {
	shape                     ConvShape
	pool                      *Pool
	kernels                   *microKernels
	oh, ow                    int
	spans                     []span // of output columns
	lanewise                  bool
	inG, outG                 int // channels of a group
	panels                    int // of output channels, or the rest of a group
	groups, columns, tapParts int
	inParts                   int
	images, rows              int // of a block
	dw, x, dy                 []float32
	partial                   [][]float32 // one a group; of a single group it is dw itself
	workers                   []*multiplier
	ragged                    [][]float32 // the last panel of dy when it is no whole number of vectors, one a worker
	part, sum                 func(worker, part int)
}

const (
	mostPartials = 8       // groups of images with a sum of their own
	partialsLen  = 1 << 18 // floats that all partial sums may take
	blockLen     = 1 << 13 // floats of x and of a panel of dy in a block, best; two of them fit into the nearest cache
	blockPixels  = 128     // of a block, at least, so that a tile of sums is not loaded and stored too often
	largestBlock = 1 << 16 // floats of a block, at most
	sumLen       = 1 << 12 // floats of a part of adding up partial sums
)

func newBackwardWeights(p *Pool, s ConvShape, k, lanewise *microKernels) *backwardWeights {
	p = p.worth(s.work())
	c := &backwardWeights{shape: s, pool: p, kernels: k, oh: s.OutH(), ow: s.OutW(), inG: s.In / s.groups(), outG: s.Out / s.groups()}
	if c.lanewise = s.lanewise() && s.Out%vector == 0; c.lanewise {
		k = lanewise
		c.kernels, c.outG = k, s.Out
	}
	c.spans = spans(c.ow, s.Stride, -s.Pad, s.KernelW, s.W)
	c.panels = s.Out / c.outG * ((c.outG + k.width - 1) / k.width)
	for c.groups = mostPartials; c.groups > 1 && (c.groups > s.N || c.groups*s.weightsLen() > partialsLen); {
		c.groups /= 2
	}
	c.columns, c.inParts = min(c.panels, leastParts/c.groups), 1
	if s.KernelH == 1 && s.KernelW == 1 && s.groups() == 1 && s.In > s.Out { // read rather dy often than x
		c.columns, c.inParts = 1, min(s.In, leastParts/c.groups)
	}
	c.tapParts = min(s.KernelH, (leastParts+c.groups*c.columns-1)/(c.groups*c.columns))
	rowLen := s.Stride*s.W*s.In + c.ow*min(c.outG, k.width)
	rows := min(max(blockLen/rowLen, (blockPixels+c.ow-1)/c.ow), largestBlock/rowLen)
	c.rows = max(1, min(c.oh, rows))
	c.images = 1
	if c.rows == c.oh {
		c.images = max(1, min(s.N/c.groups, rows/c.oh))
	}
	c.partial = make([][]float32, c.groups)
	if c.groups > 1 {
		for i := range c.groups {
			c.partial[i] = aligned(s.weightsLen())
		}
	}
	c.workers = newMultipliers(p.Threads(), k)
	if c.outG%vector != 0 {
		c.ragged = buffers(p.Threads(), c.images*c.rows*c.ow*k.width)
	}
	c.part, c.sum = c.multiply, c.add
	return c
}

func (c *backwardWeights) Run(dw, x, dy []float32) {
	c.dw, c.x, c.dy = dw, x, dy
	if c.groups == 1 {
		c.partial[0] = dw
	}
	c.pool.Run(c.groups*c.columns*c.tapParts*c.inParts, c.part)
	if c.groups == 1 {
		c.partial[0] = nil
	} else {
		c.pool.Run((len(dw)+sumLen-1)/sumLen, c.sum)
	}
	c.dw, c.x, c.dy = nil, nil, nil
}

func (c *backwardWeights) add(_, part int) {
	lo, hi := part*sumLen, min(len(c.dw), (part+1)*sumLen)
	sum := c.dw[lo:hi]
	Add(sum, c.partial[0][lo:hi], c.partial[1][lo:hi])
	for _, p := range c.partial[2:] {
		Add(sum, sum, p[lo:hi])
	}
}

func (c *backwardWeights) multiply(worker, part int) {
	s := &c.shape
	in, part := part%c.inParts, part/c.inParts
	taps, column, group := part%c.tapParts, part/c.tapParts%c.columns, part/c.tapParts/c.columns
	b := outerProducts{backwardWeights: c, m: c.workers[worker], dw: c.partial[group]}
	b.t0, b.t1 = Split(s.KernelH, c.tapParts, taps)
	b.in = in
	n0, n1 := Split(s.N, c.groups, group)
	p0, p1 := Split(c.panels, c.columns, column)
	_, o0, _ := c.channels(p0)
	_, o1, lanes := c.channels(p1 - 1)
	o1 += lanes
	k0, k1 := Split((b.t1-b.t0)*s.KernelW*c.inG, c.inParts, in)
	for k := b.t0*s.KernelW*c.inG + k0; k < b.t0*s.KernelW*c.inG+k1; k++ {
		clear(b.dw[k*s.Out+o0 : k*s.Out+o1])
	}
	for b.n0 = n0; b.n0 < n1; b.n0 = b.n1 {
		b.n1 = min(n1, b.n0+c.images)
		for b.y0 = 0; b.y0 < c.oh; b.y0 = b.y1 {
			b.y1 = min(c.oh, b.y0+c.rows)
			b.prefetch(p1 - p0)
			for p := p0; p < p1; p++ {
				b.firstIn, b.firstOut, b.lanes = c.channels(p)
				b.run(worker)
			}
		}
	}
}

// channels are the first input channel, the first output channel and the number of output channels of a panel.
func (c *backwardWeights) channels(panel int) (in, out, lanes int) {
	perGroup := (c.outG + c.kernels.width - 1) / c.kernels.width
	group, at := panel/perGroup, panel%perGroup*c.kernels.width
	if c.lanewise {
		in = at
	}
	return group*c.inG + in, group*c.outG + at, min(c.kernels.width, c.outG-at)
}

// outerProducts adds to dw what a block of pixels contributes to some output channels.
type outerProducts struct {
	*backwardWeights
	m                 *multiplier
	dw                []float32
	t0, t1            int // tap rows
	in                int // part of the input channels
	n0, n1            int // images
	y0, y1            int // rows of dy
	firstIn, firstOut int // channels
	lanes             int // output channels
}

func (b *outerProducts) run(worker int) {
	s := &b.shape
	dy, imageLen, pixelLen := b.dy[(b.n0*b.oh+b.y0)*b.ow*s.Out+b.firstOut:], b.oh*b.ow*s.Out, s.Out
	if b.lanes%vector != 0 {
		width := (b.lanes + vector - 1) / vector * vector
		packed, pixels := b.ragged[worker], (b.y1-b.y0)*b.ow
		for n := range b.n1 - b.n0 {
			packRows(packed[n*pixels*width:(n+1)*pixels*width], dy[n*imageLen:], s.Out, width, b.lanes)
		}
		dy, imageLen, pixelLen = packed, pixels*width, width
	}
	for t := b.t0; t < b.t1; t++ {
		// The rows of dy that meet row t of the taps inside the image.
		y0 := max(b.y0, (s.Pad-t+s.Stride-1)/s.Stride)
		y1 := min(b.y1, (s.H-1+s.Pad-t+s.Stride)/s.Stride)
		if t > s.H-1+s.Pad || y0 >= y1 {
			continue
		}
		for i := range b.spans {
			if p := &b.spans[i]; p.taps > 0 {
				at := (y0-b.y0)*b.ow + p.first
				b.addSpan(t, y0, y1, p, address(dy, at*pixelLen), pixelLen, imageLen)
			}
		}
	}
}

// addSpan adds the products of rows [y0, y1) and the columns of p for the taps of row t. dy is the first pixel.
func (b *outerProducts) addSpan(t, y0, y1 int, p *span, dy unsafe.Pointer, pixelLen, imageLen int) {
	s, m := &b.shape, b.m
	x := address(b.x, ((b.n0*s.H+y0*s.Stride+t-s.Pad)*s.W+p.in)*s.In+b.firstIn)
	w := address(b.dw, (t*s.KernelW+p.tap)*b.inG*s.Out+b.firstOut)
	pixelX, rowX, rowY := s.Stride*s.In, s.Stride*s.W*s.In, b.ow*pixelLen
	rows, columns := y1-y0, p.n
	m.flags, m.ai, m.ci = accumulate, 4, 4*s.Out
	images := b.n1 - b.n0
	switch {
	case columns == b.ow && rowX == columns*pixelX: // row follows row
		m.k, m.ak, m.bk = rows*columns, 4*pixelX, 4*pixelLen
		m.setBatches(1, 0, 0, images, s.H*s.W*s.In, imageLen)
	case columns >= rows:
		m.k, m.ak, m.bk = columns, 4*pixelX, 4*pixelLen
		m.setBatches(rows, rowX, rowY, images, s.H*s.W*s.In, imageLen)
	default:
		m.k, m.ak, m.bk = rows, 4*rowX, 4*rowY
		m.setBatches(columns, pixelX, pixelLen, images, s.H*s.W*s.In, imageLen)
	}
	switch {
	case b.lanewise:
		m.ai = 4 * s.In
		m.multiply(x, dy, w, p.taps, b.lanes)
	case b.inG == s.In:
		lo, hi := Split(p.taps*s.In, b.inParts, b.in)
		m.multiply(unsafe.Add(x, 4*lo), dy, unsafe.Add(w, 4*lo*s.Out), hi-lo, b.lanes)
	default:
		for tap := range p.taps {
			m.multiply(unsafe.Add(x, 4*tap*s.In), dy, unsafe.Add(w, 4*tap*b.inG*s.Out), b.inG, b.lanes)
		}
	}
}

// prefetch has the next block loaded during the products of this one.
func (b *outerProducts) prefetch(panels int) {
	s := &b.shape
	n, y, images, rows := b.n0, b.y1, 1, b.y1-b.y0
	if y == b.oh {
		n, y, images = b.n1, 0, b.n1-b.n0
	}
	tiles := 0
	highest := b.kernels.maxRows(b.kernels.width)
	for i := range b.spans {
		tiles += (b.spans[i].taps*b.inG + highest - 1) / highest
	}
	tiles = max(1, tiles*panels*(b.t1-b.t0))
	begin := func(x []float32, from, n int) ahead {
		n = 4 * min(n, len(x)-from)
		return ahead{uintptr(unsafe.Pointer(&x[0])) + uintptr(4*from), n, (n/tiles + 63) &^ 63}
	}
	b.m.ahead[0] = begin(b.x, (n*s.H+y*s.Stride)*s.W*s.In, images*rows*s.Stride*s.W*s.In)
	b.m.ahead[1] = begin(b.dy, (n*b.oh+y)*b.ow*s.Out, images*rows*b.ow*s.Out)
}
