package train

import (
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/internal/exec"
	"github.com/reprise-ml/reprise/nn"
)

// graph is the model for batches of one shape, compiled for training or for
// evaluation.
type graph struct {
	scope           *nn.Scope
	inputs, targets []*tensor.Dense
	rowWeights      *tensor.Dense
	loss            *gorgonia.Node
	out             gorgonia.Nodes
	outputs         []*tensor.Dense // of the last run
	machine         *exec.Machine
	weights         []gorgonia.ValueGrad // of a training graph
}

// graph returns the graph for so many rows of batches like b, built at first
// use. There are few: one for training, one or two for evaluation.
func (l *Learner) graph(b data.Batch, rows int, training bool) (*graph, error) {
	for _, g := range l.graphs {
		if g.scope.Train() == training && g.fits(b, rows) {
			return g, nil
		}
	}
	g, err := l.newGraph(b, rows, training)
	if err != nil {
		return nil, fmt.Errorf("building the graph: %w", err)
	}
	l.graphs = append(l.graphs, g)
	return g, nil
}

// fits reports whether g is for so many rows of batches like b.
func (g *graph) fits(b data.Batch, rows int) bool {
	all := func(tensors []*tensor.Dense, arrays []data.Array) bool {
		if len(tensors) != len(arrays) {
			return false
		}
		for i, a := range arrays {
			if !fits(tensors[i], a, rows) {
				return false
			}
		}
		return true
	}
	if !all(g.inputs, b.Inputs) || !all(g.targets, b.Targets) {
		return false
	}
	if b.Weights.F32 == nil {
		return g.rowWeights.Dims() == 1 && g.rowWeights.Shape()[0] == rows
	}
	return fits(g.rowWeights, b.Weights, rows)
}

// fits reports whether t is for so many rows of arrays like a.
func fits(t *tensor.Dense, a data.Array, rows int) bool {
	s := t.Shape()
	return len(s) == len(a.Shape) && s[0] == rows && slices.Equal([]int(s[1:]), a.Shape[1:]) && (t.Dtype() == tensor.Int32) == (a.I32 != nil)
}

func (l *Learner) newGraph(b data.Batch, rows int, training bool) (*graph, error) {
	build := l.Build
	build.Train = training
	g := &graph{scope: nn.NewScope(&l.Params, build)}
	inputs := g.nodes("input", b.Inputs, rows, &g.inputs)
	targets := g.nodes("target", b.Targets, rows, &g.targets)
	of := b.Weights
	if of.F32 == nil {
		of.Shape = []int{rows}
	}
	var weights []*tensor.Dense
	weightNode := g.nodes("weights", []data.Array{of}, rows, &weights)[0]
	g.rowWeights = weights[0]

	g.out = l.Model.Apply(g.scope, inputs)
	if err := g.scope.Err(); err != nil {
		return nil, err
	}
	g.loss = l.Task.Loss.Apply(g.scope, g.out, targets, weightNode)
	if err := g.scope.Err(); err != nil {
		return nil, err
	}
	if !g.loss.IsScalar() || g.loss.Dtype() != tensor.Float32 {
		return nil, fmt.Errorf("the loss is %v of shape %v, want one float32", g.loss.Dtype(), g.loss.Shape())
	}
	keep := gorgonia.Nodes{g.loss}
	if training && !classes(b) {
		g.out = nil // nobody asks for them, and the logits of a language model are large
	}
	keep = append(keep, g.out...)
	var grads gorgonia.Nodes
	if training {
		var err error
		if grads, err = gorgonia.Grad(g.loss, g.scope.Weights()...); err != nil {
			return nil, fmt.Errorf("gradients: %w", err)
		}
	}
	var err error
	if g.machine, err = g.scope.Compile(append(keep, grads...)...); err != nil {
		return nil, err
	}
	g.outputs = make([]*tensor.Dense, len(g.out))
	g.weights = make([]gorgonia.ValueGrad, len(grads))
	for i, n := range grads {
		name := g.scope.Weights()[i].Name()
		p := l.Params.Lookup(name)
		if p == nil {
			return nil, fmt.Errorf("the weight %s has no parameter", name)
		}
		g.weights[i] = &weight{param: p, node: n}
	}
	return g, nil
}

// nodes makes an input node for so many rows of each array, bound to memory of
// its own.
func (g *graph) nodes(name string, arrays []data.Array, rows int, memory *[]*tensor.Dense) gorgonia.Nodes {
	nodes := make(gorgonia.Nodes, len(arrays))
	for i, a := range arrays {
		dtype := tensor.Float32
		if a.I32 != nil {
			dtype = tensor.Int32
		}
		shape := slices.Clone(a.Shape)
		shape[0] = rows
		t := tensor.New(tensor.Of(dtype), tensor.WithShape(shape...))
		nodes[i] = gorgonia.NewTensor(g.scope.Graph(), dtype, len(shape),
			gorgonia.WithShape(shape...), gorgonia.WithName(fmt.Sprintf("%s%d", name, i)), gorgonia.WithValue(t))
		*memory = append(*memory, t)
	}
	return nodes
}

// run computes the loss, the outputs and, in training, the gradients of the
// rows of b from one on, as many as g is for.
func (g *graph) run(b data.Batch, from int) (loss float64, err error) {
	for i, a := range b.Inputs {
		fill(g.inputs[i], a, from)
	}
	for i, a := range b.Targets {
		fill(g.targets[i], a, from)
	}
	if b.Weights.F32 != nil {
		fill(g.rowWeights, b.Weights, from)
	} else {
		w := g.rowWeights.Float32s()
		for i := range w {
			w[i] = 1
		}
	}
	if err := g.machine.RunAll(); err != nil {
		return 0, err
	}
	for i, n := range g.out {
		g.outputs[i] = g.machine.Value(n).(*tensor.Dense)
	}
	for _, w := range g.weights {
		w := w.(*weight)
		w.grad = g.machine.Value(w.node).(*tensor.Dense)
	}
	return float64(*g.machine.Value(g.loss).(*gorgonia.F32)), nil
}

// fill copies to t the rows of a from one on.
func fill(t *tensor.Dense, a data.Array, from int) {
	if a.I32 != nil {
		copy(t.Int32s(), a.I32[from*(len(a.I32)/a.Shape[0]):])
		return
	}
	copy(t.Float32s(), a.F32[from*(len(a.F32)/a.Shape[0]):])
}

// weight is a parameter with its gradient, as optimizers take it.
type weight struct {
	param *nn.Param
	node  *gorgonia.Node // of the gradient
	grad  *tensor.Dense
}

func (w *weight) Value() gorgonia.Value         { return w.param.Value }
func (w *weight) Grad() (gorgonia.Value, error) { return w.grad, nil }
func (w *weight) Name() string                  { return w.param.Name }
func (w *weight) Decay() bool                   { return w.param.Decay }
