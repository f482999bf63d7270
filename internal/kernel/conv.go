package kernel

import "fmt"

// ConvShape is the shape of a two-dimensional convolution of NHWC images with HWIO weights.
// Stride and padding are the same in both directions; the padding is of zeros.
type ConvShape struct {
	N, H, W, In           int // input [N, H, W, In]
	KernelH, KernelW, Out int // weights [KernelH, KernelW, In, Out]
	Stride, Pad           int
}

// OutH is the height of the output.
func (s ConvShape) OutH() int { return (s.H+2*s.Pad-s.KernelH)/s.Stride + 1 }

// OutW is the width of the output.
func (s ConvShape) OutW() int { return (s.W+2*s.Pad-s.KernelW)/s.Stride + 1 }

// Check says what is wrong with the shape: a size below 1, a negative padding or a kernel larger than
// the padded image.
func (s ConvShape) Check() error {
	switch {
	case s.N < 1 || s.H < 1 || s.W < 1 || s.In < 1 || s.KernelH < 1 || s.KernelW < 1 || s.Out < 1:
		return fmt.Errorf("kernel: convolution with an empty dimension: %+v", s)
	case s.Stride < 1:
		return fmt.Errorf("kernel: convolution with stride %d, want at least 1", s.Stride)
	case s.Pad < 0:
		return fmt.Errorf("kernel: convolution with padding %d, want at least 0", s.Pad)
	case s.KernelH > s.H+2*s.Pad || s.KernelW > s.W+2*s.Pad:
		return fmt.Errorf("kernel: a %dx%d kernel does not fit into a %dx%d image padded by %d", s.KernelH, s.KernelW, s.H, s.W, s.Pad)
	}
	return nil
}

func (s ConvShape) inputLen() int   { return s.N * s.H * s.W * s.In }
func (s ConvShape) weightsLen() int { return s.KernelH * s.KernelW * s.In * s.Out }
func (s ConvShape) outputLen() int  { return s.N * s.OutH() * s.OutW() * s.Out }

func (s ConvShape) mustCheck() {
	if err := s.Check(); err != nil {
		panic(err)
	}
}

// stripRows is the number of output rows a part of a convolution computes, such that the
// input it copies stays in the cache next to the processor (about 64 KiB).
func stripRows(rows, floatsPerRow int) int { return min(rows, max(1, chunk/floatsPerRow)) }

// ConvForward computes the output of a convolution:
//
//	for n, oy, ox, o {
//		var sum float32
//		for r, c, i {
//			sum += x[n, oy*Stride+r-Pad, ox*Stride+c-Pad, i] * w[r, c, i, o] // x is 0 outside
//		}
//		y[n, oy, ox, o] = sum
//	}
type ConvForward struct {
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

// NewConvForward makes the kernel for a shape. A shape that does not Check is a bug and panics.
func NewConvForward(p *Pool, s ConvShape) *ConvForward {
	s.mustCheck()
	c := &ConvForward{shape: s, pool: p, oh: s.OutH(), ow: s.OutW(), panels: (s.Out + 3) / 4}
	c.rowLen = ((c.ow-1)*s.Stride + s.KernelW) * s.In
	c.strip = stripRows(c.oh, c.rowLen*s.Stride)
	c.strips = (c.oh + c.strip - 1) / c.strip
	c.packed = make([][4]float32, c.panels*s.KernelH*s.KernelW*s.In)
	c.scratch = buffers(p.Threads(), ((c.strip-1)*s.Stride+s.KernelH)*c.rowLen)
	c.packPart, c.part = c.pack, c.run
	return c
}

// Run computes y from the images x and the weights w. All of y is written.
func (c *ConvForward) Run(y, x, w []float32) {
	mustLen("convolution output", y, c.shape.outputLen())
	mustLen("convolution input", x, c.shape.inputLen())
	mustLen("convolution weights", w, c.shape.weightsLen())
	c.y, c.x, c.w = y, x, w
	c.pool.Run(c.panels, c.packPart)
	c.pool.Run(c.shape.N*c.strips, c.part)
	c.y, c.x, c.w = nil, nil, nil
}

func (c *ConvForward) pack(_, panel int) {
	s := &c.shape
	k := s.KernelH * s.KernelW * s.In
	packPanel(c.packed[panel*k:(panel+1)*k], min(4, s.Out-4*panel), c.w[4*panel:], s.Out, 1)
}

func (c *ConvForward) run(worker, part int) {
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

func buffers(n, length int) [][]float32 {
	b := make([][]float32, n)
	for i := range b {
		b[i] = make([]float32, length)
	}
	return b
}

func mustLen(what string, s []float32, want int) {
	if len(s) != want {
		panic(fmt.Sprintf("kernel: %s has %d floats, want %d", what, len(s), want))
	}
}
