package models

import (
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/reprise-ml/reprise/internal/exec"
	"github.com/reprise-ml/reprise/nn"
	"github.com/reprise-ml/reprise/nn/op"
)

// graph is a model with its loss, mostly a classifier of images of size by size pixels.
type graph struct {
	rows, size     int
	x, y, w        *gorgonia.Node
	logits, loss   *gorgonia.Node
	weights, grads gorgonia.Nodes
	machine        *exec.Machine
	ticker         *op.Ticker
}

// newGraph makes one for images of 32 by 32 pixels.
func newGraph(t *testing.T, m nn.Model, p *nn.Params, rows int, c nn.Config) *graph {
	t.Helper()
	return newGraphOf(t, m, p, rows, 32, c)
}

func newGraphOf(t *testing.T, m nn.Model, p *nn.Params, rows, size int, c nn.Config) *graph {
	t.Helper()
	zeros := func(of tensor.Dtype, shape ...int) *tensor.Dense {
		return tensor.New(tensor.Of(of), tensor.WithShape(shape...))
	}
	g := newGraphWith(t, m, p, c, zeros(tensor.Float32, rows, size, size, 3), zeros(tensor.Int32, rows), zeros(tensor.Float32, rows))
	g.rows, g.size = rows, size
	return g
}

// newGraphWith makes one of any input, targets and weights.
func newGraphWith(t *testing.T, m nn.Model, p *nn.Params, c nn.Config, x, y, w *tensor.Dense) *graph {
	t.Helper()
	s := nn.NewScope(p, c)
	input := func(name string, v *tensor.Dense) *gorgonia.Node {
		return gorgonia.NewTensor(s.Graph(), v.Dtype(), v.Dims(), gorgonia.WithName(name), gorgonia.WithShape(v.Shape()...), gorgonia.WithValue(v))
	}
	g := &graph{x: input("x", x), y: input("y", y), w: input("w", w), ticker: s.Ticker()}
	outputs := m.Apply(s, gorgonia.Nodes{g.x})
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	g.loss = nn.CrossEntropy{}.Apply(s, outputs, gorgonia.Nodes{g.y}, g.w)
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	g.logits, g.weights = outputs[0], s.Weights()
	if c.Train {
		var err error
		if g.grads, err = gorgonia.Grad(g.loss, g.weights...); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if g.machine, err = s.Compile(append(gorgonia.Nodes{g.logits, g.loss}, g.grads...)...); err != nil {
		t.Fatal(err)
	}
	return g
}

// setBatch fills the inputs by the formula.
func (g *graph) setBatch() { g.setBatchOf("input") }

func (g *graph) setBatchOf(name string) {
	pixels := g.size * g.size
	u := formula(name, g.rows*3*pixels)
	x := floats(g.x.Value())
	for n := range g.rows { // [rows, channels, pixels] to [rows, pixels, channels]
		for c := range 3 {
			for p := range pixels {
				x[(n*pixels+p)*3+c] = float32(1.5 * u[(n*3+c)*pixels+p])
			}
		}
	}
	y, w := g.y.Value().(*tensor.Dense).Int32s(), floats(g.w.Value())
	for i := range y {
		y[i], w[i] = int32((3*i+1)%10), 1
	}
}

func (g *graph) run(t *testing.T) float64 {
	t.Helper()
	if err := g.machine.RunAll(); err != nil {
		t.Fatal(err)
	}
	g.machine.Commit()
	return float64(g.machine.Value(g.loss).Data().(float32))
}

func floats(v gorgonia.Value) []float32 { return v.(*tensor.Dense).Float32s() }

// sgd is PyTorch's SGD with Nesterov momentum 0.9 and weight decay 5e-4.
func (g *graph) sgd(velocity map[string][]float32, rate float32) {
	for i, n := range g.weights {
		w, d := floats(n.Value()), floats(g.machine.Value(g.grads[i]))
		v := velocity[n.Name()]
		if v == nil {
			v = make([]float32, len(w))
			velocity[n.Name()] = v
		}
		for j := range w {
			slope := d[j] + 5e-4*w[j]
			v[j] = 0.9*v[j] + slope
			w[j] -= rate * (slope + 0.9*v[j])
		}
	}
}
