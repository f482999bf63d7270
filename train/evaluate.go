package train

import (
	"context"
	"errors"
	"fmt"

	"gorgonia.org/tensor"

	"github.com/reprise-ml/reprise/data"
)

// Evaluation is the outcome of going through a data set once.
type Evaluation struct {
	Examples int
	Places   int                // of the loss, which is their mean: one an example, of text its tokens
	Loss     float64            // mean over the places
	Metrics  map[string]float64 // by name, mean over the examples
}

// Evaluate measures the model on batches that end by themselves, such as
// those of [data.Padded]. Rows of weight 0 do not count, and others count by
// their weight. each, where it is not nil, sees the outputs of every batch.
func (l *Learner) Evaluate(ctx context.Context, batches data.Seq[data.Batch], each func(outputs []*tensor.Dense, b data.Batch)) (Evaluation, error) {
	e := Evaluation{Metrics: map[string]float64{}}
	total := 0.0
	for b, err := range batches {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return Evaluation{}, err
		}
		g, err := l.graph(b, len(b.Origins), false)
		if err != nil {
			return Evaluation{}, fmt.Errorf("train: evaluation: %w", err)
		}
		loss, err := g.run(b, 0)
		if err != nil {
			return Evaluation{}, fmt.Errorf("train: evaluation: %w", err)
		}
		share := weightOf(b, 0, len(b.Origins))
		e.Loss += share * loss
		total += share
		for row := range b.Origins {
			w := weightOf(b, row, row+1)
			if w == 0 {
				continue
			}
			e.Examples++
			e.Places += counted(b, row)
			for _, m := range l.Task.Metrics {
				e.Metrics[m.Name] += w * m.Value(g.outputs, b, row)
			}
		}
		if each != nil {
			each(g.outputs, b)
		}
		b.Release()
	}
	if err := ctx.Err(); err != nil { // the batches may have ended by it
		return Evaluation{}, err
	}
	if total == 0 {
		return Evaluation{}, errors.New("train: nothing to evaluate on")
	}
	e.Loss /= total
	for name := range e.Metrics {
		e.Metrics[name] /= total
	}
	return e, nil
}
