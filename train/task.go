package train

import (
	"gorgonia.org/tensor"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/nn"
)

// Task says what the outputs of a model are for: the loss that training
// lowers, and what else evaluation measures.
type Task struct {
	Loss    nn.Loss
	Metrics []Metric
}

// Metric is a mean over examples, such as the share of wrong classes.
type Metric struct {
	Name string
	// Value of one row of a batch, given the outputs of the model.
	Value func(outputs []*tensor.Dense, b data.Batch, row int) float64
}

// Classification is the task of telling classes apart: cross-entropy, with
// label smoothing from 0 up to 1, and the error.
func Classification(smoothing float64) Task {
	return Task{nn.CrossEntropy{Smoothing: smoothing}, []Metric{ErrorRate()}}
}

// LanguageModelling is the task of telling the next token at every place of a
// text: cross-entropy, with label smoothing from 0 up to 1. Its loss is the
// mean over tokens, in nats.
func LanguageModelling(smoothing float64) Task {
	return Task{Loss: nn.CrossEntropy{Smoothing: smoothing}}
}

// ErrorName is the name of the metric ErrorRate.
const ErrorName = "error"

// ErrorRate is the share of rows whose largest logit is not at their class,
// or, of soft targets, at the class of most weight.
func ErrorRate() Metric {
	return Metric{ErrorName, func(outputs []*tensor.Dense, b data.Batch, row int) float64 {
		if Predicted(outputs[0], row) == classOf(b.Targets[0], row) {
			return 0
		}
		return 1
	}}
}

// classOf is the class of a row, int32 [N], or the one of most weight,
// float32 [N,K], the first of equals.
func classOf(t data.Array, row int) int {
	if t.I32 != nil {
		return int(t.I32[row])
	}
	k := t.Shape[1]
	return largest(t.F32[row*k : (row+1)*k])
}

// Predicted is the place of the largest of a row of logits [N,K], the first
// of equals.
func Predicted(logits *tensor.Dense, row int) int {
	k := logits.Shape()[1]
	return largest(logits.Float32s()[row*k : (row+1)*k])
}

// largest is the place of the largest of x, the first of equals.
func largest(x []float32) int {
	best := 0
	for i, v := range x {
		if v > x[best] {
			best = i
		}
	}
	return best
}
