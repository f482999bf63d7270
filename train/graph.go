package train

import (
	"fmt"

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

// graph returns the graph for batches like b, built at first use.
func (l *Learner) graph(b data.Batch, training bool) (*graph, error) {
	key := fmt.Sprint(training)
	for _, a := range append(append([]data.Array{}, b.Inputs...), b.Targets...) {
		key += fmt.Sprint(a.Shape, a.I32 != nil)
	}
	if g, ok := l.graphs[key]; ok {
		return g, nil
	}
	g, err := l.newGraph(b, training)
	if err != nil {
		return nil, fmt.Errorf("building the graph: %w", err)
	}
	if l.graphs == nil {
		l.graphs = map[string]*graph{}
	}
	l.graphs[key] = g
	return g, nil
}

func (l *Learner) newGraph(b data.Batch, training bool) (*graph, error) {
	build := l.Build
	build.Train = training
	g := &graph{scope: nn.NewScope(&l.Params, build)}
	inputs := g.nodes("input", b.Inputs, &g.inputs)
	targets := g.nodes("target", b.Targets, &g.targets)
	rows := data.Array{Shape: []int{len(b.Origins)}}
	if b.Weights.F32 != nil {
		rows.Shape = b.Weights.Shape
	}
	var weights []*tensor.Dense
	weightNode := g.nodes("weights", []data.Array{rows}, &weights)[0]
	g.rowWeights = weights[0]

	g.out = l.Model.Apply(g.scope, inputs)
	if err := g.scope.Err(); err != nil {
		return nil, err
	}
	g.loss = l.Task.Loss.Apply(g.scope, g.out, targets, weightNode)
	if err := g.scope.Err(); err != nil {
		return nil, err
	}
	keep := append(gorgonia.Nodes{g.loss}, g.out...)
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

// nodes makes an input node for each array, bound to memory of its own.
func (g *graph) nodes(name string, arrays []data.Array, memory *[]*tensor.Dense) gorgonia.Nodes {
	nodes := make(gorgonia.Nodes, len(arrays))
	for i, a := range arrays {
		dtype := tensor.Float32
		if a.I32 != nil {
			dtype = tensor.Int32
		}
		t := tensor.New(tensor.Of(dtype), tensor.WithShape(a.Shape...))
		nodes[i] = gorgonia.NewTensor(g.scope.Graph(), dtype, len(a.Shape),
			gorgonia.WithShape(a.Shape...), gorgonia.WithName(fmt.Sprintf("%s%d", name, i)), gorgonia.WithValue(t))
		*memory = append(*memory, t)
	}
	return nodes
}

// run computes the loss, the outputs and, in training, the gradients of b.
func (g *graph) run(b data.Batch) (loss float64, err error) {
	for i, a := range b.Inputs {
		fill(g.inputs[i], a)
	}
	for i, a := range b.Targets {
		fill(g.targets[i], a)
	}
	if w := g.rowWeights.Float32s(); b.Weights.F32 != nil {
		copy(w, b.Weights.F32)
	} else {
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
	return float64(g.machine.Value(g.loss).Data().(float32)), nil
}

func fill(t *tensor.Dense, a data.Array) {
	if a.I32 != nil {
		copy(t.Int32s(), a.I32)
		return
	}
	copy(t.Float32s(), a.F32)
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
