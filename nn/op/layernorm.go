package op

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/reprise-ml/reprise/internal/kernel"
)

// LayerNorm normalises every row of x, [..., C], by its own mean and variance, then scales it by gamma and shifts it by beta, both
// [C]. epsilon is added to the variance and is above 0.
func LayerNorm(p *Pool, x, gamma, beta *gorgonia.Node, epsilon float32) (*gorgonia.Node, error) {
	const name = "layerNorm"
	if err := checkTensor(name, "x", x); err != nil {
		return nil, err
	}
	xs := x.Shape()
	ch := xs[len(xs)-1]
	if err := checkFloat(name, "gamma", gamma, ch); err != nil {
		return nil, err
	}
	if err := checkFloat(name, "beta", beta, ch); err != nil {
		return nil, err
	}
	if !(epsilon > 0) {
		return nil, fmt.Errorf("op: %s: epsilon %v, want more than 0", name, epsilon)
	}
	b, err := newBase(p, name, xs, x, gamma, beta)
	if err != nil {
		return nil, err
	}
	return gorgonia.ApplyOp(&layerNorm{b, kernel.NewLayerNorm(p, xs.TotalSize()/ch, ch), epsilon}, x, gamma, beta)
}

type layerNorm struct {
	base
	kernel  *kernel.LayerNorm // holds mean and deviation of the last run
	epsilon float32
}

func (l *layerNorm) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	l.kernel.Forward(l.output(), l.arg(in, 0), l.arg(in, 1), l.arg(in, 2), l.epsilon)
	return l.out, nil
}

func (l *layerNorm) DiffWRT(n int) []bool { return every(n) }

func (l *layerNorm) SymDiff(in gorgonia.Nodes, out, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	after, err := ran(out)
	if err != nil {
		return nil, err
	}
	b, err := newBase(l.pool, "layerNormBack", in[0].Shape(), in[0], in[1], grad, after)
	if err != nil {
		return nil, err
	}
	back := &layerNormBack{b, l.kernel, newTensor(in[1].Shape()), newTensor(in[1].Shape())}
	dx, err := gorgonia.ApplyOp(back, in[0], in[1], grad, after)
	if err != nil {
		return nil, err
	}
	dgamma, err := newPick("layerNormGamma", dx, back.dgamma)
	if err != nil {
		return nil, err
	}
	dbeta, err := newPick("layerNormBeta", dx, back.dbeta)
	return gorgonia.Nodes{dx, dgamma, dbeta}, err
}

type layerNormBack struct {
	base
	kernel        *kernel.LayerNorm
	dgamma, dbeta *tensor.Dense
}

func (l *layerNormBack) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	l.kernel.Backward(l.output(), l.dgamma.Float32s(), l.dbeta.Float32s(), l.arg(in, 0), l.arg(in, 1), l.arg(in, 2))
	return l.out, nil
}
