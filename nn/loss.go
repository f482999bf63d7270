package nn

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/reprise-ml/reprise/nn/op"
)

// CrossEntropy is the cross entropy of the softmax of one output, logits of shape [rows, classes],
// with one target: the class of every row, int32 [rows], or the share of every class, float32 [rows,
// classes]. The loss is Σ weight·loss / Σ weight over the rows, and 0 if all weights are 0.
//
// Of a sequence it is the loss of every token: logits [rows, tokens, classes], target int32 [rows, tokens] or float32 like the logits, weights [rows,
// tokens], or [rows] for all tokens alike. A training graph then makes no use of the logits, if they come from a [Linear] without bias, and
// computes loss and gradients by blocks of tokens.
type CrossEntropy struct {
	// Smoothing is the share of every target that is spread over all classes, in [0, 1], as
	// PyTorch's label_smoothing. An evaluation graph leaves it out, so that losses of evaluations
	// can be compared.
	Smoothing float64
}

// Apply implements [Loss].
func (l CrossEntropy) Apply(s *Scope, outputs, targets gorgonia.Nodes, weights *gorgonia.Node) *gorgonia.Node {
	if s.Err() != nil {
		return nil
	}
	if len(outputs) != 1 || len(targets) != 1 {
		s.Fail(fmt.Errorf("cross entropy is of one output and one target, not of %d and %d", len(outputs), len(targets)))
		return nil
	}
	smoothing := l.Smoothing
	if !(smoothing >= 0 && smoothing <= 1) {
		s.Fail(fmt.Errorf("the label smoothing is %g, want 0 to 1", smoothing))
		return nil
	}
	if !s.Train() {
		smoothing = 0
	}
	if s.Train() && outputs[0].Dims() == 3 {
		n, err := op.LinearCrossEntropy(s.Pool(), outputs[0], targets[0], weights, float32(smoothing))
		if n != nil || err != nil {
			return s.Keep(n, err)
		}
	}
	return s.Keep(op.SoftmaxCrossEntropy(s.Pool(), outputs[0], targets[0], weights, float32(smoothing)))
}
