package train_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/models"
	"github.com/reprise-ml/reprise/nn"
	"github.com/reprise-ml/reprise/nn/op"
	"github.com/reprise-ml/reprise/optim"
	"github.com/reprise-ml/reprise/train"
)

func TestAPerceptronLearnsToTellSeparatePointsApart(t *testing.T) {
	l := perceptron()
	b := points(64, 1)
	first := learn(t, l, 1, b)
	last := learn(t, l, 100, b)
	if first.Loss < 0.5 || last.Loss > 0.01 || last.Correct != 64 {
		t.Errorf("from a loss of %.3g to %.3g, %d of 64 right", first.Loss, last.Loss, last.Correct)
	}
	e, err := l.Evaluate(t.Context(), batches(points(200, 2)), nil)
	if err != nil || e.Metrics["error"] != 0 || e.Loss > 0.05 {
		t.Errorf("on other points %+v, %v", e, err)
	}
}

func TestTheLossOfAStepIsThatOfTheWeightsBeforeIt(t *testing.T) {
	l := perceptron()
	l.Optimizer = &optim.SGD{}
	l.Rate = func(at train.Progress) float64 { return 0.25 * float64(1+at.Steps) }
	l.Clip = measure
	b := points(8, 1)
	if err := l.Prepare(b); err != nil {
		t.Fatal(err)
	}
	e, err := l.Evaluate(t.Context(), batches(b), nil)
	if err != nil {
		t.Fatal(err)
	}
	before := l.Params.Export()
	stats, err := l.Step(b, train.Progress{Steps: 1})
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(stats.Loss-e.Loss) > 1e-6 || float64(stats.Correct) != 8*(1-e.Metrics["error"]) {
		t.Errorf("the step found %+v, evaluation before it %+v", stats, e)
	}
	if stats.Rate != 0.5 {
		t.Errorf("the rate is %g, want 0.5", stats.Rate)
	}
	moved := 0.0
	for i, w := range l.Params.Export() {
		for j, v := range w.Data {
			moved += math.Pow(float64(v-before[i].Data[j]), 2)
		}
	}
	if moved = math.Sqrt(moved); math.Abs(moved-stats.Rate*stats.GradNorm) > 1e-5*moved || moved == 0 {
		t.Errorf("the weights moved by %g, want rate %g · norm of the gradient %g", moved, stats.Rate, stats.GradNorm)
	}
}

func TestWithoutRateAndClipTheOptimizerIsLeftAlone(t *testing.T) {
	l := perceptron()
	sgd := &optim.SGD{}
	sgd.SetRate(0)
	l.Optimizer, l.Rate = sgd, nil
	b := points(8, 1)
	if err := l.Prepare(b); err != nil {
		t.Fatal(err)
	}
	before := l.Params.Export()
	if stats := learn(t, l, 3, b); stats.Rate != 0 || stats.GradNorm != 0 {
		t.Errorf("%+v", stats)
	}
	same(t, "at a rate of 0", l.Params.Export(), before)
}

func TestABatchIsNotWrittenTo(t *testing.T) {
	for _, parts := range []int{1, 2} {
		b := weighted(points(8, 1), 1, 1, 1, 0, 1, 2, 1, 1)
		copied := rows(b, 0, 1, 2, 3, 4, 5, 6, 7)
		l := perceptron()
		l.Accumulate = parts
		learn(t, l, 5, b)
		if _, err := l.Evaluate(t.Context(), batches(b), nil); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(b.Inputs[0].F32, copied.Inputs[0].F32) || !slices.Equal(b.Targets[0].I32, copied.Targets[0].I32) ||
			!slices.Equal(b.Weights.F32, copied.Weights.F32) || !slices.Equal(b.Origins, copied.Origins) {
			t.Errorf("computed in %d parts, the batch was changed", parts)
		}
	}
}

func TestABatchComputedInPartsGivesTheSameUpdate(t *testing.T) {
	b := points(12, 1)
	uneven := weighted(b, 1, 1, 0, 1, 3, 0.5, 0, 0, 0, 0, 2, 1)
	blank := weighted(b, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2) // of which half the parts count nothing
	for name, b := range map[string]data.Batch{"plain": b, "weighted": uneven, "half blank": blank} {
		step := func(parts int) (train.Stats, []nn.Tensor) {
			l := perceptron()
			l.Accumulate, l.Clip = parts, measure
			return learn(t, l, 3, b), l.Params.Export()
		}
		want, weights := step(1)
		for _, parts := range []int{2, 3, 6, 12} {
			got, w := step(parts)
			if math.Abs(got.Loss-want.Loss) > 1e-6 || math.Abs(got.GradNorm-want.GradNorm) > 1e-5 || got.Correct != want.Correct || got.Rate != want.Rate {
				t.Errorf("%s in %d parts: %+v, in one %+v", name, parts, got, want)
			}
			if d := furthest(t, w, weights); d > 1e-6 {
				t.Errorf("%s in %d parts: weights are %g from those of one part", name, parts, d)
			}
		}
	}
}

