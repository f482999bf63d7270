package op

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/reprise-ml/reprise/internal/kernel"
)

// Shortcut is the parameter-free shortcut of a residual network (option A of He et al., arXiv
// 1512.03385): every stride-th pixel of x, [N, H, W, C], and zero channels up to outChannels, half of them
// before those of x (rounded down) and half after. The result is [N, ⌈H/stride⌉, ⌈W/stride⌉, outChannels].
func Shortcut(p *Pool, x *gorgonia.Node, stride, outChannels int) (*gorgonia.Node, error) {
	if err := checkFloat("shortcut", "x", x, 0, 0, 0, 0); err != nil {
		return nil, err
	}
	xs := x.Shape()
	if stride < 1 || outChannels < xs[3] {
		return nil, fmt.Errorf("op: shortcut: stride %d and %d channels for x of shape %v, want a stride of at least 1 and at least %d channels", stride, outChannels, xs, xs[3])
	}
	s := kernel.ShortcutShape{H: xs[1], W: xs[2], In: xs[3], Out: outChannels, Stride: stride}
	m, err := newImages(p, "shortcut", tensor.Shape{xs[0], s.OutH(), s.OutW(), outChannels}, func(_ int, y, x []float32) { kernel.Shortcut(y, x, s) }, x)
	if err != nil {
		return nil, err
	}
	return gorgonia.ApplyOp(&shortcut{m, s}, x)
}

type shortcut struct {
	*images
	shape kernel.ShortcutShape
}

func (c *shortcut) DiffWRT(n int) []bool { return every(n) }

func (c *shortcut) SymDiff(in gorgonia.Nodes, _, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	s := c.shape
	back, err := newImages(c.pool, "shortcutBack", in[0].Shape(), func(_ int, dx, dy []float32) { kernel.ShortcutBackward(dx, dy, s) }, grad)
	if err != nil {
		return nil, err
	}
	dx, err := gorgonia.ApplyOp(back, grad)
	return gorgonia.Nodes{dx}, err
}
