package op_test

import (
	"math"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/reprise-ml/reprise/nn/op"
)

// fusedAndComposed are a fused operation of inputs x, gamma, beta and perhaps skip, and the same in single steps.
func fusedAndComposed(skip bool, x tensor.Shape, c op.BatchNormConfig) (fused, composed opCase) {
	ch := x[len(x)-1]
	inputs := []tensor.Shape{x, {ch}, {ch}}
	if skip {
		inputs = append(inputs, x)
	}
	fused = opCase{name: "normalisation", inputs: inputs, build: func(p *op.Pool, in gorgonia.Nodes) (*gorgonia.Node, error) {
		if skip {
			return op.BatchNormAddReLU(p, in[0], in[3], in[1], in[2], op.NewStatistics(ch), c)
		}
		return op.BatchNormReLU(p, in[0], in[1], in[2], op.NewStatistics(ch), c)
	}}
	composed = opCase{name: "normalisation", inputs: inputs, build: func(p *op.Pool, in gorgonia.Nodes) (*gorgonia.Node, error) {
		y, err := op.BatchNorm(p, in[0], in[1], in[2], op.NewStatistics(ch), c)
		if err == nil && skip {
			y, err = op.Add(p, y, in[3])
		}
		if err != nil {
			return nil, err
		}
		return op.ReLU(p, y)
	}}
	return fused, composed
}

func TestFusedNormalisationsAgreeWithTheirSteps(t *testing.T) {
	p := op.NewPool(2)
	defer p.Close()
	for _, skip := range []bool{false, true} {
		for _, x := range []tensor.Shape{{4, 9, 7, 16}, {6, 5, 5, 3}, {2, 3, 3, 70}, {32, 10}} {
			for _, c := range []op.BatchNormConfig{{Train: true}, {Train: true, Ghost: x[0] / 2}, {}} {
				fused, composed := fusedAndComposed(skip, x, c)
				in := fused.draw()
				a, b := newRun(t, fused, p, in), newRun(t, composed, p, in)
				a.run(t)
				b.run(t)
				got, want := a.results(), b.results()
				for i, w := range want {
					if d := math.Abs(float64(got[i] - w)); !(d <= 2e-6*max(1, math.Abs(float64(w)))) {
						t.Fatalf("%v, skip %v, %+v: result %d is %v, in steps %v", x, skip, c, i, got[i], w)
					}
				}
			}
		}
	}
}
