package train_test

import (
	"fmt"
	"math"
	"testing"

	"gorgonia.org/tensor"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/nn"
	"github.com/reprise-ml/reprise/train"
)

func logits(rows, classes int, values ...float32) *tensor.Dense {
	return tensor.New(tensor.WithShape(rows, classes), tensor.WithBacking(values))
}

func TestPredictedIsTheFirstOfTheLargest(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, c := range []struct {
		row  []float32
		want int
	}{
		{[]float32{1, 2, 3}, 2},
		{[]float32{3, 2, 1}, 0},
		{[]float32{-3, -1, -2}, 1},
		{[]float32{0, 0, 0}, 0},
		{[]float32{1, 5, 5}, 1},
		{[]float32{-inf, -inf, -inf}, 0},
		{[]float32{1, inf, 2}, 1},
		{[]float32{1, nan, 2}, 2},
	} {
		x := logits(2, 3, append([]float32{9, 0, 9}, c.row...)...)
		if got := train.Predicted(x, 1); got != c.want {
			t.Errorf("of %v it is %d, want %d", c.row, got, c.want)
		}
	}
	if train.Predicted(logits(2, 1, 4, 5), 1) != 0 {
		t.Error("of one class it is not that one")
	}
}

func TestErrorRateIsOneWhereTheLargestLogitIsElsewhere(t *testing.T) {
	outputs := []*tensor.Dense{logits(3, 2, 0, 1, 1, 0, 2, 2)}
	b := data.Batch{Targets: []data.Array{{Shape: []int{3}, I32: []int32{1, 1, 1}}}}
	for row, want := range []float64{0, 1, 1} { // a tie goes to class 0
		if got := train.ErrorRate().Value(outputs, b, row); got != want {
			t.Errorf("row %d: %g, want %g", row, got, want)
		}
	}
}

func TestClassificationSmoothsItsLoss(t *testing.T) {
	task := train.Classification(0.1)
	if task.Loss != (nn.CrossEntropy{Smoothing: 0.1}) || len(task.Metrics) != 1 || task.Metrics[0].Name != "error" {
		t.Errorf("%+v", task)
	}
}

// A task measures what its metrics say. This one counts a row as right if its
// class is among the two largest logits.
func ExampleMetric() {
	topTwo := train.Metric{Name: "top_2_error", Value: func(outputs []*tensor.Dense, b data.Batch, row int) float64 {
		k := outputs[0].Shape()[1]
		x := outputs[0].Float32s()[row*k : (row+1)*k]
		larger := 0
		for _, v := range x {
			if v > x[b.Targets[0].I32[row]] {
				larger++
			}
		}
		if larger < 2 {
			return 0
		}
		return 1
	}}
	task := train.Classification(0)
	task.Metrics = append(task.Metrics, topTwo)

	outputs := []*tensor.Dense{logits(1, 3, 0.5, 2, 1)}
	b := data.Batch{Targets: []data.Array{{Shape: []int{1}, I32: []int32{2}}}}
	for _, m := range task.Metrics {
		fmt.Println(m.Name, m.Value(outputs, b, 0))
	}
	// Output:
	// error 1
	// top_2_error 0
}