func TestABatchThatPartsDoNotDivideIsRefused(t *testing.T) {
	l := perceptron()
	l.Accumulate = 3
	const want = "a batch of 8 rows cannot be computed in 3 equal parts"
	if err := l.Prepare(points(8, 1)); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Prepare: %v", err)
	}
	if _, err := l.Step(points(8, 1), train.Progress{}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Step: %v", err)
	}
}

func TestABatchWithoutWeightChangesNothing(t *testing.T) {
	for _, parts := range []int{1, 2} {
		l := perceptron()
		l.Optimizer, l.Accumulate, l.Clip = &optim.SGD{}, parts, measure
		b := weighted(points(4, 1), 0, 0, 0, 0)
		if err := l.Prepare(b); err != nil {
			t.Fatal(err)
		}
		before := l.Params.Export()
		if stats := learn(t, l, 1, b); stats.Loss != 0 || stats.GradNorm != 0 || stats.Correct != 0 {
			t.Errorf("in %d parts: %+v", parts, stats)
		}
		same(t, "a batch without weight", l.Params.Export(), before)
	}
}

func TestRowsOfWeightZeroDoNotCount(t *testing.T) {
	b := points(6, 1)
	rest := rows(b, 0, 1, 3, 5)
	padded := weighted(rows(b, 0, 1, 2, 3, 4, 5), 1, 1, 0, 1, 0, 1)
	padded.Inputs[0].F32[4], padded.Inputs[0].F32[9] = 1e3, -1e3
	step := func(b data.Batch) (train.Stats, []nn.Tensor) {
		l := perceptron()
		return learn(t, l, 3, b), l.Params.Export()
	}
	got, w := step(padded)
	want, weights := step(rest)
	if math.Abs(got.Loss-want.Loss) > 1e-6 || got.Correct != want.Correct {
		t.Errorf("with rows of weight 0 %+v, without them %+v", got, want)
	}
	if d := furthest(t, w, weights); d > 1e-6 {
		t.Errorf("the weights differ by %g", d)
	}
}

func TestLabelSmoothingKeepsTheLossAboveItsBound(t *testing.T) {
	const smoothing = 0.3
	l := perceptron()
	l.Task = train.Classification(smoothing)
	last := learn(t, l, 300, points(32, 1))
	// the least cross-entropy with the smoothed target is the entropy of that
	hit, miss := 1-smoothing+smoothing/3, smoothing/3
	bound := -hit*math.Log(hit) - 2*miss*math.Log(miss)
	if last.Loss < bound-1e-5 || last.Loss > bound+0.01 || last.Correct != 32 {
		t.Errorf("the loss ends at %.4f, want a little above %.4f; %d of 32 right", last.Loss, bound, last.Correct)
	}
}

func TestSoftTargetsTrainToo(t *testing.T) {
	l := perceptron()
	b := points(16, 1)
	soft := data.Array{Shape: []int{16, 3}, F32: make([]float32, 48)}
	for row, class := range b.Targets[0].I32 {
		soft.F32[3*row+int(class)] = 1
	}
	classes := b.Targets
	b.Targets = []data.Array{soft}
	if last := learn(t, l, 100, b); last.Loss > 0.02 || last.Correct != 16 {
		t.Errorf("%+v, want a small loss and the classes of most weight counted as right", last)
	}
	b.Targets = classes
	if e, err := l.Evaluate(t.Context(), batches(b), nil); err != nil || e.Metrics["error"] != 0 {
		t.Errorf("%+v, %v", e, err)
	}
}

// explode is a Clip that finds no finite gradient.
func explode([]gorgonia.ValueGrad) (float64, error) { return math.Inf(1), nil }

