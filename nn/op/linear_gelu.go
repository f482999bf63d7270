package op

import (
	"gorgonia.org/gorgonia"

	"github.com/reprise-ml/reprise/internal/kernel"
)

// LinearOfGELU is [Linear] of the [GELU] of x, where the gradient of the GELU is computed behind the product and takes no pass of its own.
func LinearOfGELU(p *Pool, x, w, b *gorgonia.Node) (*gorgonia.Node, error) {
	h, err := GELU(p, x)
	if err != nil {
		return nil, err
	}
	s, in, err := linearShape("linearOfGELU", h, w, b)
	if err != nil {
		return nil, err
	}
	in = append(in, x)
	o, err := newBase(p, "linearOfGELU", append(rows(x.Shape()).Clone(), s.Out), in...)
	if err != nil {
		return nil, err
	}
	return gorgonia.ApplyOp(&linearOfGELU{linear{o, s, kernel.NewLinearForward(p, s), b != nil}}, in...)
}

// linearOfGELU takes the GELU, the weights, the bias if any, and last what the GELU was applied to, which alone has the
// gradient.
type linearOfGELU struct{ linear }

func (l *linearOfGELU) DiffWRT(n int) []bool {
	all := every(n)
	all[0] = false
	return all
}

func (l *linearOfGELU) SymDiff(in gorgonia.Nodes, _, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	x := in[len(in)-1]
	b, err := newBase(l.pool, "linearOfGELUData", x.Shape(), in[1], grad, x)
	if err != nil {
		return nil, err
	}
	back := &linearOfGELUData{linearData{b, kernel.NewLinearBackwardData(l.pool, l.linear.linear)}}
	dx, err := gorgonia.ApplyOp(back, in[1], grad, x)
	if err != nil {
		return nil, err
	}
	weights, err := l.weights(in, grad)
	return append(append(gorgonia.Nodes{nil}, weights...), dx), err
}

type linearOfGELUData struct{ linearData }

func (l *linearOfGELUData) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	l.kernel.RunGELU(l.output(), l.arg(in, 2), l.arg(in, 0), l.arg(in, 1))
	return l.out, nil
}
