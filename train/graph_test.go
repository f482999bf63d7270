package train

import (
	"slices"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/models"
	"github.com/reprise-ml/reprise/nn"
	"github.com/reprise-ml/reprise/optim"
)

func TestAGraphIsBuiltOnceForEveryShapeAndMode(t *testing.T) {
	batch := func(n, width int) data.Batch {
		return data.Batch{
			Inputs:  []data.Array{{Shape: []int{n, width}, F32: make([]float32, n*width)}},
			Targets: []data.Array{{Shape: []int{n}, I32: make([]int32, n)}},
			Origins: make([]data.Origin, n),
		}
	}
	l := &Learner{Model: models.MLP(nil, 3), Task: Classification(0), Optimizer: &optim.SGD{}}
	weighted := batch(4, 2)
	weighted.Weights = data.Array{Shape: []int{4}, F32: []float32{1, 1, 1, 0}}
	soft := batch(4, 2)
	soft.Targets = []data.Array{{Shape: []int{4, 3}, F32: make([]float32, 12)}}
	for i, c := range []struct {
		b        data.Batch
		training bool
		graphs   int
	}{
		{batch(4, 2), true, 1},
		{batch(4, 2), true, 1},
		{weighted, true, 1},
		{batch(4, 2), false, 2},
		{weighted, false, 2},
		{batch(5, 2), true, 3},
		{soft, true, 4},
		{batch(4, 2), true, 4},
	} {
		if _, err := l.graph(c.b, len(c.b.Origins), c.training); err != nil || len(l.graphs) != c.graphs {
			t.Errorf("after batch %d there are %d graphs, want %d (%v)", i, len(l.graphs), c.graphs, err)
		}
	}
	if _, err := l.graph(batch(4, 5), 4, true); err == nil || !strings.Contains(err.Error(), "weight has shape (3, 2), the layer wants [3 5]") {
		t.Errorf("inputs of another width give %v", err)
	}
	if len(l.graphs) != 4 {
		t.Error("a graph that was not built was kept")
	}
}

// noted is a Loss, and has a Model, that note how much they are given.
type noted struct{ inputs, targets int }

func (n *noted) model() nn.Model {
	return modelFunc(func(s *nn.Scope, in gorgonia.Nodes) gorgonia.Nodes {
		n.inputs = len(in)
		return in
	})
}

func (n *noted) Apply(s *nn.Scope, outputs, targets gorgonia.Nodes, weights *gorgonia.Node) *gorgonia.Node {
	n.targets = len(targets)
	return gorgonia.Must(gorgonia.Sum(weights))
}

type modelFunc func(s *nn.Scope, in gorgonia.Nodes) gorgonia.Nodes

func (f modelFunc) Apply(s *nn.Scope, in gorgonia.Nodes) gorgonia.Nodes { return f(s, in) }

func TestGraphsTellInputsFromTargetsAndHoldTheWeightsOfTheirShape(t *testing.T) {
	var n noted
	l := &Learner{Model: n.model(), Task: Task{Loss: &n}}
	a := data.Array{Shape: []int{2, 1}, F32: []float32{1, 2}}
	for _, c := range []struct {
		inputs, targets int
		weights         data.Array
		loss            float64
	}{
		{1, 2, data.Array{}, 2},
		{2, 1, data.Array{}, 2},
		{2, 0, data.Array{}, 2},
		{2, 1, data.Array{Shape: []int{2}, F32: []float32{3, 4}}, 7},
		{2, 1, data.Array{Shape: []int{2, 3}, F32: []float32{1, 2, 3, 4, 5, 6}}, 21},
	} {
		b := data.Batch{Inputs: slices.Repeat([]data.Array{a}, c.inputs), Targets: slices.Repeat([]data.Array{a}, c.targets), Weights: c.weights, Origins: make([]data.Origin, 2)}
		n = noted{}
		g, err := l.graph(b, 2, false)
		if err != nil {
			t.Fatal(err)
		}
		if n.inputs != 0 && (n.inputs != c.inputs || n.targets != c.targets) {
			t.Errorf("the graph has %d inputs and %d targets, the batch %d and %d", n.inputs, n.targets, c.inputs, c.targets)
		}
		if len(g.inputs) != c.inputs || len(g.targets) != c.targets {
			t.Errorf("the graph of another batch was taken: %d inputs and %d targets, want %d and %d", len(g.inputs), len(g.targets), c.inputs, c.targets)
		}
		if loss, err := g.run(b, 0); err != nil || loss != c.loss {
			t.Errorf("the sum of the weights is %g, want %g (%v)", loss, c.loss, err)
		}
	}
}

// perRow is a Loss that is no scalar.
type perRow struct{}

func (perRow) Apply(_ *nn.Scope, outputs, _ gorgonia.Nodes, _ *gorgonia.Node) *gorgonia.Node {
	return outputs[0]
}

func TestWhatCannotBeBuiltIsAnError(t *testing.T) {
	b := data.Batch{
		Inputs:  []data.Array{{Shape: []int{2, 2}, F32: make([]float32, 4)}},
		Targets: []data.Array{{Shape: []int{2}, I32: make([]int32, 2)}},
		Origins: make([]data.Origin, 2),
	}
	mlp := models.MLP(nil, 3)
	for _, c := range []struct {
		name  string
		model nn.Model
		loss  nn.Loss
		want  string
	}{
		{"model", nn.Single(nn.Conv{Out: 1, Kernel: 3}), nn.CrossEntropy{}, "the input has shape"},
		{"loss", mlp, nn.CrossEntropy{Smoothing: 2}, "smoothing"},
		{"loss a row", mlp, perRow{}, "the loss is float32 of shape (2, 3), want one float32"},
	} {
		for _, training := range []bool{true, false} {
			l := &Learner{Model: c.model, Task: Task{Loss: c.loss}}
			if _, err := l.graph(b, 2, training); err == nil || !strings.HasPrefix(err.Error(), "building the graph: ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, training %v: %v, want an error with %q", c.name, training, err, c.want)
			}
		}
	}
}
