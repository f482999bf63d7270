package train_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/models"
	"github.com/reprise-ml/reprise/nn"
	"github.com/reprise-ml/reprise/train"
)

// padded is b in batches of a size, the last one padded by data.Padded.
func padded(b data.Batch, size int) data.Seq[data.Batch] {
	numbers := func(yield func(int, error) bool) {
		for i := range b.Origins {
			if !yield(i, nil) {
				return
			}
		}
	}
	return data.Padded(numbers, size, func(group []int) (data.Batch, error) { return rows(b, group...), nil })
}

// surprise is the cross-entropy of a row of logits, by its definition.
func surprise(logits []float32, class int32) float64 {
	sum := 0.0
	for _, v := range logits {
		sum += math.Exp(float64(v))
	}
	return math.Log(sum) - float64(logits[class])
}

func TestEvaluationIsTheMeanOverExamplesForAnyBatchSize(t *testing.T) {
	const n = 11
	l := perceptron()
	learn(t, l, 2, points(16, 1))
	b := points(n, 2)
	for i := range b.Targets[0].I32[:4] { // so that some are wrong
		b.Targets[0].I32[i] = (b.Targets[0].I32[i] + 1) % 3
	}
	loss, wrong := 0.0, 0.0
	for i := range n {
		row := rows(b, i)
		_, err := l.Evaluate(t.Context(), batches(row), func(outputs []*tensor.Dense, b data.Batch) {
			logits := outputs[0].Float32s()
			loss += surprise(logits, b.Targets[0].I32[0]) / n
			if logits[b.Targets[0].I32[0]] < max(logits[0], logits[1], logits[2]) {
				wrong += 1. / n
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if wrong == 0 || wrong == 1 {
		t.Fatalf("the error is %g: the test tests nothing", wrong)
	}
	for _, size := range []int{1, 2, 3, 4, 5, 10, 11, 12, 64} {
		e, err := l.Evaluate(t.Context(), padded(b, size), nil)
		if err != nil || e.Examples != n || math.Abs(e.Loss-loss) > 1e-6 || math.Abs(e.Metrics["error"]-wrong) > 1e-12 || len(e.Metrics) != 1 {
			t.Errorf("in batches of %d: %+v, %v, want a loss of %g and an error of %g", size, e, err, loss, wrong)
		}
	}
}

func TestEvaluationCountsRowsByTheirWeight(t *testing.T) {
	l := perceptron()
	learn(t, l, 2, points(16, 1))
	b := points(4, 3)
	b.Targets[0].I32[2] = (b.Targets[0].I32[2] + 1) % 3
	once, err := l.Evaluate(t.Context(), batches(rows(b, 0, 1, 2, 2, 2, 3)), nil)
	if err != nil {
		t.Fatal(err)
	}
	thrice, err := l.Evaluate(t.Context(), batches(weighted(b, 1, 1, 3, 1)), nil)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(once.Loss-thrice.Loss) > 1e-6 || math.Abs(once.Metrics["error"]-thrice.Metrics["error"]) > 1e-12 || thrice.Examples != 4 {
		t.Errorf("a row three times: %+v, of weight three: %+v", once, thrice)
	}
}

// mean is a Loss: the weighted mean of what the model puts out for each of two
// tokens a row.
type mean struct{}

func (mean) Apply(_ *nn.Scope, outputs, _ gorgonia.Nodes, weights *gorgonia.Node) *gorgonia.Node {
	weighted := gorgonia.Must(gorgonia.HadamardProd(outputs[0], weights))
	return gorgonia.Must(gorgonia.Div(gorgonia.Must(gorgonia.Sum(weighted)), gorgonia.Must(gorgonia.Sum(weights))))
}

func TestEvaluationCountsRowsOfTokensByTheWeightOfTheirTokens(t *testing.T) {
	values := data.Array{Shape: []int{3, 2}, F32: []float32{1, 2, 3, 4, 5, 6}}
	b := data.Batch{Inputs: []data.Array{values}, Origins: make([]data.Origin, 3)}
	b.Weights = data.Array{Shape: []int{3, 2}, F32: []float32{1, 1, 1, 0, 0, 0}} // three tokens count, and two rows
	l := &train.Learner{Model: nn.Single(nn.ReLU{}), Task: train.Task{Loss: mean{}, Metrics: []train.Metric{
		{Name: "row", Value: func(_ []*tensor.Dense, _ data.Batch, row int) float64 { return float64(row) }},
	}}}
	e, err := l.Evaluate(t.Context(), batches(b), nil)
	if err != nil || e.Examples != 2 || e.Loss != 2 || math.Abs(e.Metrics["row"]-1./3) > 1e-12 {
		t.Errorf("%+v, %v, want 2 examples, a loss of 2 and a mean row of 1/3", e, err)
	}
}

// told is a batch of two tokens a row, each of class 1 of 2, with the losses given.
func told(losses ...float64) data.Batch {
	rows := len(losses) / 2
	x := data.Array{Shape: []int{rows, 2, 2}}
	y := data.Array{Shape: []int{rows, 2}}
	for _, v := range losses {
		x.F32 = append(x.F32, float32(math.Log(math.Exp(v)-1)), 0)
		y.I32 = append(y.I32, 1)
	}
	return data.Batch{Inputs: []data.Array{x}, Targets: []data.Array{y}, Origins: make([]data.Origin, rows)}
}

func TestThePlacesOfTokensWeighAsTheirRowsDoWhereTheyHaveNoWeights(t *testing.T) {
	for _, c := range []struct {
		weights          data.Array
		examples, places int
		loss             float64
	}{
		{data.Array{}, 3, 6, 3.5},
		{data.Array{Shape: []int{3}, F32: []float32{1, 0, 1}}, 2, 4, 3.5},
		{data.Array{Shape: []int{3}, F32: []float32{3, 1, 0}}, 2, 4, 2},
		{data.Array{Shape: []int{3, 2}, F32: []float32{1, 1, 1, 0, 0, 0}}, 2, 3, 2},
	} {
		l := &train.Learner{Model: nn.Single(nn.ReLU{}), Task: train.LanguageModelling(0.5)} // smoothing, which evaluation leaves out
		b := told(1, 2, 3, 4, 5, 6)
		b.Weights = c.weights
		e, err := l.Evaluate(t.Context(), batches(b), nil)
		if err != nil || e.Examples != c.examples || e.Places != c.places || math.Abs(e.Loss-c.loss) > 1e-6 || len(e.Metrics) != 0 {
			t.Errorf("weights %+v: %+v, %v, want %d examples, %d places and a loss of %g", c.weights, e, err, c.examples, c.places, c.loss)
		}
	}
}

func TestTheLossOfBatchesOfTokensIsThatOfAllTheirTokens(t *testing.T) {
	l := &train.Learner{Model: nn.Single(nn.ReLU{}), Task: train.LanguageModelling(0)}
	last := told(6, 9)
	last.Weights = data.Array{Shape: []int{1, 2}, F32: []float32{1, 0}}
	e, err := l.Evaluate(t.Context(), batches(told(1, 1, 1, 1), last), nil)
	if err != nil || e.Places != 5 || math.Abs(e.Loss-2) > 1e-6 {
		t.Errorf("%+v, %v, want the mean 2 of 5 tokens", e, err)
	}
}

func TestEachSeesEveryBatchWithItsOutputs(t *testing.T) {
	l := perceptron()
	b := points(7, 1)
	real, all := 0, 0
	e, err := l.Evaluate(t.Context(), padded(b, 3), func(outputs []*tensor.Dense, seen data.Batch) {
		if len(outputs) != 1 || outputs[0].Shape()[0] != 3 || outputs[0].Shape()[1] != 3 {
			t.Fatalf("outputs of shape %v", outputs[0].Shape())
		}
		for row := range seen.Origins {
			all++
			if seen.Weights.F32[row] == 0 {
				continue
			}
			if seen.Origins[row].Index != real || seen.Targets[0].I32[row] != b.Targets[0].I32[real] {
				t.Errorf("row %d is that of record %d", real, seen.Origins[row].Index)
			}
			real++
		}
	})
	if err != nil || real != 7 || all != 9 || e.Examples != 7 {
		t.Errorf("%d rows of %d seen, %d examples, %v", real, all, e.Examples, err)
	}
}

func TestEvaluationChangesNothing(t *testing.T) {
	b := images(4, 1)
	l, twin := residual(t), residual(t)
	learn(t, l, 2, b)
	learn(t, twin, 2, b)
	before := l.Params.Export()
	first, err := l.Evaluate(t.Context(), padded(images(5, 2), 3), nil)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "after evaluation", l.Params.Export(), before)
	again, err := l.Evaluate(t.Context(), padded(images(5, 2), 3), nil)
	if err != nil || again.Loss != first.Loss {
		t.Errorf("a second evaluation finds a loss of %g, the first %g (%v)", again.Loss, first.Loss, err)
	}
	learn(t, l, 2, b)
	learn(t, twin, 2, b)
	same(t, "after the steps that follow", l.Params.Export(), twin.Params.Export())
}

func TestEvaluationFails(t *testing.T) {
	broken := errors.New("broken")
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	b := points(4, 1)
	wide := points(4, 1)
	wide.Inputs = []data.Array{{Shape: []int{4, 1}, F32: make([]float32, 4)}}
	for _, c := range []struct {
		name    string
		ctx     context.Context
		batches data.Seq[data.Batch]
		want    string
	}{
		{"without batches", t.Context(), batches(), "train: nothing to evaluate on"},
		{"without weight", t.Context(), batches(weighted(b, 0, 0, 0, 0)), "train: nothing to evaluate on"},
		{"where batches fail", t.Context(), func(yield func(data.Batch, error) bool) {
			if yield(b, nil) {
				yield(data.Batch{}, broken)
			}
		}, "broken"},
		{"when cancelled", cancelled, batches(b, b), "context canceled"},
		{"when cancelled and the batches end by that", cancelled, batches(), "context canceled"},
		{"on inputs of another shape", t.Context(), batches(wide), "train: evaluation: building the graph: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := perceptron()
			if err := l.Prepare(b); err != nil {
				t.Fatal(err)
			}
			e, err := l.Evaluate(c.ctx, c.batches, nil)
			if err == nil || !strings.HasPrefix(err.Error(), c.want) || e.Examples != 0 || e.Metrics != nil {
				t.Errorf("%+v and %v, want the error %q", e, err, c.want)
			}
		})
	}
}

func TestALossThatIsNotFiniteIsFoundNotHidden(t *testing.T) {
	l := perceptron()
	b := points(4, 1)
	b.Inputs[0].F32[0] = float32(math.NaN())
	e, err := l.Evaluate(t.Context(), batches(b), nil)
	if err != nil || !math.IsNaN(e.Loss) {
		t.Errorf("%+v, %v, want a loss that is NaN", e, err)
	}
}

// What the model says of every example is seen on the way.
func ExampleLearner_Evaluate() {
	l := &train.Learner{Model: models.MLP(nil, 2), Task: train.Classification(0)}
	b := data.Batch{
		Inputs:  []data.Array{{Shape: []int{3, 1}, F32: []float32{-1, 2, 3}}},
		Targets: []data.Array{{Shape: []int{3}, I32: []int32{0, 1, 0}}},
		Weights: data.Array{Shape: []int{3}, F32: []float32{1, 1, 0}}, // the last row is padding
		Origins: make([]data.Origin, 3),
	}
	if err := l.Prepare(b); err != nil {
		fmt.Println(err)
		return
	}
	copy(l.Params.Lookup("1.weight").Value.Float32s(), []float32{-1, 1})
	copy(l.Params.Lookup("1.bias").Value.Float32s(), []float32{0, 0})

	e, err := l.Evaluate(context.Background(), batches(b), func(outputs []*tensor.Dense, b data.Batch) {
		for row := range b.Origins {
			fmt.Println("row", row, "is", b.Targets[0].I32[row], "and taken for", train.Predicted(outputs[0], row))
		}
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d examples, loss %.3f, error %.1f\n", e.Examples, e.Loss, e.Metrics["error"])
	// Output:
	// row 0 is 0 and taken for 0
	// row 1 is 1 and taken for 1
	// row 2 is 0 and taken for 1
	// 2 examples, loss 0.073, error 0.0
}
