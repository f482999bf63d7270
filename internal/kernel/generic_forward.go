package kernel

// stripRows is the number of output rows a part of a convolution computes, such that the
// input it copies stays in the cache next to the processor (about 64 KiB).
func stripRows(rows, floatsPerRow int) int { return min(rows, max(1, chunk/floatsPerRow)) }

// genericForward is ConvForward in plain Go. It copies strips of the padded input.
type genericForward struct {
	shape          ConvShape
	pool           *Pool
	oh, ow, panels int
	strip, strips  int
	rowLen         int // floats of one padded input row
	y, x, w        []float32
	packed         [][4]float32
	scratch        [][]float32 // one padded strip a worker
	packPart, part func(worker, part int)
}

func newGenericForward(p *Pool, s ConvShape) *genericForward {
	c := &genericForward{shape: s, pool: p, oh: s.OutH(), ow: s.OutW(), panels: (s.Out + 3) / 4}
	c.rowLen = ((c.ow-1)*s.Stride + s.KernelW) * s.In
	c.strip = stripRows(c.oh, c.rowLen*s.Stride)
	c.strips = (c.oh + c.strip - 1) / c.strip
	c.packed = make([][4]float32, c.panels*s.KernelH*s.KernelW*s.In)
	c.scratch = buffers(p.Threads(), ((c.strip-1)*s.Stride+s.KernelH)*c.rowLen)
	c.packPart, c.part = c.pack, c.run
	return c
}

func (c *genericForward) Run(y, x, w []float32) {
	c.y, c.x, c.w = y, x, w
	c.pool.Run(c.panels, c.packPart)
	c.pool.Run(c.shape.N*c.strips, c.part)
	c.y, c.x, c.w = nil, nil, nil
}

func (c *genericForward) pack(_, panel int) {
	s := &c.shape
	k := s.KernelH * s.KernelW * s.In
	packPanel(c.packed[panel*k:(panel+1)*k], min(4, s.Out-4*panel), c.w[4*panel:], s.Out, 1)
}

func (c *genericForward) run(worker, part int) {
	s := &c.shape
	n, y0 := part/c.strips, part%c.strips*c.strip
	y1 := min(c.oh, y0+c.strip)
	x := c.scratch[worker]
	rows := (y1-y0-1)*s.Stride + s.KernelH
	copyPadded(x, c.x[n*s.H*s.W*s.In:(n+1)*s.H*s.W*s.In], s.H, s.W, s.In, y0*s.Stride-s.Pad, rows, -s.Pad, c.rowLen/s.In)
	seg := segments{s.KernelH, c.rowLen, s.KernelW * s.In}
	k := seg.count * seg.length
	for oy := y0; oy < y1; oy++ {
		out := c.y[(n*c.oh+oy)*c.ow*s.Out:]
		in := x[(oy-y0)*s.Stride*c.rowLen:]
		for p := range c.panels {
			correlate(out[4*p:], s.Out, min(4, s.Out-4*p), c.ow, in, s.Stride*s.In, seg, c.packed[p*k:(p+1)*k])
		}
	}
}

// copyPadded copies rows [top, top+rows) and columns [left, left+cols) of an image of h×w
// pixels of ch floats to dst, with zeros where the image has no pixel.
func copyPadded(dst, img []float32, h, w, ch, top, rows, left, cols int) {
	lo, hi := min(cols, max(0, -left)), max(0, min(cols, w-left)) // columns of dst the image covers
	hi = max(lo, hi)
	for r := range rows {
		d := dst[r*cols*ch : (r+1)*cols*ch]
		y := top + r
		if y < 0 || y >= h {
			clear(d)
			continue
		}
		clear(d[:lo*ch])
		if hi > lo {
			copy(d[lo*ch:hi*ch], img[(y*w+left+lo)*ch:])
		}
		clear(d[hi*ch:])
	}
}
