package op_test

import (
	"math"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/reprise-ml/reprise/nn/op"
)

// normRun normalises the rows of x once and returns the output, the operation and the statistics.
func normRun(t *testing.T, x []float32, ch int, c op.BatchNormConfig) (gorgonia.Op, *op.Statistics, func() []float32) {
	t.Helper()
	g := gorgonia.NewGraph()
	st := op.NewStatistics(ch)
	in := fixed(g, "x", tensor.New(tensor.WithShape(len(x)/ch, ch), tensor.WithBacking(x)))
	gamma, beta := make([]float32, ch), make([]float32, ch)
	for i := range gamma {
		gamma[i] = 1
	}
	n, err := op.BatchNorm(nil, in, fixed(g, "gamma", tensor.New(tensor.WithShape(ch), tensor.WithBacking(gamma))),
		fixed(g, "beta", tensor.New(tensor.WithShape(ch), tensor.WithBacking(beta))), st, c)
	if err != nil {
		t.Fatal(err)
	}
	vm := gorgonia.NewTapeMachine(g)
	t.Cleanup(func() { vm.Close() })
	return n.Op(), st, func() []float32 {
		vm.Reset()
		if err := vm.RunAll(); err != nil {
			t.Fatal(err)
		}
		return values(n)
	}
}

func TestRunningStatisticsMoveOnlyOnCommit(t *testing.T) {
	o, st, run := normRun(t, []float32{1, 10, 3, 14, 5, 12, 7, 20}, 2, op.BatchNormConfig{Train: true, Momentum: 0.5})
	run()
	if st.Mean[0] != 0 || st.Var[0] != 1 {
		t.Fatalf("a run moved the statistics to %v", *st)
	}
	o.(op.Committer).Commit()
	// Mean of 1 3 5 7 is 4, unbiased variance 20/3; of 10 14 12 20: 14 and 56/3.
	checkClose(t, "mean", st.Mean, []float64{2, 7}, 1e-6)
	checkClose(t, "variance", st.Var, []float64{0.5 + 10.0/3, 0.5 + 28.0/3}, 1e-6)
	mean := st.Mean[0]
	o.(op.Committer).Commit()
	if st.Mean[0] != mean {
		t.Error("a second Commit without a run moved the statistics")
	}
}

func TestGhostBatchesCommitTheirAverage(t *testing.T) {
	o, st, run := normRun(t, []float32{1, 3, 10, 20}, 1, op.BatchNormConfig{Train: true, Momentum: 1, Ghost: 2})
	checkClose(t, "output", run(), []float64{-1, 1, -1, 1}, 1e-4)
	o.(op.Committer).Commit()
	checkClose(t, "mean", st.Mean, []float64{(2 + 15) / 2.0}, 1e-6)
	checkClose(t, "variance", st.Var, []float64{(2 + 50) / 2.0}, 1e-6)
}

func TestEvaluationReadsTheStatisticsAtEveryRun(t *testing.T) {
	o, st, run := normRun(t, []float32{1, 3, 5, 7}, 1, op.BatchNormConfig{})
	checkClose(t, "output", run(), []float64{1, 3, 5, 7}, 1e-4)
	st.Mean[0], st.Var[0] = 3, 4
	checkClose(t, "output", run(), []float64{-1, 0, 1, 2}, 1e-4)
	if _, ok := o.(op.Committer); ok {
		t.Error("the evaluation operation has something to commit")
	}
}

func TestStatisticsOfAFarMeanAreAccurate(t *testing.T) {
	x := make([]float32, 1000)
	for i := range x {
		x[i] = 4096 + float32(i%2) // variance 1/4 at a mean where float32 squares have steps of 2
	}
	_, _, run := normRun(t, x, 1, op.BatchNormConfig{Train: true, Epsilon: 1e-9})
	y := run()
	if math.Abs(float64(y[0])+1) > 1e-5 || math.Abs(float64(y[1])-1) > 1e-5 {
		t.Errorf("outputs %v and %v, want -1 and 1", y[0], y[1])
	}
}
