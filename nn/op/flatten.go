package op

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Flatten is x, [N, ...], as [N, rest]. Of an image the rest is in the order H, W, C, where PyTorch
// has C, H, W. It copies; an x of two dimensions is returned as it is.
func Flatten(p *Pool, x *gorgonia.Node) (*gorgonia.Node, error) {
	if err := checkTensor("flatten", "x", x); err != nil {
		return nil, err
	}
	if x.Dims() == 2 {
		return x, nil
	}
	s := x.Shape()
	m, err := newImages(p, "flatten", tensor.Shape{s[0], s.TotalSize() / s[0]}, copyImage, x)
	if err != nil {
		return nil, err
	}
	return gorgonia.ApplyOp(&flatten{m}, x)
}

func copyImage(_ int, y, x []float32) { copy(y, x) }

type flatten struct{ *images }

func (f *flatten) DiffWRT(n int) []bool { return every(n) }

func (f *flatten) SymDiff(in gorgonia.Nodes, _, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	back, err := newImages(f.pool, "flattenBack", in[0].Shape(), copyImage, grad)
	if err != nil {
		return nil, err
	}
	dx, err := gorgonia.ApplyOp(back, grad)
	return gorgonia.Nodes{dx}, err
}
