package op_test

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/reprise-ml/reprise/nn/op"
)

//go:embed testdata/golden.json
var golden []byte

type goldenArray struct {
	Shape []int
	Data  []float64
}

// goldenCase is an operation of PyTorch as testdata/golden.py wrote it.
type goldenCase struct {
	Name                   string
	Inputs, Gradients      []goldenArray
	Output, OutputGradient goldenArray
	Stride, Pad, Kernel    int
	Groups                 int // 0 means 1
	Train                  bool
	Before, After          []goldenArray // running mean and variance
	Smoothing              float32
	Classes                []int32
	Soft                   goldenArray
}

func (c goldenCase) build(p *op.Pool, in gorgonia.Nodes, st *op.Statistics) (*gorgonia.Node, error) {
	switch c.Name {
	case "conv":
		return op.Conv(p, in[0], in[1], op.ConvConfig{Stride: c.Stride, Pad: c.Pad, Groups: c.Groups})
	case "batchNorm":
		return op.BatchNorm(p, in[0], in[1], in[2], st, op.BatchNormConfig{Train: c.Train})
	case "linear":
		return op.Linear(p, in[0], in[1], in[2])
	case "relu":
		return op.ReLU(p, in[0])
	case "globalAvgPool":
		return op.GlobalAvgPool(p, in[0])
	case "maxPool":
		return op.MaxPool(p, in[0], op.PoolConfig{Kernel: c.Kernel, Stride: c.Stride, Pad: c.Pad})
	case "shortcut":
		return op.Shortcut(p, in[0], c.Stride, c.Output.Shape[3])
	case "crossEntropy":
		g, n := in[0].Graph(), in[0].Shape()[0]
		ones := make([]float32, n)
		for i := range ones {
			ones[i] = 1
		}
		var target *gorgonia.Node
		if c.Classes != nil {
			target = fixed(g, "target", tensor.New(tensor.WithShape(n), tensor.WithBacking(c.Classes)))
		} else {
			target = fixed(g, "target", tensor.New(tensor.WithShape(c.Soft.Shape...), tensor.WithBacking(single(c.Soft.Data))))
		}
		return op.SoftmaxCrossEntropy(p, in[0], target, fixed(g, "weights", tensor.New(tensor.WithShape(n), tensor.WithBacking(ones))), c.Smoothing)
	}
	return nil, fmt.Errorf("no operation %s", c.Name)
}

func TestValuesAndGradientsAgreeWithPyTorch(t *testing.T) {
	var file struct{ Cases []goldenCase }
	if err := json.Unmarshal(golden, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) == 0 {
		t.Fatal("no cases")
	}
	for i, c := range file.Cases {
		t.Run(fmt.Sprintf("%d %s", i, c.Name), func(t *testing.T) {
			var st *op.Statistics
			if c.Before != nil {
				st = &op.Statistics{Mean: single(c.Before[0].Data), Var: single(c.Before[1].Data)}
			}
			oc := opCase{
				build:   func(p *op.Pool, in gorgonia.Nodes) (*gorgonia.Node, error) { return c.build(p, in, st) },
				outGrad: single(c.OutputGradient.Data),
			}
			var in [][]float64
			for _, a := range c.Inputs {
				oc.inputs, in = append(oc.inputs, a.Shape), append(in, a.Data)
			}
			r := newRun(t, oc, nil, in)
			r.run(t)
			if !r.out.Shape().Eq(c.Output.Shape) {
				t.Fatalf("output has shape %v, want %v", r.out.Shape(), c.Output.Shape)
			}
			checkClose(t, "output", values(r.out), c.Output.Data, 2e-6)
			for j, g := range r.grads {
				got := append([]float32(nil), values(g)...)
				if r.weigh == nil { // the loss itself: PyTorch's was multiplied by a constant
					for k := range got {
						got[k] *= oc.outGrad[0]
					}
				}
				checkClose(t, fmt.Sprintf("gradient of input %d", j), got, c.Gradients[j].Data, 5e-6)
			}
			if c.Train {
				r.out.Op().(op.Committer).Commit()
			}
			if st != nil {
				checkClose(t, "running mean", st.Mean, c.After[0].Data, 2e-6)
				checkClose(t, "running variance", st.Var, c.After[1].Data, 2e-6)
			}
		})
	}
}
