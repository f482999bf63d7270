package exec

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// convnet is two convolutions with a residual connection, pooling and a linear
// layer, of built-in ops and of toys, with a cross entropy.
type convnet struct {
	g      *gorgonia.ExprGraph
	x, y   *gorgonia.Node
	params gorgonia.Nodes
	logits *gorgonia.Node
	loss   *gorgonia.Node
	grads  gorgonia.Nodes
}

const rows, classes = 4, 3

func newConvnet(t *testing.T, weights map[string]*tensor.Dense) *convnet {
	t.Helper()
	must := gorgonia.Must
	c := &convnet{g: gorgonia.NewGraph()}
	c.x = gorgonia.NewTensor(c.g, tensor.Float32, 4, gorgonia.WithShape(rows, 2, 6, 6), gorgonia.WithName("x"),
		gorgonia.WithValue(tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(rows, 2, 6, 6))))
	c.y = gorgonia.NewMatrix(c.g, tensor.Float32, gorgonia.WithShape(rows, classes), gorgonia.WithName("y"),
		gorgonia.WithValue(tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(rows, classes))))
	weight := func(name string, shape ...int) *gorgonia.Node {
		if weights[name] == nil {
			r := rand.New(rand.NewPCG(uint64(len(weights)), 1))
			w := make([]float32, tensor.Shape(shape).TotalSize())
			for i := range w {
				w[i] = float32(r.NormFloat64() * 0.2)
			}
			weights[name] = tensor.New(tensor.WithShape(shape...), tensor.WithBacking(w))
		}
		n := gorgonia.NewTensor(c.g, tensor.Float32, len(shape), gorgonia.WithShape(shape...),
			gorgonia.WithName(name), gorgonia.WithValue(weights[name]))
		c.params = append(c.params, n)
		return n
	}
	conv := func(x, w *gorgonia.Node) *gorgonia.Node {
		return must(gorgonia.Conv2d(x, w, tensor.Shape{3, 3}, []int{1, 1}, []int{1, 1}, []int{1, 1}))
	}
	h := relu(conv(c.x, weight("conv1", 4, 2, 3, 3)))
	residual := times(0.5, h)
	h = relu(conv(h, weight("conv2", 4, 4, 3, 3)))
	h = relu(must(gorgonia.Add(h, residual)))
	h = relu(view(times(1.5, h)))          // no view beside a built-in Add: the TapeMachine adds in place
	h = must(gorgonia.Add(h, times(2, h))) // two gradients
	h = must(gorgonia.MaxPool2D(h, tensor.Shape{2, 2}, []int{0, 0}, []int{2, 2}))
	h = must(gorgonia.Reshape(h, tensor.Shape{rows, 36}))
	c.logits = must(gorgonia.Mul(h, weight("fc", 36, classes)))
	p := must(gorgonia.SoftMax(c.logits))
	c.loss = must(gorgonia.Neg(must(gorgonia.Mean(must(gorgonia.Sum(must(gorgonia.HadamardProd(must(gorgonia.Log(p)), c.y)), 1))))))
	var err error
	if c.grads, err = gorgonia.Grad(c.loss, c.params...); err != nil {
		t.Fatal(err)
	}
	return c
}

// train runs steps of momentum and returns the bits of every loss, gradient
// and weight on the way.
func (c *convnet) train(t *testing.T, vm gorgonia.VM, value func(*gorgonia.Node) gorgonia.Value, steps int) []uint32 {
	t.Helper()
	r := rand.New(rand.NewPCG(7, 7))
	floats := func(v gorgonia.Value) []float32 { return v.Data().([]float32) }
	velocity := map[*gorgonia.Node][]float32{}
	var bits []uint32
	for range steps {
		x, y := floats(c.x.Value()), floats(c.y.Value())
		clear(y)
		for i := range x {
			x[i] = float32(r.NormFloat64())
		}
		for i := range rows {
			y[i*classes+r.IntN(classes)] = 1
		}
		vm.Reset()
		if err := vm.RunAll(); err != nil {
			t.Fatal(err)
		}
		bits = append(bits, math.Float32bits(value(c.loss).Data().(float32)))
		for i, p := range c.params {
			if velocity[p] == nil {
				velocity[p] = make([]float32, p.Shape().TotalSize())
			}
			w, v, g := floats(p.Value()), velocity[p], floats(value(c.grads[i]))
			for j := range w {
				v[j] = 0.9*v[j] + g[j]
				w[j] -= 0.01 * v[j]
				bits = append(bits, math.Float32bits(g[j]), math.Float32bits(w[j]))
			}
		}
	}
	return bits
}

func TestTrainingAgreesBitForBitWithTheTapeMachine(t *testing.T) {
	const steps = 12
	tape := newConvnet(t, map[string]*tensor.Dense{})
	vm := gorgonia.NewTapeMachine(tape.g)
	defer vm.Close()
	want := tape.train(t, vm, (*gorgonia.Node).Value, steps)
	first, last := math.Float32frombits(want[0]), tape.loss.Value().Data().(float32)
	if first == last || math.IsNaN(float64(last)) {
		t.Fatalf("the oracle does not train: loss %v, then %v", first, last)
	}

	for _, poison := range []bool{false, true} {
		t.Run(fmt.Sprintf("poison %v", poison), func(t *testing.T) {
			c := newConvnet(t, map[string]*tensor.Dense{})
			m, err := Compile(c.g, append(c.grads, c.loss))
			if err != nil {
				t.Fatal(err)
			}
			var vm gorgonia.VM = m
			if poison {
				vm = poisoned{m}
			}
			if got := c.train(t, vm, m.Value, steps); !slices.Equal(got, want) {
				t.Error("losses, gradients or weights differ from those of the TapeMachine")
			}
			if m.PlannedBytes() == 0 {
				t.Error("nothing was planned")
			}
		})
	}
}

// poisoned fills the shared memory with NaN before every run, so that a result
// that is read before it is written, or not written in full, shows.
type poisoned struct{ *Machine }

func (p poisoned) RunAll() error {
	for i := range p.arena {
		p.arena[i] = float32(math.NaN())
	}
	return p.Machine.RunAll()
}