func TestAStepThatDivergesLeavesNoTrace(t *testing.T) {
	good := images(4, 1)
	bad := images(4, 2)
	bad.Inputs[0].F32[len(bad.Inputs[0].F32)-1] = float32(math.NaN()) // in the last row
	broken := errors.New("broken")
	for _, c := range []struct {
		name  string
		b     data.Batch
		parts int
		clip  func([]gorgonia.ValueGrad) (float64, error)
		want  string
	}{
		{"loss", bad, 1, measure, "diverged at step 4: the loss is NaN"},
		{"loss of the last part", bad, 2, measure, "diverged at step 4: the loss is NaN"},
		{"gradient", good, 1, explode, "diverged at step 4: the norm of the gradient is +Inf"},
		{"gradient of parts", good, 2, explode, "diverged at step 4: the norm of the gradient is +Inf"},
		{"clipping", good, 2, func([]gorgonia.ValueGrad) (float64, error) { return 0, broken }, "broken"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, twin := residual(t), residual(t)
			l.Accumulate, twin.Accumulate = c.parts, c.parts
			clip := measure
			l.Clip = func(w []gorgonia.ValueGrad) (float64, error) { return clip(w) }
			learn(t, l, 3, good)
			learn(t, twin, 3, good)
			before := l.Params.Export()
			clip = c.clip
			stats, err := l.Step(c.b, train.Progress{Steps: 3})
			if err == nil || err.Error() != c.want || stats != (train.Stats{}) {
				t.Errorf("got %+v and %v, want the error %q", stats, err, c.want)
			}
			var d train.Diverged
			if errors.As(err, &d) != (c.want != "broken") || d.Step != 4 && c.want != "broken" {
				t.Errorf("the error is %#v", err)
			}
			same(t, "after a step that diverged", l.Params.Export(), before)

			// nothing else remembers it either
			clip = measure
			learn(t, l, 2, good)
			learn(t, twin, 2, good)
			same(t, "after the steps that follow", l.Params.Export(), twin.Params.Export())
		})
	}
}

func TestAnInfiniteGradientIsFoundWhereItIsMeasured(t *testing.T) {
	l := perceptron()
	l.Model, l.Clip = models.MLP([]int{1}, 3), measure
	b := rows(points(2, 1), 0)
	b.Inputs[0].F32[0], b.Inputs[0].F32[1], b.Targets[0].I32[0] = 1e38, 0, 1
	if err := l.Prepare(b); err != nil {
		t.Fatal(err)
	}
	for p := range l.Params.All() {
		clear(p.Value.Float32s())
	}
	l.Params.Lookup("1.weight").Value.Float32s()[0] = 1e-37 // 10 after it
	l.Params.Lookup("3.weight").Value.Float32s()[0] = 10    // logits 100, 0, 0; the gradient of 1.weight is 1e39
	before := l.Params.Export()
	_, err := l.Step(b, train.Progress{Steps: 4})
	var d train.Diverged
	if !errors.As(err, &d) || d.Error() != "diverged at step 5: the norm of the gradient is +Inf" {
		t.Errorf("the error is %v", err)
	}
	same(t, "after it", l.Params.Export(), before)
}

func TestPrepareMakesTheParametersAndNothingElse(t *testing.T) {
	l, twin := residual(t), residual(t)
	b := images(4, 1)
	if l.Params.Count() != 0 {
		t.Fatal("there are parameters already")
	}
	if err := l.Prepare(b); err != nil {
		t.Fatal(err)
	}
	if n := l.Params.Count(); n < 70_000 || n > 80_000 || l.Params.Lookup("layer3.0.bn2.running_var") == nil {
		t.Errorf("ResNet-8 has %d parameters", n)
	}
	learn(t, l, 2, b)
	learn(t, twin, 2, b)
	same(t, "with and without Prepare", l.Params.Export(), twin.Params.Export())
}

func TestOneSeedGivesOneResultOnAnyNumberOfThreads(t *testing.T) {
	b := images(6, 1)
	end := func(seed uint64, threads, parts int) []nn.Tensor {
		l := residual(t)
		m, err := models.ResNetCIFAR(8, 2)
		if err != nil {
			t.Fatal(err)
		}
		l.Model = dropped{m}
		l.Accumulate, l.Build.Seed = parts, seed
		if threads > 1 {
			l.Build.Pool = op.NewPool(threads)
			defer l.Build.Pool.Close()
		}
		learn(t, l, 3, b)
		return l.Params.Export()
	}
	for _, parts := range []int{1, 3} {
		want := end(1, 1, parts)
		same(t, "the same again", end(1, 1, parts), want)
		same(t, "two threads", end(1, 2, parts), want)
		if furthest(t, end(2, 1, parts), want) == 0 {
			t.Error("another seed ends alike")
		}
	}
}

