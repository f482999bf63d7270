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
	"github.com/reprise-ml/reprise/train/report"
)

// Evaluated is the outcome of weights on one part of the data.
type Evaluated struct {
	Part     string `json:"part"`  // validation or test
	Split    string `json:"split"` // as the Spec names it
	Examples int    `json:"examples"`
	Tokens   int    `json:"tokens,omitempty"` // of text: those that the loss is the mean of
	report.Scores
	Classes []ClassError `json:"classes,omitempty"` // absent for text
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
		e, err := r.measured(ctx, part.src)
		if err != nil {
			return nil, fmt.Errorf("evaluating on data.%s: %w", part.name, err)
		}
		e.Part, e.Split = part.name, part.split
		out = append(out, e)
	}
	return out, nil
}

// measured evaluates the weights on src.
func (r *Run) measured(ctx context.Context, src data.Source) (Evaluated, error) {
	taken := confusion(len(r.data.Classes))
	count := taken.count
	if r.shape.Text() {
		count = nil
	}
	e, err := r.learner.Evaluate(ctx, r.Spec.Once(ctx, src, r.Spec.bearing(src)), count)
	if err != nil {
		return Evaluated{}, err
	}
	if math.IsNaN(e.Loss) || math.IsInf(e.Loss, 0) {
		return Evaluated{}, fmt.Errorf("the loss is %g: the weights are no good", e.Loss)
	}
	out := Evaluated{Examples: e.Examples, Scores: r.scores(e)}
	if r.shape.Text() {
		out.Tokens = e.Places
	} else {
		out.Classes = taken.errors(r.data.Classes)
	}
	return out, nil
}

// taken counts the examples of each class by the class predicted.
type taken [][]int

func confusion(classes int) taken {
	t := make(taken, classes)
	for c := range t {
		t[c] = make([]int, classes)
	}
	return t
}

func (t taken) count(outputs []*tensor.Dense, b data.Batch) {
	for row, class := range b.Targets[0].I32 {
		if b.Weights.F32[row] > 0 {
			t[class][train.Predicted(outputs[0], row)]++
		}
	}
}

func (t taken) errors(names []string) []ClassError {
	out := make([]ClassError, len(t))
	for c, row := range t {
		ce := ClassError{Class: names[c]}
		worst := 0
		for predicted, n := range row {
			ce.Examples += n
			if predicted != c && n > worst {
				worst, ce.Mistaken = n, names[predicted]
			}
		}
		if ce.Examples > 0 {
			ce.Error = 1 - float64(row[c])/float64(ce.Examples)
		}
		out[c] = ce
	}
	return out
}
