package kernel

import "fmt"

// ConvShape is the shape of a two-dimensional convolution of NHWC images with HWIO weights.
// Stride and padding are the same in both directions; the padding is of zeros.
type ConvShape struct {
	N, H, W, In           int // input [N, H, W, In]
	KernelH, KernelW, Out int // weights [KernelH, KernelW, In, Out]
	Stride, Pad           int

	// Groups divides the channels: outputs of a group are made of the inputs of that group alone, and the weights
	// are [KernelH, KernelW, In/Groups, Out]. 0 means 1; as many as In and Out is a depthwise convolution.
	Groups int
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
	case s.Groups < 0 || s.In%s.groups() != 0 || s.Out%s.groups() != 0:
		return fmt.Errorf("kernel: convolution of %d to %d channels cannot have %d groups", s.In, s.Out, s.Groups)
	case s.Pad < 0:
		return fmt.Errorf("kernel: convolution with padding %d, want at least 0", s.Pad)
	case s.KernelH > s.H+2*s.Pad || s.KernelW > s.W+2*s.Pad:
		return fmt.Errorf("kernel: a %dx%d kernel does not fit into a %dx%d image padded by %d", s.KernelH, s.KernelW, s.H, s.W, s.Pad)
	}
	return nil
}

func (s ConvShape) inputLen() int   { return s.N * s.H * s.W * s.In }
func (s ConvShape) weightsLen() int { return s.KernelH * s.KernelW * s.In / s.groups() * s.Out }
func (s ConvShape) outputLen() int  { return s.N * s.OutH() * s.OutW() * s.Out }

// work is the number of products, those with padding included.
func (s ConvShape) work() int { return s.outputLen() * s.KernelH * s.KernelW * s.In / s.groups() }

func (s ConvShape) groups() int { return max(1, s.Groups) }

// lanewise is whether the convolution is depthwise, with channels enough for a vector.
func (s ConvShape) lanewise() bool {
	return s.groups() > 1 && s.In == s.Groups && s.Out == s.Groups && s.In >= vector
}

// kernels are the micro-kernels for a convolution on the active path, nil on the generic one.
func (s ConvShape) kernels() *microKernels {
	if s.lanewise() {
		return lanewiseOf(ActivePath())
	}
	return kernelsOf(ActivePath())
}

func (s ConvShape) mustCheck() {
	if err := s.Check(); err != nil {
		panic(err)
	}
}

// ConvForward computes the output of a convolution, here of one group:
//
//	for n, oy, ox, o {
//		var sum float32
//		for r, c, i {
//			sum += x[n, oy*Stride+r-Pad, ox*Stride+c-Pad, i] * w[r, c, i, o] // x is 0 outside
//		}
//		y[n, oy, ox, o] = sum
//	}
type ConvForward struct {
	shape ConvShape
	run   func(y, x, w []float32)
	fast  *forward // nil on the generic path
}

// NewConvForward makes the kernel for a shape. A shape that does not Check is a bug and panics.
func NewConvForward(p *Pool, s ConvShape) *ConvForward {
	s.mustCheck()
	if k := s.kernels(); k != nil {
		f := newForward(p, s, k)
		return &ConvForward{s, f.Run, f}
	}
	if s.groups() > 1 {
		return &ConvForward{shape: s, run: newGenericGroups(p, s).forward}
	}
	return &ConvForward{shape: s, run: newGenericForward(p, s).Run}
}

// Gather makes every Run leave sums of its output, made of each part right after it is computed, and returns where they are. It returns
// nil, and nothing changes, where that is no faster than to read the output again: on the generic path, and where the weights are so
// many that parts have only some of the channels.
func (c *ConvForward) Gather() *Sums {
	if c.fast == nil || c.fast.columns > 1 {
		return nil
	}
	return c.fast.gather()
}

// Run computes y from the images x and the weights w. All of y is written.
func (c *ConvForward) Run(y, x, w []float32) {
	mustLen("convolution output", y, c.shape.outputLen())
	mustLen("convolution input", x, c.shape.inputLen())
	mustLen("convolution weights", w, c.shape.weightsLen())
	c.run(y, x, w)
}

// ConvBackwardData computes the gradient of a convolution's input:
//
//	dx = 0
//	for n, oy, ox, o, r, c, i {
//		dx[n, oy*Stride+r-Pad, ox*Stride+c-Pad, i] += dy[n, oy, ox, o] * w[r, c, i, o] // only inside the image
//	}
type ConvBackwardData struct {
	shape ConvShape
	run   func(dx, w, dy []float32)
}

// NewConvBackwardData makes the kernel for a shape. A shape that does not Check is a bug and panics.
func NewConvBackwardData(p *Pool, s ConvShape) *ConvBackwardData {
	s.mustCheck()
	if k := s.kernels(); k != nil {
		return &ConvBackwardData{s, newBackwardData(p, s, k).Run}
	}
	if s.groups() > 1 {
		return &ConvBackwardData{s, newGenericGroups(p, s).backwardData}
	}
	data := newGenericData(p, s)
	return &ConvBackwardData{s, func(dx, w, dy []float32) { data.Run(dx, dy, w) }}
}

// Run computes dx from the weights w and the gradient dy of the output. All of dx is written.
func (c *ConvBackwardData) Run(dx, w, dy []float32) {
	mustLen("convolution input gradient", dx, c.shape.inputLen())
	mustLen("convolution weights", w, c.shape.weightsLen())
	mustLen("convolution output gradient", dy, c.shape.outputLen())
	c.run(dx, w, dy)
}

// ConvBackwardWeights computes the gradient of a convolution's weights:
//
//	dw = 0
//	for n, oy, ox, o, r, c, i {
//		dw[r, c, i, o] += x[n, oy*Stride+r-Pad, ox*Stride+c-Pad, i] * dy[n, oy, ox, o] // x is 0 outside
//	}
type ConvBackwardWeights struct {
	shape ConvShape
	run   func(dw, x, dy []float32)
}

// NewConvBackwardWeights makes the kernel for a shape. A shape that does not Check is a bug and panics.
func NewConvBackwardWeights(p *Pool, s ConvShape) *ConvBackwardWeights {
	s.mustCheck()
	if k := kernelsOf(ActivePath()); k != nil {
		return &ConvBackwardWeights{s, newBackwardWeights(p, s, k, lanewiseOf(ActivePath())).Run}
	}
	if s.groups() > 1 {
		return &ConvBackwardWeights{s, newGenericGroups(p, s).backwardWeights}
	}
	return &ConvBackwardWeights{s, newGenericWeights(p, s).Run}
}

// Run computes dw from the images x and the gradient dy of the output. All of dw is written.
func (c *ConvBackwardWeights) Run(dw, x, dy []float32) {
	mustLen("convolution weight gradient", dw, c.shape.weightsLen())
	mustLen("convolution input", x, c.shape.inputLen())
	mustLen("convolution output gradient", dy, c.shape.outputLen())
	c.run(dw, x, dy)
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
