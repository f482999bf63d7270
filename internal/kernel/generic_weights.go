package kernel

// genericWeights is ConvBackwardWeights in plain Go. The images are dealt to a fixed number of partial sums,
// which are added in order.
type genericWeights struct {
	shape           ConvShape
	pool            *Pool
	oh, ow          int
	panels          int // of four output channels
	groups, columns int // groups of images with a partial sum each, groups of panels
	strip, strips   int
	rows            int // input rows of a strip, at most
	phaseW          int // pixels of a row whose column leaves one remainder modulo the stride, at most
	dw, x, dy       []float32
	partial         [][]float32    // one a group; of a single group it is dw itself
	xs              [][]float32    // [channel][row][remainder][pixel], one a worker
	gs              [][][4]float32 // [panel][row][pixel], one a worker
	part, sum       func(worker, part int)
}

const (
	imageGroups = 8       // partial sums, at most
	partialLen  = 1 << 20 // floats that all partial sums may take
)

func newGenericWeights(p *Pool, s ConvShape) *genericWeights {
	c := &genericWeights{shape: s, pool: p, oh: s.OutH(), ow: s.OutW(), panels: (s.Out + 3) / 4}
	c.groups = max(1, min(imageGroups, s.N, partialLen/s.weightsLen()))
	c.columns = min(c.panels, (imageGroups+c.groups-1)/c.groups)
	c.phaseW = (s.W + s.Stride - 1) / s.Stride
	c.strip = stripRows(c.oh, s.W*s.Stride*s.In+c.ow*s.Out)
	c.strips = (c.oh + c.strip - 1) / c.strip
	c.rows = min(s.H, (c.strip-1)*s.Stride+s.KernelH)
	c.partial = make([][]float32, 1)
	if c.groups > 1 {
		c.partial = buffers(c.groups, s.weightsLen())
	}
	c.xs = buffers(p.Threads(), s.In*c.channelLen())
	columnPanels := (c.panels + c.columns - 1) / c.columns
	for range p.Threads() {
		c.gs = append(c.gs, make([][4]float32, columnPanels*c.strip*c.ow))
	}
	c.part, c.sum = c.run, c.add
	return c
}

// channelLen is the length of a channel of a strip.
func (c *genericWeights) channelLen() int { return c.rows * c.shape.Stride * c.phaseW }

func (c *genericWeights) Run(dw, x, dy []float32) {
	c.dw, c.x, c.dy = dw, x, dy
	if c.groups == 1 {
		c.partial[0] = dw
		c.pool.Run(c.columns, c.part)
		c.partial[0] = nil
	} else {
		c.pool.Run(c.groups*c.columns, c.part)
		c.pool.Run(Chunks(len(dw)), c.sum)
	}
	c.dw, c.x, c.dy = nil, nil, nil
}

func (c *genericWeights) run(worker, part int) {
	s := &c.shape
	group, column := part/c.columns, part%c.columns
	n0, n1 := Split(s.N, c.groups, group)
	p0, p1 := Split(c.panels, c.columns, column)
	dw := c.partial[group]
	for k := range s.KernelH * s.KernelW * s.In {
		clear(dw[k*s.Out+4*p0 : k*s.Out+min(s.Out, 4*p1)])
	}
	for n := n0; n < n1; n++ {
		for strip := range c.strips {
			y0 := strip * c.strip
			y1 := min(c.oh, y0+c.strip)
			c.packStrip(worker, n, y0, y1, p0, p1)
			c.multiplyStrip(worker, dw, y0, y1, p0, p1)
		}
	}
}

// firstRow is the first input row that output rows from y0 on need.
func (c *genericWeights) firstRow(y0 int) int { return max(0, y0*c.shape.Stride-c.shape.Pad) }

// packStrip copies what the output rows [y0, y1) of image n need: the input by channel, the gradient by panels [p0, p1).
func (c *genericWeights) packStrip(worker, n, y0, y1, p0, p1 int) {
	s := &c.shape
	first := c.firstRow(y0)
	rows := max(0, min(s.H, (y1-1)*s.Stride+s.KernelH-s.Pad)-first)
	for i := range s.In {
		dst := c.xs[worker][i*c.channelLen():]
		for r := range rows {
			row := c.x[(n*s.H+first+r)*s.W*s.In+i:]
			for f := range min(s.Stride, s.W) {
				d := dst[(r*s.Stride+f)*c.phaseW:][:(s.W-f+s.Stride-1)/s.Stride]
				for k := range d {
					d[k] = row[(k*s.Stride+f)*s.In]
				}
			}
		}
	}
	pixels := (y1 - y0) * c.ow
	dy := c.dy[(n*c.oh+y0)*c.ow*s.Out:]
	for p := p0; p < p1; p++ {
		packPanel(c.gs[worker][(p-p0)*c.strip*c.ow:][:pixels], min(4, s.Out-4*p), dy[4*p:], s.Out, 1)
	}
}

// multiplyStrip adds what the output rows [y0, y1) give. A tap meets fewer of them where it lies beyond a border.
func (c *genericWeights) multiplyStrip(worker int, dw []float32, y0, y1, p0, p1 int) {
	s := &c.shape
	for r := range s.KernelH {
		lo, hi := met(c.oh, s.Stride, r-s.Pad, s.H)
		lo, hi = max(lo, y0), min(hi, y1)
		for col := range s.KernelW {
			left, right := met(c.ow, s.Stride, col-s.Pad, s.W)
			if lo >= hi || left >= right {
				continue
			}
			row, pixel := lo*s.Stride+r-s.Pad-c.firstRow(y0), left*s.Stride+col-s.Pad
			at := (row*s.Stride+pixel%s.Stride)*c.phaseW + pixel/s.Stride
			seg := segments{hi - lo, s.Stride * s.Stride * c.phaseW, right - left, c.ow}
			for i := range s.In {
				x := c.xs[worker][i*c.channelLen()+at:]
				out := dw[((r*s.KernelW+col)*s.In+i)*s.Out:]
				for p := p0; p < p1; p++ {
					a0, a1, a2, a3 := dot4(x, seg, c.gs[worker][(p-p0)*c.strip*c.ow+(lo-y0)*c.ow+left:])
					sums := [4]float32{a0, a1, a2, a3}
					addTo(out[4*p:min(s.Out, 4*p+4)], sums[:])
				}
			}
		}
	}
}

func addTo(y, x []float32) {
	for i, v := range x[:len(y)] {
		y[i] += v
	}
}

func (c *genericWeights) add(_, part int) {
	lo, hi := Chunk(len(c.dw), part)
	copy(c.dw[lo:hi], c.partial[0][lo:hi])
	for _, p := range c.partial[1:] {
		addTo(c.dw[lo:hi], p[lo:hi])
	}
}
