package nn

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/reprise-ml/reprise/nn/op"
)

func TestLayersHaveTheShapesAndWeightsTheyPromise(t *testing.T) {
	image := []int{2, 7, 6, 3}
	for _, c := range []struct {
		layer   Layer
		in, out []int
		weights string
	}{
		{Conv{Out: 4, Kernel: 3}, image, []int{2, 5, 4, 4}, "weight[4 3 3 3]"},
		{Conv{Out: 4, Kernel: 3, Stride: 2, Pad: 1, Bias: true}, image, []int{2, 4, 3, 4}, "weight[4 3 3 3] bias[4]"},
		{Conv{Out: 8, Kernel: 3, Pad: 1, Groups: 2}, []int{2, 5, 5, 6}, []int{2, 5, 5, 8}, "weight[8 3 3 3]"},
		{Conv{Out: 3, Kernel: 3, Stride: 2, Pad: 1, Groups: 3, Bias: true}, image, []int{2, 4, 3, 3}, "weight[3 1 3 3] bias[3]"},
		{BatchNorm{}, image, image, "weight[3] bias[3] running_mean[3] running_var[3]"},
		{BatchNorm{Momentum: 0.01, Epsilon: 1e-3, Ghost: 2}, []int{4, 3}, []int{4, 3}, "weight[3] bias[3] running_mean[3] running_var[3]"},
		{BatchNorm{ReLU: true}, image, image, "weight[3] bias[3] running_mean[3] running_var[3]"},
		{block{}, image, image, "conv.weight[3 3 3 3] bn.weight[3] bn.bias[3] bn.running_mean[3] bn.running_var[3]"},
		{block{Linear: true}, image, image, "conv.weight[3 3 3 3] bn.weight[3] bn.bias[3] bn.running_mean[3] bn.running_var[3]"},
		{ReLU{}, image, image, ""},
		{Dropout{Rate: 0.5}, image, image, ""},
		{MaxPool{Kernel: 2}, image, []int{2, 3, 3, 3}, ""},
		{MaxPool{Kernel: 3, Stride: 2, Pad: 1}, image, []int{2, 4, 3, 3}, ""},
		{GlobalAvgPool{}, image, []int{2, 3}, ""},
		{Shortcut{Out: 3}, image, image, ""},
		{Shortcut{Out: 8, Stride: 2}, image, []int{2, 4, 3, 8}, ""},
		{Flatten{}, image, []int{2, 126}, ""},
		{Flatten{}, []int{2, 5}, []int{2, 5}, ""},
		{Linear{Out: 4}, []int{2, 5}, []int{2, 4}, "weight[4 5] bias[4]"},
		{Linear{Out: 4, NoBias: true, Init: Ones}, []int{2, 5}, []int{2, 4}, "weight[4 5]"},
		{Linear{Out: 4}, []int{2, 3, 5}, []int{2, 3, 4}, "weight[4 5] bias[4]"},
		{Linear{Out: 4, GELU: true}, []int{2, 3, 5}, []int{2, 3, 4}, "weight[4 5] bias[4]"},
		{GELU{}, image, image, ""},
		{LayerNorm{}, []int{2, 4, 3}, []int{2, 4, 3}, "weight[3] bias[3]"},
		{Position{Context: 6}, []int{2, 4, 3}, []int{2, 4, 3}, "weight[6 3]"},
		{Position{Context: 4, Sinusoidal: true}, []int{2, 4, 3}, []int{2, 4, 3}, ""},
		{ImagePositions{}, []int{2, 4, 3}, []int{2, 4, 3}, "pos_embedding[1 4 3]"},
		{ClassToken{}, image, []int{2, 43, 3}, "class_token[1 1 3]"},
		{FirstToken{}, []int{2, 4, 3}, []int{2, 3}, ""},
		{Tokens{}, image, []int{2, 42, 3}, ""},
		{Tokens{}, []int{2, 4, 3}, []int{2, 4, 3}, ""},
		{GlobalAvgPool{}, []int{2, 4, 3}, []int{2, 3}, ""},
		{Attention{Heads: 2, Causal: true}, []int{2, 4, 12}, []int{2, 4, 4}, ""},
		{MultiHeadAttention{Heads: 2}, []int{2, 4, 6}, []int{2, 4, 6}, "in_proj_weight[18 6] in_proj_bias[18] out_proj.weight[6 6] out_proj.bias[6]"},
		{Sequential{Flatten{}, Linear{Out: 2}, ReLU{}, Linear{Out: 3}}, image, []int{2, 3}, "1.weight[2 126] 1.bias[2] 3.weight[3 2] 3.bias[3]"},
		{Residual{Body: Linear{Out: 5}}, []int{2, 5}, []int{2, 5}, "weight[5 5] bias[5]"},
		{Residual{Body: Linear{Out: 4}, Shortcut: Linear{Out: 4, NoBias: true}}, []int{2, 5}, []int{2, 4}, "weight[4 5] bias[4] shortcut.weight[4 5]"},
	} {
		for _, train := range []bool{true, false} {
			t.Run(fmt.Sprintf("%#v train %v", c.layer, train), func(t *testing.T) {
				var p Params
				s := NewScope(&p, Config{Train: train})
				y := Single(c.layer).Apply(s, gorgonia.Nodes{images(s, c.in...)})
				if s.Err() != nil {
					t.Fatal(s.Err())
				}
				if got := y[0].Shape(); !slices.Equal(got, c.out) {
					t.Errorf("shape %v, want %v", got, c.out)
				}
				if v := compute(t, s, s.Add(y[0], y[0])); len(v) != tensor.Shape(c.out).TotalSize() {
					t.Errorf("%d values", len(v))
				}
				var weights []string
				for _, w := range p.Export() {
					weights = append(weights, fmt.Sprint(w.Name, w.Shape))
				}
				if got := strings.Join(weights, " "); got != c.weights {
					t.Errorf("weights %s, want %s", got, c.weights)
				}
			})
		}
	}
}

