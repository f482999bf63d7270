package op

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/reprise-ml/reprise/internal/kernel"
)

// GlobalAvgPool is the mean over the pixels of every image and channel: [N, H, W, C] to [N, C]. It is also that over the tokens of a
// sequence, [N, T, C].
func GlobalAvgPool(p *Pool, x *gorgonia.Node) (*gorgonia.Node, error) {
	if err := checkTensor("globalAvgPool", "x", x); err != nil {
		return nil, err
	}
	s := x.Shape()
	if len(s) != 3 && len(s) != 4 {
		return nil, fmt.Errorf("op: globalAvgPool: x has shape %v, want (N, H, W, C) or (N, T, C)", s)
	}
	m, err := newImages(p, "globalAvgPool", tensor.Shape{s[0], s[len(s)-1]}, func(_ int, y, x []float32) { kernel.GlobalAvgPool(y, x) }, x)
	if err != nil {
		return nil, err
	}
	return gorgonia.ApplyOp(&globalAvgPool{m}, x)
}

type globalAvgPool struct{ *images }

func (g *globalAvgPool) DiffWRT(n int) []bool { return every(n) }

func (g *globalAvgPool) SymDiff(in gorgonia.Nodes, _, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	back, err := newImages(g.pool, "globalAvgPoolBack", in[0].Shape(), func(_ int, dx, dy []float32) { kernel.GlobalAvgPoolBackward(dx, dy) }, grad)
	if err != nil {
		return nil, err
	}
	dx, err := gorgonia.ApplyOp(back, grad)
	return gorgonia.Nodes{dx}, err
}

// PoolConfig is the geometry of a pool, the same in both directions.
type PoolConfig struct {
	Kernel int // width of the window, at least 1
	Stride int // 0 means Kernel, as in PyTorch
	Pad    int // at most half of Kernel; padding never is the maximum
}

// MaxPool is the largest value in every window, per channel: [N, H, W, C] to [N, (H+2·Pad-Kernel)/Stride+1,
// (W+2·Pad-Kernel)/Stride+1, C]. The gradient goes to the first of equal maxima.
func MaxPool(p *Pool, x *gorgonia.Node, c PoolConfig) (*gorgonia.Node, error) {
	if err := checkFloat("maxPool", "x", x, 0, 0, 0, 0); err != nil {
		return nil, err
	}
	if c.Stride == 0 {
		c.Stride = c.Kernel
	}
	if c.Kernel < 1 || c.Stride < 1 || c.Pad < 0 || 2*c.Pad > c.Kernel {
		return nil, fmt.Errorf("op: maxPool: kernel %d, stride %d, padding %d, want kernel and stride of at least 1 and padding of at most half the kernel", c.Kernel, c.Stride, c.Pad)
	}
	xs := x.Shape()
	s := kernel.PoolShape{H: xs[1], W: xs[2], Channels: xs[3], Kernel: c.Kernel, Stride: c.Stride, Pad: c.Pad}
	if c.Kernel > s.H+2*c.Pad || c.Kernel > s.W+2*c.Pad {
		return nil, fmt.Errorf("op: maxPool: x has shape %v, want at least %d by %d pixels with padding %d", xs, c.Kernel, c.Kernel, c.Pad)
	}
	image := s.OutH() * s.OutW() * s.Channels
	m := &maxPool{from: make([]int32, xs[0]*image), image: image}
	var err error
	m.images, err = newImages(p, "maxPool", tensor.Shape{xs[0], s.OutH(), s.OutW(), s.Channels}, func(n int, y, x []float32) {
		kernel.MaxPool(y, m.from[n*image:(n+1)*image], x, s)
	}, x)
	if err != nil {
		return nil, err
	}
	return gorgonia.ApplyOp(m, x)
}

type maxPool struct {
	*images
	from  []int32 // where in its image every output came from
	image int     // outputs of an image
}

func (m *maxPool) DiffWRT(n int) []bool { return every(n) }

func (m *maxPool) SymDiff(in gorgonia.Nodes, out, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	after, err := ran(out)
	if err != nil {
		return nil, err
	}
	back, err := newImages(m.pool, "maxPoolBack", in[0].Shape(), func(n int, dx, dy []float32) {
		kernel.MaxPoolBackward(dx, dy, m.from[n*m.image:(n+1)*m.image])
	}, grad, after)
	if err != nil {
		return nil, err
	}
	dx, err := gorgonia.ApplyOp(back, grad, after)
	return gorgonia.Nodes{dx}, err
}
