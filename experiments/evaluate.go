package experiments

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"gorgonia.org/tensor"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/nn/op"
	"github.com/reprise-ml/reprise/train"
)

// Evaluated is the outcome of weights on one part of the data.
type Evaluated struct {
	Part     string       `json:"part"`  // validation or test
	Split    string       `json:"split"` // as the Spec names it
	Examples int          `json:"examples"`
	Loss     float64      `json:"loss"`
	Error    float64      `json:"error"`
	Classes  []ClassError `json:"classes"`
}

// ClassError is the share of one class's examples that were taken for
// another.
type ClassError struct {
	Class    string  `json:"class"`
	Examples int     `json:"examples"`
	Error    float64 `json:"error"`
	Mistaken string  `json:"mistaken,omitempty"` // the class they were most often taken for
}

// LoadRun reads the Spec of a run directory, and the path of its best
// weights.
func (r Registry) LoadRun(dir string, sets ...string) (Spec, string, error) {
	s, err := r.LoadConfig(dir, sets...)
	if err != nil {
		return s, "", err
	}
	weights := filepath.Join(dir, BestWeights)
	if !exists(weights) {
		return s, "", fmt.Errorf("%s has no %s: the run ended before its first evaluation", dir, BestWeights)
	}
	return s, weights, nil
}

// EvaluateWeights measures weights on the validation data and, where there is
// any, the test data of s.
func (s Spec) EvaluateWeights(ctx context.Context, weights string) ([]Evaluated, error) {
	if _, err := os.Stat(weights); err != nil {
		return nil, fmt.Errorf("experiments: %w", err)
	}
	s.Train.Init = Path(strings.ReplaceAll(weights, "$", "$$"))
	r := Run{Spec: s}
	if err := r.open(ctx); err != nil {
		return nil, err
	}
	pool := op.NewPool(int(s.Train.ComputeThreads))
	defer pool.Close()
	if err := r.prepare(pool); err != nil {
		return nil, err
	}
	var out []Evaluated
	for _, part := range []struct {
		name, split string
		src         data.Source
	}{{"validation", r.Spec.Data.Validation, r.data.Validation}, {"test", r.Spec.Data.Test, r.data.Test}} {
		if part.src == nil {
			continue
		}
		e, err := r.byClass(ctx, part.src)
		if err != nil {
			return nil, fmt.Errorf("evaluating on data.%s: %w", part.name, err)
		}
		e.Part, e.Split = part.name, part.split
		out = append(out, e)
	}
	return out, nil
}

func (r *Run) byClass(ctx context.Context, src data.Source) (Evaluated, error) {
	k := len(r.data.Classes)
	taken := make([][]int, k) // [class][predicted]
	for c := range taken {
		taken[c] = make([]int, k)
	}
	count := func(outputs []*tensor.Dense, b data.Batch) {
		for row, class := range b.Targets[0].I32 {
			if b.Weights.F32[row] > 0 {
				taken[class][train.Predicted(outputs[0], row)]++
			}
		}
	}
	e, err := r.learner.Evaluate(ctx, r.Spec.Once(ctx, src, r.Spec.bearing(src)), count)
	if err != nil {
		return Evaluated{}, err
	}
	if math.IsNaN(e.Loss) || math.IsInf(e.Loss, 0) {
		return Evaluated{}, fmt.Errorf("the loss is %g: the weights are no good", e.Loss)
	}
	out := Evaluated{Examples: e.Examples, Loss: e.Loss, Error: e.Metrics[train.ErrorName], Classes: make([]ClassError, k)}
	for c, row := range taken {
		ce := ClassError{Class: r.data.Classes[c]}
		worst := 0
		for predicted, n := range row {
			ce.Examples += n
			if predicted != c && n > worst {
				worst, ce.Mistaken = n, r.data.Classes[predicted]
			}
		}
		if ce.Examples > 0 {
			ce.Error = 1 - float64(row[c])/float64(ce.Examples)
		}
		out.Classes[c] = ce
	}
	return out, nil
}