// dropped is a Model with dropout before it.
type dropped struct{ nn.Model }

func (d dropped) Apply(s *nn.Scope, in gorgonia.Nodes) gorgonia.Nodes {
	return d.Model.Apply(s, gorgonia.Nodes{s.Apply("dropout", nn.Dropout{Rate: 0.2}, in[0])})
}

func TestDropoutDependsOnTheStepAndThePart(t *testing.T) {
	b := points(8, 1)
	loss := func(step int64, b data.Batch, parts int) float64 {
		l := perceptron()
		l.Model, l.Accumulate = dropped{models.MLP(nil, 3)}, parts
		stats, err := l.Step(b, train.Progress{Steps: step})
		if err != nil {
			t.Fatal(err)
		}
		return stats.Loss
	}
	if loss(0, b, 1) != loss(0, b, 1) || loss(0, b, 1) == loss(1, b, 1) {
		t.Error("dropout does not follow the step")
	}
	twice := rows(b, 0, 1, 2, 3, 0, 1, 2, 3)
	if half := loss(0, rows(b, 0, 1, 2, 3), 1); loss(0, twice, 2) == half {
		t.Error("both parts of a step drop the same")
	}
}

func TestRunningStatisticsChangeInTrainingOnly(t *testing.T) {
	l := residual(t)
	b := images(4, 1)
	learn(t, l, 1, b)
	statistics := func() (out []nn.Tensor) {
		for _, w := range l.Params.Export() {
			if strings.Contains(w.Name, "running_") {
				out = append(out, w)
			}
		}
		return out
	}
	first := statistics()
	if len(first) != 2*7 {
		t.Fatalf("%d running statistics", len(first))
	}
	before := l.Params.Export()
	for range 3 {
		if _, err := l.Evaluate(t.Context(), batches(b, images(3, 2)), nil); err != nil {
			t.Fatal(err)
		}
	}
	same(t, "after evaluation", l.Params.Export(), before)
	learn(t, l, 1, b)
	for i, s := range statistics() {
		if slices.Equal(s.Data, first[i].Data) {
			t.Errorf("%s has not changed in training", s.Name)
		}
	}
}

func TestAStepDoesNotAllocate(t *testing.T) {
	pool := op.NewPool(2)
	defer pool.Close()
	adamW := &optim.AdamW{WeightDecay: 0.01}
	adamW.SetPool(pool)
	threaded := residual(t)
	threaded.Build.Pool, threaded.Optimizer = pool, adamW
	for name, c := range map[string]struct {
		l *train.Learner
		b data.Batch
	}{
		"perceptron":             {perceptron(), points(32, 1)},
		"perceptron, four parts": {perceptron(), weighted(points(4, 1), 1, 2, 0, 1)},
		"ResNet-8":               {residual(t), images(4, 1)},
		"ResNet-8, two threads":  {threaded, images(4, 1)},
	} {
		c.l.Clip = measure
		if strings.Contains(name, "four") {
			c.l.Accumulate = 4
		}
		learn(t, c.l, 2, c.b)
		at := train.Progress{}
		allocations := testing.AllocsPerRun(20, func() {
			if _, err := c.l.Step(c.b, at); err != nil {
				t.Fatal(err)
			}
			at.Steps++
		})
		if allocations != 0 {
			t.Errorf("%s: %g allocations a step, want none", name, allocations)
		}
	}
}

// A perceptron learns to tell points of three classes apart.
func ExampleLearner() {
	l := &train.Learner{
		Model:     models.MLP([]int{16}, 3),
		Task:      train.Classification(0),
		Optimizer: &optim.SGD{Momentum: 0.9},
		Rate:      func(train.Progress) float64 { return 0.1 },
		Build:     nn.Config{Seed: 1},
	}
	endless := func(yield func(data.Batch, error) bool) {
		for seed := uint64(0); yield(points(32, seed), nil); seed++ {
		}
	}
	enough := func(p train.Progress) bool { return p.Steps >= 50 }
	ctx := context.Background()
	if _, err := train.Run(ctx, train.Progress{}, l, endless, enough); err != nil {
		fmt.Println(err)
		return
	}
	e, err := l.Evaluate(ctx, batches(points(100, 1000)), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d parameters, %d examples, error %.2f\n", l.Params.Count(), e.Examples, e.Metrics["error"])
	// Output:
	// 99 parameters, 100 examples, error 0.00
}
