package models

import (
	"fmt"
	"math"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/reprise-ml/reprise/internal/exec"
	"github.com/reprise-ml/reprise/internal/kernel"
	"github.com/reprise-ml/reprise/nn"
)

// probe is the training graph of ResNet-8 with ReLUs of their own, so that their inputs can be seen.
// It has no gradients, and leaves weights and running statistics as they are.
type probe struct {
	before  gorgonia.Nodes // the inputs of the ReLUs
	out     *gorgonia.Node // loss
	machine *exec.Machine
}

// newProbe shares the weights p and the inputs of g.
func newProbe(t *testing.T, p *nn.Params, g *graph, pool *kernel.Pool) *probe {
	t.Helper()
	s := nn.NewScope(p, nn.Config{Train: true, Pool: pool})
	input := func(n *gorgonia.Node) *gorgonia.Node {
		v := n.Value().(*tensor.Dense)
		return gorgonia.NewTensor(s.Graph(), v.Dtype(), v.Dims(), gorgonia.WithName(n.Name()), gorgonia.WithShape(v.Shape()...), gorgonia.WithValue(v))
	}
	var q probe
	relu := func(n *gorgonia.Node) *gorgonia.Node {
		q.before = append(q.before, n)
		return nn.ReLU{}.Apply(s, n)
	}
	logits := resNet8(s, input(g.x), relu)
	q.out = nn.CrossEntropy{}.Apply(s, gorgonia.Nodes{logits}, gorgonia.Nodes{input(g.y)}, input(g.w))
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	var err error
	if q.machine, err = s.Compile(append(gorgonia.Nodes{q.out}, q.before...)...); err != nil {
		t.Fatal(err)
	}
	return &q
}

func resNet8(s *nn.Scope, x *gorgonia.Node, relu func(*gorgonia.Node) *gorgonia.Node) *gorgonia.Node {
	x = relu(s.Apply("bn1", nn.BatchNorm{}, s.Apply("conv1", conv3x3(16, 1), x)))
	for stage, width := range []int{16, 32, 64} {
		name, stride := fmt.Sprintf("layer%d.0.", stage+1), 2
		if stage == 0 {
			stride = 1
		}
		y := relu(s.Apply(name+"bn1", nn.BatchNorm{}, s.Apply(name+"conv1", conv3x3(width, stride), x)))
		y = s.Apply(name+"bn2", nn.BatchNorm{}, s.Apply(name+"conv2", conv3x3(width, 1), y))
		x = relu(s.Add(y, s.Apply(name+"shortcut", nn.Shortcut{Out: width, Stride: stride}, x)))
	}
	return s.Apply("fc", nn.Linear{Out: 10}, s.Apply("avgpool", nn.GlobalAvgPool{}, x))
}

// margin runs the graph and returns how close to 0 the inputs of ReLUs come.
func (q *probe) margin(t *testing.T) float64 {
	t.Helper()
	if err := q.machine.RunAll(); err != nil {
		t.Fatal(err)
	}
	least := math.Inf(1)
	for _, n := range q.before {
		for _, v := range floats(q.machine.Value(n)) {
			least = min(least, math.Abs(float64(v)))
		}
	}
	return least
}

// loss is that of the last run.
func (q *probe) loss() float64 { return float64(q.machine.Value(q.out).Data().(float32)) }
