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
	width, rows     int // padded input pixels a row and a strip has; width is split by remainder of the stride
	phaseW          int // pixels of one remainder
	dw, x, dy       []float32
	partial         [][]float32 // one a group; of a single group it is dw itself
	padded          [][]float32
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
	c.phaseW = c.ow + (s.KernelW-1)/s.Stride
	c.width = c.phaseW * s.Stride
	c.strip = stripRows(c.oh, c.width*s.Stride*s.In+c.ow*s.Out)
	c.strips = (c.oh + c.strip - 1) / c.strip
	c.rows = (c.strip-1)*s.Stride + s.KernelH
	c.partial = make([][]float32, 1)
	if c.groups > 1 {
		c.partial = buffers(c.groups, s.weightsLen())
	}
	c.padded = buffers(p.Threads(), c.rows*c.width*s.In)
	c.xs = buffers(p.Threads(), c.rows*c.width*s.In)
	columnPanels := (c.panels + c.columns - 1) / c.columns
	for range p.Threads() {
		c.gs = append(c.gs, make([][4]float32, columnPanels*c.strip*c.ow))
	}
	c.part, c.sum = c.run, c.add
	return c
}

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
			c.multiplyStrip(worker, dw, y1-y0, p0, p1)
		}
	}
}

// packStrip copies what the output rows [y0, y1) of image n need: the padded input by
// channel, the gradient by panels [p0, p1).
func (c *genericWeights) packStrip(worker, n, y0, y1, p0, p1 int) {
	s := &c.shape
	rows := (y1-y0-1)*s.Stride + s.KernelH
	padded := c.padded[worker]
	copyPadded(padded, c.x[n*s.H*s.W*s.In:(n+1)*s.H*s.W*s.In], s.H, s.W, s.In, y0*s.Stride-s.Pad, rows, -s.Pad, c.width)
	for i := range s.In {
		dst := c.xs[worker][i*c.rows*c.width:]
		for r := range rows {
			row := padded[r*c.width*s.In+i : (r+1)*c.width*s.In]
			for f := range s.Stride {
				d := dst[(r*s.Stride+f)*c.phaseW:][:c.phaseW]
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

func (c *genericWeights) multiplyStrip(worker int, dw []float32, rows, p0, p1 int) {
	s := &c.shape
	seg := segments{rows, s.Stride * s.Stride * c.phaseW, c.ow}
	for r := range s.KernelH {
		for col := range s.KernelW {
			for i := range s.In {
				x := c.xs[worker][i*c.rows*c.width+(r*s.Stride+col%s.Stride)*c.phaseW+col/s.Stride:]
				out := dw[((r*s.KernelW+col)*s.In+i)*s.Out:]
				for p := p0; p < p1; p++ {
					a0, a1, a2, a3 := dot4(x, seg, c.gs[worker][(p-p0)*c.strip*c.ow:])
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
