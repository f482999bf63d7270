package op

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/reprise-ml/reprise/internal/kernel"
)

// ConvConfig is the geometry of a convolution, the same in both directions.
type ConvConfig struct {
	Stride int // 0 means 1
	Pad    int // zeros around the image

	// Groups divides the channels: the outputs of a group are made of its inputs alone. It divides in and out;
	// 0 means 1, and as many as in and out is a depthwise convolution.
	Groups int
}

// Conv is a two-dimensional convolution without bias. x is [N, H, W, in], w is [kernel height, kernel width,
// in/Groups, out]; the result is [N, (H+2·Pad-kernel height)/Stride+1, (W+2·Pad-kernel width)/Stride+1, out].
func Conv(p *Pool, x, w *gorgonia.Node, c ConvConfig) (*gorgonia.Node, error) {
	if err := checkFloat("conv", "x", x, 0, 0, 0, 0); err != nil {
		return nil, err
	}
	xs := x.Shape()
	if c.Groups == 0 {
		c.Groups = 1
	}
	if c.Groups < 0 || xs[3]%c.Groups != 0 {
		return nil, fmt.Errorf("op: conv: %d groups do not divide %d channels of x", c.Groups, xs[3])
	}
	if err := checkFloat("conv", "w", w, 0, 0, xs[3]/c.Groups, 0); err != nil {
		return nil, err
	}
	ws := w.Shape()
	if c.Stride == 0 {
		c.Stride = 1
	}
	s := kernel.ConvShape{
		N: xs[0], H: xs[1], W: xs[2], In: xs[3], KernelH: ws[0], KernelW: ws[1], Out: ws[3],
		Stride: c.Stride, Pad: c.Pad, Groups: c.Groups,
	}
	if err := s.Check(); err != nil {
		return nil, fmt.Errorf("op: conv: %w", err)
	}
	b, err := newBase(p, "conv", tensor.Shape{s.N, s.OutH(), s.OutW(), s.Out}, x, w)
	if err != nil {
		return nil, err
	}
	return gorgonia.ApplyOp(&conv{b, s, kernel.NewConvForward(p, s)}, x, w)
}

type conv struct {
	base
	conv   kernel.ConvShape
	kernel *kernel.ConvForward
}

func (c *conv) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	c.kernel.Run(c.output(), c.arg(in, 0), c.arg(in, 1))
	return c.out, nil
}

// Gather implements [summer].
func (c *conv) Gather(p *Pool) *kernel.Sums {
	if p != c.pool {
		return nil
	}
	return c.kernel.Gather()
}

func (c *conv) DiffWRT(n int) []bool { return every(n) }

// SymDiff makes two operations rather than one with a side output: they share no work, and the first
// layer of a network needs only the weights' gradient.
func (c *conv) SymDiff(in gorgonia.Nodes, _, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	b, err := newBase(c.pool, "convData", in[0].Shape(), in[1], grad)
	if err != nil {
		return nil, err
	}
	dx, err := gorgonia.ApplyOp(&convData{b, kernel.NewConvBackwardData(c.pool, c.conv)}, in[1], grad)
	if err != nil {
		return nil, err
	}
	if b, err = newBase(c.pool, "convWeights", in[1].Shape(), in[0], grad); err != nil {
		return nil, err
	}
	dw, err := gorgonia.ApplyOp(&convWeights{b, kernel.NewConvBackwardWeights(c.pool, c.conv)}, in[0], grad)
	return gorgonia.Nodes{dx, dw}, err
}

type convData struct {
	base
	kernel *kernel.ConvBackwardData
}

func (c *convData) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	c.kernel.Run(c.output(), c.arg(in, 0), c.arg(in, 1))
	return c.out, nil
}

type convWeights struct {
	base
	kernel *kernel.ConvBackwardWeights
}

func (c *convWeights) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	c.kernel.Run(c.output(), c.arg(in, 0), c.arg(in, 1))
	return c.out, nil
}
