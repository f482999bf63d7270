package train_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/models"
	"github.com/reprise-ml/reprise/nn"
	"github.com/reprise-ml/reprise/optim"
	"github.com/reprise-ml/reprise/train"
)

// points is a batch of points of the plane, [rows,2], around a centre for each
// of three classes, which lie apart.
func points(rows int, seed uint64) data.Batch {
	r := rand.New(rand.NewPCG(seed, 0))
	x, y := make([]float32, 0, 2*rows), make([]int32, rows)
	b := data.Batch{Origins: make([]data.Origin, rows), Reads: int64(rows)}
	for i := range rows {
		class := r.IntN(3)
		angle := 2 * math.Pi * float64(class) / 3
		x = append(x, float32(2*math.Cos(angle)+0.3*r.NormFloat64()), float32(2*math.Sin(angle)+0.3*r.NormFloat64()))
		y[i], b.Origins[i] = int32(class), data.Origin{Index: i, Read: int64(i)}
	}
	b.Inputs = []data.Array{{Shape: []int{rows, 2}, F32: x}}
	b.Targets = []data.Array{{Shape: []int{rows}, I32: y}}
	return b
}

// images is a batch of noise, [rows,8,8,3], with a class of two each.
func images(rows int, seed uint64) data.Batch {
	r := rand.New(rand.NewPCG(seed, 0))
	x, y := make([]float32, rows*8*8*3), make([]int32, rows)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	for i := range y {
		y[i] = int32(r.IntN(2))
	}
	return data.Batch{
		Inputs:  []data.Array{{Shape: []int{rows, 8, 8, 3}, F32: x}},
		Targets: []data.Array{{Shape: []int{rows}, I32: y}},
		Origins: make([]data.Origin, rows),
	}
}

// weighted is b with weights.
func weighted(b data.Batch, w ...float32) data.Batch {
	b.Weights = data.Array{Shape: []int{len(w)}, F32: w}
	return b
}

// rows is some rows of b, in memory of their own.
func rows(b data.Batch, which ...int) data.Batch {
	pick := func(a data.Array) data.Array {
		if a.Shape == nil {
			return a
		}
		out := data.Array{Shape: slices.Clone(a.Shape)}
		out.Shape[0] = len(which)
		n := len(a.F32) / a.Shape[0]
		m := len(a.I32) / a.Shape[0]
		for _, i := range which {
			out.F32 = append(out.F32, a.F32[i*n:(i+1)*n]...)
			out.I32 = append(out.I32, a.I32[i*m:(i+1)*m]...)
		}
		return out
	}
	out := data.Batch{Reads: b.Reads, Weights: pick(b.Weights)}
	for _, a := range b.Inputs {
		out.Inputs = append(out.Inputs, pick(a))
	}
	for _, a := range b.Targets {
		out.Targets = append(out.Targets, pick(a))
	}
	for _, i := range which {
		out.Origins = append(out.Origins, b.Origins[i])
	}
	return out
}

// perceptron is a Learner of points.
func perceptron() *train.Learner {
	return &train.Learner{
		Model:     models.MLP([]int{16}, 3),
		Task:      train.Classification(0),
		Optimizer: &optim.SGD{Momentum: 0.9},
		Rate:      func(train.Progress) float64 { return 0.1 },
		Build:     nn.Config{Seed: 1},
	}
}

// residual is a Learner of images: ResNet-8, with batch normalisation.
func residual(t testing.TB) *train.Learner {
	t.Helper()
	m, err := models.ResNetCIFAR(8, 2)
	if err != nil {
		t.Fatal(err)
	}
	l := perceptron()
	l.Model = m
	return l
}

func measure(w []gorgonia.ValueGrad) (float64, error) { return optim.ClipNorm(w, 0) }

// learn takes steps on one batch and returns the last Stats.
func learn(t testing.TB, l *train.Learner, steps int, b data.Batch) train.Stats {
	t.Helper()
	p, err := train.Run(t.Context(), train.Progress{}, l, func(yield func(data.Batch, error) bool) {
		for yield(b, nil) {
		}
	}, func(p train.Progress) bool { return p.Steps >= int64(steps) })
	if err != nil {
		t.Fatal(err)
	}
	return p.Last
}

// same fails the test unless both have the same tensors, bit for bit.
func same(t testing.TB, what string, got, want []nn.Tensor) {
	t.Helper()
	if d := furthest(t, got, want); d != 0 {
		t.Errorf("%s: weights or running statistics differ by up to %g", what, d)
	}
}

// furthest is the largest difference between tensors of the same names; those
// of other bits differ by something even where they are NaN.
func furthest(t testing.TB, a, b []nn.Tensor) float64 {
	t.Helper()
	if len(a) != len(b) || len(a) == 0 {
		t.Fatalf("%d tensors against %d", len(a), len(b))
	}
	worst := 0.0
	for i := range a {
		if a[i].Name != b[i].Name || !slices.Equal(a[i].Shape, b[i].Shape) {
			t.Fatalf("%s %v against %s %v", a[i].Name, a[i].Shape, b[i].Name, b[i].Shape)
		}
		for j, v := range a[i].Data {
			if w := b[i].Data[j]; math.Float32bits(v) != math.Float32bits(w) {
				d := math.Abs(float64(v) - float64(w))
				if math.IsNaN(d) {
					d = math.Inf(1)
				}
				worst = max(worst, d, math.SmallestNonzeroFloat64)
			}
		}
	}
	return worst
}