func TestDropoutIsForTrainingAndChangesWithTheTick(t *testing.T) {
	run := func(train bool, tick uint64) []float32 {
		s := NewScope(new(Params), Config{Train: train, Seed: 3})
		s.Ticker().Tick = tick
		x := images(s, 50, 4)
		y := s.Apply("drop", Dropout{Rate: 0.5}, x)
		return slices.Clone(compute(t, s, s.Add(y, y)))
	}
	if !slices.Equal(run(true, 1), run(true, 1)) || slices.Equal(run(true, 1), run(true, 2)) {
		t.Error("the mask does not depend on the tick alone")
	}
	if slices.Contains(run(false, 1), 0) || !slices.Contains(run(true, 1), 0) {
		t.Error("dropped in evaluation or not in training")
	}
}

func TestCrossEntropyIsTheWeightedMeanWithSmoothing(t *testing.T) {
	const rows, classes = 4, 3
	logits := []float32{1, 2, 3, 0, -1, 0.5, 2, 2, 2, -3, 4, 1}
	labels, weights := []int32{0, 2, 1, 1}, []float32{1, 0.5, 0, 2}
	for _, smoothing := range []float64{0, 0.1} {
		for _, c := range []struct{ soft, train bool }{{false, true}, {true, true}, {false, false}} {
			soft, effective := c.soft, smoothing
			if !c.train {
				effective = 0
			}
			var sum, total float64
			for n := range rows {
				var z, l float64
				for _, v := range logits[n*classes:][:classes] {
					z += math.Exp(float64(v))
				}
				for k, v := range logits[n*classes:][:classes] {
					share := effective / classes
					if k == int(labels[n]) {
						share += 1 - effective
					}
					l -= share * (float64(v) - math.Log(z))
				}
				sum += float64(weights[n]) * l
				total += float64(weights[n])
			}

			s := NewScope(new(Params), Config{Train: c.train})
			x, w := input(s, "x", tensor.Float32, rows, classes), input(s, "w", tensor.Float32, rows)
			copy(floats(x.Value()), logits)
			copy(floats(w.Value()), weights)
			var y *gorgonia.Node
			if soft {
				y = input(s, "y", tensor.Float32, rows, classes)
				for n, k := range labels {
					floats(y.Value())[n*classes+int(k)] = 1
				}
			} else {
				y = input(s, "y", tensor.Int32, rows)
				copy(y.Value().(*tensor.Dense).Int32s(), labels)
			}
			loss := CrossEntropy{Smoothing: smoothing}.Apply(s, gorgonia.Nodes{x}, gorgonia.Nodes{y}, w)
			m, err := s.Compile(loss)
			if err != nil {
				t.Fatal(err)
			}
			if err := m.RunAll(); err != nil {
				t.Fatal(err)
			}
			if got := float64(m.Value(loss).Data().(float32)); math.Abs(got-sum/total) > 1e-6 {
				t.Errorf("smoothing %v, soft %v, training %v: loss %v, want %v", smoothing, soft, c.train, got, sum/total)
			}
		}
	}
	s := NewScope(new(Params), Config{})
	CrossEntropy{}.Apply(s, nil, nil, nil)
	if s.Err() == nil {
		t.Error("no outputs, and no error")
	}
	s = NewScope(new(Params), Config{})
	Single(ReLU{}).Apply(s, nil)
	if s.Err() == nil {
		t.Error("no inputs, and no error")
	}
}

func TestGroupsThatDoNotDivideTheChannelsAreRefused(t *testing.T) {
	for _, l := range []Conv{{Out: 4, Kernel: 3, Groups: 2}, {Out: 4, Kernel: 3, Groups: 3}, {Out: 3, Kernel: 3, Groups: -1}, {Out: 6, Kernel: 3, Groups: 6}} {
		var p Params
		s := NewScope(&p, Config{})
		s.Apply("conv", l, images(s, 1, 5, 5, 3))
		want := fmt.Sprintf("nn: conv: %d groups do not divide 3 channels of the input and %d of the output", l.Groups, l.Out)
		if err := s.Err(); err == nil || err.Error() != want {
			t.Errorf("error %v, want %q", err, want)
		}
		if p.Lookup("conv.weight") != nil {
			t.Error("a weight was made")
		}
	}
}

