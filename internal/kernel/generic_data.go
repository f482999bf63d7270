package kernel

// genericData is ConvBackwardData in plain Go.
//
// It gathers rather than scatters. The pixels of dx whose coordinates leave the same remainders modulo
// the stride form one phase; each phase is a dense correlation of dy with a fixed subset of the taps, in
// reverse order.
type genericData struct {
	shape          ConvShape
	pool           *Pool
	oh, ow, panels int
	rows, cols     []phase // by remainder of the row and of the column
	top, left      int     // offset of the first padded row and column of dy
	width          int     // padded pixels a row of dy
	extra          int     // padded rows of dy beyond the rows of a strip
	th             int     // rows of the largest phase
	strip, strips  int
	dx, dy, w      []float32
	packed         [][4]float32 // [phase row][phase column][panel][tap row][tap column][Out]
	at             []int        // where a phase's weights begin in packed
	scratch        [][]float32
	packPart, part func(worker, part int)
}

// phase is one remainder modulo the stride in one dimension.
type phase struct {
	first int // first tap of the kernel that meets these pixels
	taps  int // how many do, one every stride
	start int // dy index met by pixel 0 of the phase and the last tap
	n     int // pixels
}

func phases(size, kernel, stride, pad int) (ps []phase, lo, hi int) {
	lo, hi = 1<<30, -(1 << 30)
	for r := range min(stride, size) {
		p := phase{first: (r + pad) % stride, n: (size - r + stride - 1) / stride}
		if p.first < kernel {
			p.taps = (kernel - p.first + stride - 1) / stride
		}
		end := (r + pad) / stride
		p.start = end - p.taps + 1
		if p.taps > 0 {
			lo, hi = min(lo, p.start), max(hi, end)
		}
		ps = append(ps, p)
	}
	if lo > hi {
		lo, hi = 0, 0
	}
	return ps, lo, hi
}

func newGenericData(p *Pool, s ConvShape) *genericData {
	c := &genericData{shape: s, pool: p, oh: s.OutH(), ow: s.OutW(), panels: (s.In + 3) / 4}
	var bottom, right int
	c.rows, c.top, bottom = phases(s.H, s.KernelH, s.Stride, s.Pad)
	c.cols, c.left, right = phases(s.W, s.KernelW, s.Stride, s.Pad)
	c.th, c.extra = c.rows[0].n, bottom-c.top
	c.width = right - c.left + c.cols[0].n
	c.strip = stripRows(c.th, c.width*s.Out)
	c.strips = (c.th + c.strip - 1) / c.strip
	size := 0
	for _, r := range c.rows {
		for _, q := range c.cols {
			c.at = append(c.at, size)
			size += c.panels * r.taps * q.taps * s.Out
		}
	}
	c.packed = make([][4]float32, size)
	c.scratch = buffers(p.Threads(), (c.strip+c.extra)*c.width*s.Out)
	c.packPart, c.part = c.pack, c.run
	return c
}

func (c *genericData) Run(dx, w, dy []float32) {
	c.dx, c.w, c.dy = dx, w, dy
	c.pool.Run(c.panels, c.packPart)
	c.pool.Run(c.shape.N*c.strips, c.part)
	c.dx, c.w, c.dy = nil, nil, nil
}

func (c *genericData) pack(_, panel int) {
	s := &c.shape
	lanes := min(4, s.In-4*panel)
	for i, r := range c.rows {
		for j, q := range c.cols {
			k := r.taps * q.taps * s.Out
			dst := c.packed[c.at[i*len(c.cols)+j]+panel*k:][:k]
			for a := range r.taps {
				for b := range q.taps {
					tapY, tapX := r.first+(r.taps-1-a)*s.Stride, q.first+(q.taps-1-b)*s.Stride
					w := c.w[((tapY*s.KernelW+tapX)*s.In+4*panel)*s.Out:]
					packPanel(dst[:s.Out], lanes, w, 1, s.Out)
					dst = dst[s.Out:]
				}
			}
		}
	}
}

func (c *genericData) run(worker, part int) {
	s := &c.shape
	n, t0 := part/c.strips, part%c.strips*c.strip
	t1 := min(c.th, t0+c.strip)
	g := c.scratch[worker]
	rowLen := c.width * s.Out
	image := c.dy[n*c.oh*c.ow*s.Out : (n+1)*c.oh*c.ow*s.Out]
	copyPadded(g, image, c.oh, c.ow, s.Out, t0+c.top, t1-t0+c.extra, c.left, c.width)
	for i, r := range c.rows {
		for t := t0; t < min(t1, r.n); t++ {
			out := c.dx[(n*s.H+i+t*s.Stride)*s.W*s.In:][:s.W*s.In]
			for j, q := range c.cols {
				seg := segments{r.taps, rowLen, q.taps * s.Out}
				k := seg.count * seg.length
				if k == 0 {
					for u := range q.n {
						at := (j + u*s.Stride) * s.In
						clear(out[at : at+s.In])
					}
					continue
				}
				in := g[(t-t0+r.start-c.top)*rowLen+(q.start-c.left)*s.Out:]
				w := c.packed[c.at[i*len(c.cols)+j]:]
				for p := range c.panels {
					correlate(out[j*s.In+4*p:], s.Stride*s.In, min(4, s.In-4*p), q.n, in, s.Out, seg, w[p*k:(p+1)*k])
				}
			}
		}
	}
}
