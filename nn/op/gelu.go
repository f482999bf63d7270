package op

import (
	"gorgonia.org/gorgonia"

	"github.com/reprise-ml/reprise/internal/kernel"
)

// GELU is x·Φ(x) of every element of x, a tensor of any shape, Φ being the distribution function of the normal distribution: the
// exact form, PyTorch's default.
func GELU(p *Pool, x *gorgonia.Node) (*gorgonia.Node, error) {
	if err := checkTensor("gelu", "x", x); err != nil {
		return nil, err
	}
	m, err := newMapped(p, "gelu", func(y, x, _ []float32) { kernel.GELU(y, x) }, x)
	if err != nil {
		return nil, err
	}
	return gorgonia.ApplyOp(&gelu{m}, x)
}

type gelu struct{ *mapped }

func (g *gelu) DiffWRT(n int) []bool { return every(n) }

func (g *gelu) SymDiff(in gorgonia.Nodes, _, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	back, err := newMapped(g.pool, "geluBack", kernel.GELUBackward, in[0], grad)
	if err != nil {
		return nil, err
	}
	dx, err := gorgonia.ApplyOp(back, in[0], grad)
	return gorgonia.Nodes{dx}, err
}
