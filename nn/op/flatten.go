package op

import (
	"fmt"

	"gorgonia.org/gorgonia"
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
	return regroup(p, "flatten", x, s[0], s.TotalSize()/s[0])
}

// Tokens is x, [N, ..., C], as [N, T, C], T being the product of what is between: the pixels of an image in rows. It copies; an x of three
// dimensions is returned as it is.
func Tokens(p *Pool, x *gorgonia.Node) (*gorgonia.Node, error) {
	if err := checkTensor("tokens", "x", x); err != nil {
		return nil, err
	}
	s := x.Shape()
	if len(s) < 3 {
		return nil, fmt.Errorf("op: tokens: x has shape %v, want at least three dimensions", s)
	}
	if len(s) == 3 {
		return x, nil
	}
	ch := s[len(s)-1]
	return regroup(p, "tokens", x, s[0], s.TotalSize()/s[0]/ch, ch)
}

// regroup copies x to another shape of the same batch.
func regroup(p *Pool, name string, x *gorgonia.Node, shape ...int) (*gorgonia.Node, error) {
	m, err := newImages(p, name, shape, copyImage, x)
	if err != nil {
		return nil, err
	}
	return gorgonia.ApplyOp(&flatten{m}, x)
}

func copyImage(_ int, y, x []float32) { copy(y, x) }

type flatten struct{ *images }

func (f *flatten) DiffWRT(n int) []bool { return every(n) }

func (f *flatten) SymDiff(in gorgonia.Nodes, _, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	back, err := newImages(f.pool, f.name+"Back", in[0].Shape(), copyImage, grad)
	if err != nil {
		return nil, err
	}
	dx, err := gorgonia.ApplyOp(back, grad)
	return gorgonia.Nodes{dx}, err
}
