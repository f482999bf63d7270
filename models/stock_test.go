package models

import (
	"fmt"
	"math"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/internal/kernel"
	"github.com/reprise-ml/reprise/nn"
	"github.com/reprise-ml/reprise/optim"
	"github.com/reprise-ml/reprise/train"
)

// stock is ResNet-8 for CIFAR as Gorgonia offers it: its Conv2d, BatchNorm, Rectify and LogSoftMax on
// [rows, channels, height, width], its TapeMachine, its Momentum. Only what it computes wrongly is
// gone round: the mean over all pixels is one over the last of two axes.
type stock struct {
	rows      int
	start     map[string]nn.Tensor
	g         *gorgonia.ExprGraph
	x, y      *gorgonia.Node // pictures; classes, of each row a 1 among zeros
	learnable gorgonia.Nodes
	loss      *gorgonia.Node
	machine   gorgonia.VM
	solver    gorgonia.Solver
}

// newStock makes one whose weights begin as those of p.
func newStock(tb testing.TB, p *nn.Params, rows int) *stock {
	tb.Helper()
	s := &stock{rows: rows, start: map[string]nn.Tensor{}, g: gorgonia.NewGraph()}
	for _, w := range p.Export() {
		s.start[w.Name] = w
	}
	s.x = s.input("x", make([]float32, rows*3*32*32), rows, 3, 32, 32)
	s.y = s.input("y", make([]float32, rows*10), rows, 10)

	x := s.relu(s.norm("bn1", s.conv("conv1", s.x, 1)))
	for stage, width := range []int{16, 32, 64} {
		name, stride := fmt.Sprintf("layer%d.0.", stage+1), 1
		if stage > 0 {
			stride = 2
		}
		y := s.relu(s.norm(name+"bn1", s.conv(name+"conv1", x, stride)))
		y = s.norm(name+"bn2", s.conv(name+"conv2", y, 1))
		x = s.relu(gorgonia.Must(gorgonia.Add(y, s.shortcut(name, x, width, stride))))
	}
	shape := x.Shape()
	x = gorgonia.Must(gorgonia.Reshape(x, tensor.Shape{rows * shape[1], shape[2] * shape[3]}))
	x = gorgonia.Must(gorgonia.Reshape(gorgonia.Must(gorgonia.Mean(x, 1)), tensor.Shape{rows, shape[1]}))
	w := s.weight("fc.weight", 10, shape[1])
	x = gorgonia.Must(gorgonia.Mul(x, gorgonia.Must(gorgonia.Transpose(w))))
	x = gorgonia.Must(gorgonia.BroadcastAdd(x, s.weight("fc.bias", 1, 10), nil, []byte{0}))
	x = gorgonia.Must(gorgonia.HadamardProd(gorgonia.Must(gorgonia.LogSoftMax(x)), s.y))
	s.loss = gorgonia.Must(gorgonia.Mul(gorgonia.Must(gorgonia.Sum(x)), gorgonia.NewConstant(float32(-1)/float32(rows))))

	if _, err := gorgonia.Grad(s.loss, s.learnable...); err != nil {
		tb.Fatal(err)
	}
	s.machine = gorgonia.NewTapeMachine(s.g, gorgonia.BindDualValues(s.learnable...))
	s.solver = gorgonia.NewMomentum(gorgonia.WithLearnRate(0.01), gorgonia.WithMomentum(0.9))
	return s
}

func (s *stock) input(name string, v []float32, shape ...int) *gorgonia.Node {
	return gorgonia.NewTensor(s.g, tensor.Float32, len(shape), gorgonia.WithName(name), gorgonia.WithShape(shape...),
		gorgonia.WithValue(tensor.New(tensor.WithShape(shape...), tensor.WithBacking(v))))
}

func (s *stock) weight(name string, shape ...int) *gorgonia.Node {
	n := s.input(name, s.start[name].Data, shape...)
	s.learnable = append(s.learnable, n)
	return n
}

func (s *stock) conv(name string, x *gorgonia.Node, stride int) *gorgonia.Node {
	w := s.weight(name+".weight", s.start[name+".weight"].Shape...)
	return gorgonia.Must(gorgonia.Conv2d(x, w, tensor.Shape{3, 3}, []int{1, 1}, []int{stride, stride}, []int{1, 1}))
}

func (s *stock) norm(name string, x *gorgonia.Node) *gorgonia.Node {
	c := x.Shape()[1]
	y, _, _, _, err := gorgonia.BatchNorm(x, s.weight(name+".weight", 1, c, 1, 1), s.weight(name+".bias", 1, c, 1, 1), 0.1, 1e-5)
	return gorgonia.Must(y, err)
}

func (s *stock) relu(x *gorgonia.Node) *gorgonia.Node { return gorgonia.Must(gorgonia.Rectify(x)) }

