package train

import (
	"fmt"
	"math"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/nn"
)

// Optimizer updates weights in place by their gradients, at the rate set
// last. The optimizers of package optim are such.
type Optimizer interface {
	gorgonia.Solver
	SetRate(rate float64)
}

// Learner trains and evaluates a model. Its fields must not change after the
// first step.
type Learner struct {
	Model     nn.Model
	Task      Task
	Optimizer Optimizer
	Rate      func(at Progress) float64                                    // learning rate; nil leaves the optimizer's
	Clip      func(weights []gorgonia.ValueGrad) (norm float64, err error) // measures and bounds the gradient; nil neither

	// Accumulate is the number of equal parts a batch is computed in, one
	// after the other, for less memory; 0 means 1. The loss stays Σ w·l / Σ w
	// of the whole batch.
	Accumulate int
	Build      nn.Config // seed of weights and dropout, and threads; Train is set by the Learner
	Params     nn.Params // weights and running statistics; filled by the first graph

	graphs  []*graph // by mode and shape
	weights []gorgonia.ValueGrad
	sums    [][]float32 // gradients of the parts so far
	running statistics  // before the step
}

// Diverged is the error of a step whose loss is not finite, or whose gradient
// is not, where Clip measures it. Weights and running statistics are those
// before the step.
type Diverged struct {
	Step int64 // the first step is 1
	What string
}

func (d Diverged) Error() string { return fmt.Sprintf("diverged at step %d: %s", d.Step, d.What) }

// Step implements [Stepper]. After an error, weights and running statistics are
// those before it.
func (l *Learner) Step(b data.Batch, at Progress) (stats Stats, err error) {
	parts, rows := max(l.Accumulate, 1), len(b.Origins)
	g, err := l.training(b)
	if err != nil {
		return Stats{}, err
	}
	l.running.keep(&l.Params)
	defer func() {
		if err != nil {
			l.running.restore(&l.Params)
		}
	}()
	for part := range parts {
		from, to := part*rows/parts, (part+1)*rows/parts
		g.scope.Ticker().Tick = uint64(at.Steps)*uint64(parts) + uint64(part)
		loss, err := g.run(b, from)
		if err != nil {
			return Stats{}, err
		}
		if math.IsNaN(loss) || math.IsInf(loss, 0) {
			return Stats{}, Diverged{at.Steps + 1, fmt.Sprintf("the loss is %g", loss)}
		}
		g.machine.Commit()
		share := 1.0
		if total := weightOf(b, 0, rows); parts > 1 && total > 0 {
			share = weightOf(b, from, to) / total
		}
		stats.Loss += share * loss
		stats.Correct += correct(g.outputs, b, from)
		l.gather(g, part, parts, float32(share))
	}
	if l.Clip != nil {
		norm, err := l.Clip(l.weights)
		if err != nil {
			return Stats{}, err
		}
		if stats.GradNorm = norm; math.IsNaN(norm) || math.IsInf(norm, 0) {
			return Stats{}, Diverged{at.Steps + 1, fmt.Sprintf("the norm of the gradient is %g", norm)}
		}
	}
	if l.Rate != nil {
		stats.Rate = l.Rate(at)
		l.Optimizer.SetRate(stats.Rate)
	}
	return stats, l.Optimizer.Step(l.weights)
}

// training returns the graph for a part of b.
func (l *Learner) training(b data.Batch) (*graph, error) {
	parts, rows := max(l.Accumulate, 1), len(b.Origins)
	if rows%parts != 0 {
		return nil, fmt.Errorf("a batch of %d rows cannot be computed in %d equal parts", rows, parts)
	}
	return l.graph(b, rows/parts, true)
}

// gather makes l.weights hold the gradient of the parts so far.
func (l *Learner) gather(g *graph, part, parts int, share float32) {
	if parts == 1 {
		l.weights = g.weights
		return
	}
	if l.sums == nil {
		l.weights = make([]gorgonia.ValueGrad, len(g.weights))
		l.sums = make([][]float32, len(g.weights))
		for i, w := range g.weights {
			w := *w.(*weight)
			l.sums[i] = make([]float32, len(w.grad.Float32s()))
			w.grad = tensor.New(tensor.WithShape(w.grad.Shape()...), tensor.WithBacking(l.sums[i]))
			l.weights[i] = &w
		}
	}
	for i, sum := range l.sums {
		if part == 0 {
			clear(sum)
		}
		for j, v := range g.weights[i].(*weight).grad.Float32s() {
			sum[j] += share * v
		}
	}
}

// weightOf is Σ w over the places of the loss in the rows of b from one up to
// another.
func weightOf(b data.Batch, from, to int) float64 {
	w := b.Weights.F32
	if w == nil {
		return float64((to - from) * places(b))
	}
	each := len(w) / len(b.Origins)
	sum := 0.0
	for _, v := range w[from*each : to*each] {
		sum += float64(v)
	}
	return sum * float64(places(b)/each)
}

// places is the number of losses in a row of b: as many as it has weights in
// two dimensions, one a token where its targets are tokens, int32 [N,T], and
// else one.
func places(b data.Batch) int {
	if len(b.Weights.Shape) == 2 {
		return b.Weights.Shape[1]
	}
	if len(b.Targets) == 1 && b.Targets[0].I32 != nil && len(b.Targets[0].Shape) == 2 {
		return b.Targets[0].Shape[1]
	}
	return 1
}

// counted is the number of places in a row of b whose weight is not 0.
func counted(b data.Batch, row int) int {
	n := places(b)
	if each := len(b.Weights.F32) / len(b.Origins); each == n {
		n = 0
		for _, w := range b.Weights.F32[row*each : (row+1)*each] {
			if w != 0 {
				n++
			}
		}
	}
	return n
}

// classes reports whether the target of b is a class for each row, or soft: a
// weight for each class.
func classes(b data.Batch) bool {
	if len(b.Targets) != 1 {
		return false
	}
	t := b.Targets[0]
	return t.I32 != nil && len(t.Shape) == 1 || t.F32 != nil && len(t.Shape) == 2
}

// correct counts the rows of weight above 0 that are classified rightly, of
// outputs for the rows of b from one on. The right class of a soft target is
// that of most weight.
func correct(outputs []*tensor.Dense, b data.Batch, from int) int {
	if !classes(b) || outputs[0].Dims() != 2 {
		return 0
	}
	n := 0
	for row := range outputs[0].Shape()[0] {
		if weightOf(b, from+row, from+row+1) > 0 && Predicted(outputs[0], row) == classOf(b.Targets[0], from+row) {
			n++
		}
	}
	return n
}

// Prepare builds the training graph for batches like b, and with it the
// parameters.
func (l *Learner) Prepare(b data.Batch) error {
	if _, err := l.training(b); err != nil {
		return fmt.Errorf("train: %w", err)
	}
	return nil
}

// PrepareEvaluation builds the graph for evaluating batches like b, which
// Evaluate would build.
func (l *Learner) PrepareEvaluation(b data.Batch) error {
	if _, err := l.graph(b, len(b.Origins), false); err != nil {
		return fmt.Errorf("train: evaluation: %w", err)
	}
	return nil
}