// block is a convolution beside a skip connection, with a ReLU or without.
type block struct{ Linear, Steps bool }

func (b block) Apply(s *Scope, x *gorgonia.Node) *gorgonia.Node {
	y := s.Apply("conv", Conv{Out: x.Shape()[3], Kernel: 3, Pad: 1}, x)
	if !b.Steps {
		return s.Apply("bn", BatchNorm{ReLU: !b.Linear, Ghost: 2}.Plus(x), y)
	}
	y = s.Add(s.Apply("bn", BatchNorm{Ghost: 2}, y), x)
	if b.Linear {
		return y
	}
	return s.Apply("relu", ReLU{}, y)
}

func TestANormalisationPlusASkipConnectionAgreesWithItsSteps(t *testing.T) {
	for _, linear := range []bool{false, true} {
		for _, train := range []bool{false, true} {
			var p Params
			run := func(steps bool) []float32 {
				s := NewScope(&p, Config{Train: train})
				y := s.Apply("", block{linear, steps}, images(s, 4, 5, 6, 3))
				if s.Err() != nil {
					t.Fatal(s.Err())
				}
				return compute(t, s, y)
			}
			if got, want := run(false), run(true); !slices.Equal(got, want) {
				t.Errorf("linear %v, train %v: %v, in steps %v", linear, train, got[:6], want[:6])
			}
		}
	}
}

// everything has every layer for images there is, and values with more than one gradient.
var everything = Sequential{
	Conv{Out: 4, Kernel: 3, Pad: 1, Bias: true},
	BatchNorm{Ghost: 2},
	ReLU{},
	Residual{Body: Sequential{Conv{Out: 4, Kernel: 3, Pad: 1}, BatchNorm{}, Dropout{Rate: 0.2}}},
	block{},
	BatchNorm{ReLU: true},
	Conv{Out: 8, Kernel: 3, Pad: 1, Groups: 2},
	Conv{Out: 4, Kernel: 1},
	MaxPool{Kernel: 2},
	Residual{Body: Conv{Out: 8, Kernel: 3, Stride: 2, Pad: 1}, Shortcut: Shortcut{Out: 8, Stride: 2}},
	Residual{Body: Residual{Body: Conv{Out: 8, Kernel: 1}}},
	Flatten{},
	Linear{Out: 6},
	BatchNorm{},
	Residual{Body: Linear{Out: 6}},
	Dropout{Rate: 0.1},
	Linear{Out: 3},
}

// A result in shared memory that is read too late, or not written in full, would show here.
func TestSharedMemoryChangesNoBit(t *testing.T) {
	pool := op.NewPool(2)
	defer pool.Close()
	train := func(c Config, tape bool) (bits []uint32) {
		var p Params
		s := NewScope(&p, c)
		x, y, w := images(s, 4, 8, 8, 3), input(s, "y", tensor.Int32, 4), input(s, "w", tensor.Float32, 4)
		copy(y.Value().(*tensor.Dense).Int32s(), []int32{0, 1, 2, 1})
		copy(floats(w.Value()), []float32{1, 1, 0, 2})
		loss := CrossEntropy{Smoothing: 0.1}.Apply(s, Single(everything).Apply(s, gorgonia.Nodes{x}), gorgonia.Nodes{y}, w)
		if s.Err() != nil {
			t.Fatal(s.Err())
		}
		grads, err := gorgonia.Grad(loss, s.Weights()...)
		if err != nil {
			t.Fatal(err)
		}
		var vm gorgonia.VM
		value := (*gorgonia.Node).Value
		if tape {
			vm = gorgonia.NewTapeMachine(s.Graph())
		} else {
			m, err := s.Compile(append(grads, loss)...)
			if err != nil {
				t.Fatal(err)
			}
			vm, value = m, func(n *gorgonia.Node) gorgonia.Value { return m.Value(n) }
		}
		for step := range 5 {
			s.Ticker().Tick = uint64(step)
			vm.Reset()
			if err := vm.RunAll(); err != nil {
				t.Fatal(err)
			}
			bits = append(bits, math.Float32bits(value(loss).Data().(float32)))
			for i, n := range s.Weights() {
				w, d := floats(n.Value()), floats(value(grads[i]))
				for j := range w {
					w[j] -= 0.1 * d[j]
					bits = append(bits, math.Float32bits(d[j]))
				}
			}
		}
		return bits
	}
	want := train(Config{Train: true}, true)
	if got := train(Config{Train: true}, false); !slices.Equal(got, want) {
		t.Error("losses or gradients differ from those of the TapeMachine")
	}
	if got := train(Config{Train: true, Pool: pool}, false); !slices.Equal(got, want) {
		t.Error("two threads compute other bits than one")
	}
}