func (s *stock) shortcut(name string, x *gorgonia.Node, width, stride int) *gorgonia.Node {
	if stride == 1 {
		return x
	}
	shape := x.Shape()
	x = gorgonia.Must(gorgonia.Slice(x, nil, nil, gorgonia.S(0, shape[2], stride), gorgonia.S(0, shape[3], stride)))
	side := []int{s.rows, (width - shape[1]) / 2, shape[2] / stride, shape[3] / stride}
	zeros := func(where string) *gorgonia.Node {
		return s.input(name+where, make([]float32, tensor.Shape(side).TotalSize()), side...)
	}
	return gorgonia.Must(gorgonia.Concat(1, zeros("before"), x, zeros("after")))
}

// set fills the inputs with a batch of ours.
func (s *stock) set(b data.Batch) {
	x, y := floats(s.x.Value()), floats(s.y.Value())
	clear(y)
	for n := range s.rows {
		for p := range 32 * 32 {
			for c := range 3 {
				x[(n*3+c)*32*32+p] = b.Inputs[0].F32[(n*32*32+p)*3+c]
			}
		}
		y[n*10+int(b.Targets[0].I32[n])] = 1
	}
}

// step computes loss and gradients; the update is left to the solver.
func (s *stock) step(tb testing.TB) float64 {
	s.machine.Reset()
	if err := s.machine.RunAll(); err != nil {
		tb.Fatal(err)
	}
	return float64(s.loss.Value().Data().(float32))
}

// stockBatch is a batch of pictures by the formula.
func stockBatch(rows int) data.Batch {
	x, y := make([]float32, rows*32*32*3), make([]int32, rows)
	for i, u := range formula("pictures", len(x)) {
		x[i] = float32(1.5 * u)
	}
	for i := range y {
		y[i] = int32((3*i + 1) % 10)
	}
	return data.Batch{
		Inputs:  []data.Array{{Shape: []int{rows, 32, 32, 3}, F32: x}},
		Targets: []data.Array{{Shape: []int{rows}, I32: y}},
		Origins: make([]data.Origin, rows),
	}
}

func TestStockGorgoniaComputesTheSameLossAndGradients(t *testing.T) {
	const rows = 4
	model, err := ResNetCIFAR(8, 10)
	if err != nil {
		t.Fatal(err)
	}
	var p nn.Params
	ours := newGraph(t, model, &p, rows, nn.Config{Train: true})
	batch := stockBatch(rows)
	copy(floats(ours.x.Value()), batch.Inputs[0].F32)
	copy(ours.y.Value().(*tensor.Dense).Int32s(), batch.Targets[0].I32)
	for i := range rows {
		floats(ours.w.Value())[i] = 1
	}
	theirs := newStock(t, &p, rows)
	theirs.set(batch)
	if got, want := theirs.step(t), ours.run(t); math.Abs(got-want) > 1e-5 {
		t.Errorf("the loss of stock Gorgonia is %v, ours %v", got, want)
	}
	if len(theirs.learnable) != len(ours.weights) {
		t.Fatalf("%d weights, ours are %d", len(theirs.learnable), len(ours.weights))
	}
	for i, n := range theirs.learnable {
		if n.Name() != ours.weights[i].Name() {
			t.Fatalf("weight %d is %s, ours is %s", i, n.Name(), ours.weights[i].Name())
		}
		grad, err := n.Grad()
		if err != nil {
			t.Fatal(err)
		}
		var difference, norm float64
		want := ours.machine.Value(ours.grads[i])
		for j, v := range outside(want) {
			d := float64(floats(grad)[j] - v)
			difference += d * d
			norm += float64(v) * float64(v)
		}
		if !(difference <= 1e-6*norm) {
			t.Errorf("the gradient of %s differs by %v of its norm", n.Name(), math.Sqrt(difference/norm))
		}
	}
}

// outside returns a gradient in PyTorch's order, which is Gorgonia's.
func outside(v gorgonia.Value) []float32 {
	in, shape := floats(v), v.Shape()
	if len(shape) != 4 {
		return in
	}
	out := make([]float32, len(in))
	for i := range in {
		out[outsideAt(shape, i)] = in[i]
	}
	return out
}

// BenchmarkStock is the training step of ResNet-8, update included, on stock Gorgonia and on ours:
//
//	go test -run '^$' -bench Stock ./models
func BenchmarkStock(b *testing.B) {
	const rows = 16
	model, err := ResNetCIFAR(8, 10)
	if err != nil {
		b.Fatal(err)
	}
	pool := kernel.NewPool(0)
	defer pool.Close()
	batch := stockBatch(rows)
	learner := &train.Learner{
		Model: model, Task: train.Classification(0), Build: nn.Config{Pool: pool},
		Optimizer: &optim.SGD{Momentum: 0.9, Nesterov: true, WeightDecay: 1e-4},
	}
	if err := learner.Prepare(batch); err != nil {
		b.Fatal(err)
	}
	theirs := newStock(b, &learner.Params, rows)
	measure := func(name string, step func() error) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := step(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(rows*float64(b.N)/b.Elapsed().Seconds(), "examples/s")
		})
	}
	measure("gorgonia", func() error {
		theirs.set(batch)
		theirs.step(b)
		return theirs.solver.Step(gorgonia.NodesToValueGrads(theirs.learnable))
	})
	measure("reprise", func() error {
		_, err := learner.Step(batch, train.Progress{})
		return err
	})
}
