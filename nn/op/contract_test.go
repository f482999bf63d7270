package op_test

import (
	"fmt"
	"math"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/reprise-ml/reprise/nn/op"
)

// owner is the part of an operation an executor sees.
type owner interface {
	gorgonia.Op
	Output() *tensor.Dense
	SetOutput(*tensor.Dense)
}

func fillNaN(t *tensor.Dense) {
	for i, x := 0, t.Float32s(); i < len(x); i++ {
		x[i] = float32(math.NaN())
	}
}

func checkSameBits(t *testing.T, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Fatalf("%s: value %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

// largeCases are big enough to be split into several parts everywhere.
func largeCases() []opCase {
	type nodes = gorgonia.Nodes
	type node = *gorgonia.Node
	image := tensor.Shape{9, 20, 17, 18}
	return append(largeSequenceCases(), []opCase{
		{name: "conv", inputs: []tensor.Shape{image, {3, 3, 18, 11}}, build: func(p *op.Pool, in nodes) (node, error) {
			return op.Conv(p, in[0], in[1], op.ConvConfig{Pad: 1, Stride: 2})
		}},
		{name: "grouped conv", inputs: []tensor.Shape{image, {3, 3, 6, 12}}, build: func(p *op.Pool, in nodes) (node, error) {
			return op.Conv(p, in[0], in[1], op.ConvConfig{Pad: 1, Groups: 3})
		}},
		{name: "depthwise conv and batchNormReLU", inputs: []tensor.Shape{image, {3, 3, 1, 18}, {18}, {18}}, build: func(p *op.Pool, in nodes) (node, error) {
			h := gorgonia.Must(op.Conv(p, in[0], in[1], op.ConvConfig{Pad: 1, Groups: 18}))
			return op.BatchNormReLU(p, h, in[2], in[3], op.NewStatistics(18), op.BatchNormConfig{Train: true})
		}},
		{name: "linear", inputs: []tensor.Shape{{67, 130}, {70, 130}, {70}}, build: func(p *op.Pool, in nodes) (node, error) {
			return op.Linear(p, in[0], in[1], in[2])
		}},
		{name: "batchNorm", inputs: []tensor.Shape{image, {18}, {18}}, build: func(p *op.Pool, in nodes) (node, error) {
			return op.BatchNorm(p, in[0], in[1], in[2], op.NewStatistics(18), op.BatchNormConfig{Train: true, Ghost: 3})
		}},
		{name: "batchNormReLU", inputs: []tensor.Shape{image, {18}, {18}}, build: func(p *op.Pool, in nodes) (node, error) {
			return op.BatchNormReLU(p, in[0], in[1], in[2], op.NewStatistics(18), op.BatchNormConfig{Train: true})
		}},
		{name: "batchNormAddReLU", inputs: []tensor.Shape{image, {18}, {18}, image}, build: func(p *op.Pool, in nodes) (node, error) {
			return op.BatchNormAddReLU(p, in[0], in[3], in[1], in[2], op.NewStatistics(18), op.BatchNormConfig{Train: true})
		}},
		{name: "conv and batchNormReLU", inputs: []tensor.Shape{image, {3, 3, 18, 11}, {11}, {11}}, build: func(p *op.Pool, in nodes) (node, error) {
			h := gorgonia.Must(op.Conv(p, in[0], in[1], op.ConvConfig{Pad: 1}))
			return op.BatchNormReLU(p, h, in[2], in[3], op.NewStatistics(11), op.BatchNormConfig{Train: true})
		}},
		{name: "relu", inputs: []tensor.Shape{image}, build: func(p *op.Pool, in nodes) (node, error) { return op.ReLU(p, in[0]) }},
		{name: "add", inputs: []tensor.Shape{image, image}, build: func(p *op.Pool, in nodes) (node, error) { return op.Add(p, in[0], in[1]) }},
		{name: "bias", inputs: []tensor.Shape{image, {18}}, build: func(p *op.Pool, in nodes) (node, error) { return op.Bias(p, in[0], in[1]) }},
		{name: "globalAvgPool", inputs: []tensor.Shape{image}, build: func(p *op.Pool, in nodes) (node, error) { return op.GlobalAvgPool(p, in[0]) }},
		{name: "maxPool", inputs: []tensor.Shape{image}, build: func(p *op.Pool, in nodes) (node, error) {
			return op.MaxPool(p, in[0], op.PoolConfig{Kernel: 3, Stride: 2, Pad: 1})
		}},
		{name: "shortcut", inputs: []tensor.Shape{image}, build: func(p *op.Pool, in nodes) (node, error) { return op.Shortcut(p, in[0], 2, 36) }},
		{name: "dropout", inputs: []tensor.Shape{image}, build: func(p *op.Pool, in nodes) (node, error) {
			return op.Dropout(p, in[0], 0.3, 5, &op.Ticker{Seed: 1, Tick: 2})
		}},
		{name: "softmaxCrossEntropy", inputs: []tensor.Shape{{300, 9}}, build: func(p *op.Pool, in nodes) (node, error) {
			c, w := make([]int32, 300), make([]float32, 300)
			for i := range c {
				c[i], w[i] = int32(i%9), float32(i%3)
			}
			t := fixed(in[0].Graph(), "target", tensor.New(tensor.WithShape(300), tensor.WithBacking(c)))
			return op.SoftmaxCrossEntropy(p, in[0], t, fixed(in[0].Graph(), "weights", tensor.New(tensor.WithShape(300), tensor.WithBacking(w))), 0.1)
		}},
	}...)
}

func TestThePoolSizeDoesNotChangeABit(t *testing.T) {
	for _, c := range largeCases() {
		t.Run(c.name, func(t *testing.T) {
			in := c.draw()
			serial := newRun(t, c, nil, in)
			serial.run(t)
			for _, threads := range []int{1, 2, 8} {
				p := op.NewPool(threads)
				defer p.Close()
				r := newRun(t, c, p, in)
				r.run(t)
				checkSameBits(t, fmt.Sprintf("%d threads", threads), r.results(), serial.results())
			}
		})
	}
}

func TestOutputsMayBeReplacedAndAreFullyWritten(t *testing.T) {
	for _, c := range append(opCases(), largeCases()...) {
		t.Run(c.name, func(t *testing.T) {
			r := newRun(t, c, nil, c.draw())
			r.run(t)
			want := r.results()
			for range 2 {
				for _, o := range r.ops {
					o := o.(owner)
					if old := o.Output(); old != nil {
						fillNaN(old)
						fresh := tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(old.Shape()...))
						fillNaN(fresh)
						o.SetOutput(fresh)
						if o.Output() != fresh {
							t.Fatalf("%v did not take the tensor", o)
						}
					}
				}
				r.run(t)
				checkSameBits(t, "after SetOutput", r.results(), want)
			}
			if out, ok := r.out.Op().(owner); ok && out.Output() != nil && r.out.Value() != gorgonia.Value(out.Output()) {
				t.Fatalf("%v returned another tensor than the one it was given", out)
			}
		})
	}
}

func children(n *gorgonia.Node) (all gorgonia.Nodes) {
	for it := n.Graph().From(n.ID()); it.Next(); {
		all = append(all, it.Node().(*gorgonia.Node))
	}
	return all
}

// order is all that the given nodes need, inputs before their readers.
func order(want gorgonia.Nodes) (sorted gorgonia.Nodes) {
	seen := map[*gorgonia.Node]bool{}
	var visit func(n *gorgonia.Node)
	visit = func(n *gorgonia.Node) {
		if seen[n] {
			return
		}
		seen[n] = true
		for _, c := range children(n) {
			visit(c)
		}
		sorted = append(sorted, n)
	}
	for _, n := range want {
		visit(n)
	}
	return sorted
}

func TestMemoryMayBeReusedAfterItsLastReader(t *testing.T) {
	for _, c := range append(opCases(), largeCases()...) {
		t.Run(c.name, func(t *testing.T) {
			r := newRun(t, c, nil, c.draw())
			r.run(t)
			want := r.results()[len(values(r.out)):]
			sorted := order(append(gorgonia.Nodes{r.loss}, r.grads...))
			readers := map[*gorgonia.Node]int{}
			for _, n := range sorted {
				for _, c := range children(n) {
					readers[c]++
				}
			}
			for _, g := range r.grads {
				readers[g]++
			}
			vals := map[*gorgonia.Node]gorgonia.Value{}
			for _, n := range sorted {
				if n.Op() == nil || len(children(n)) == 0 {
					vals[n] = n.Value()
					continue
				}
				var in []gorgonia.Value
				for _, c := range children(n) {
					in = append(in, vals[c])
				}
				v, err := n.Op().Do(in...)
				if err != nil {
					t.Fatal(err)
				}
				vals[n] = v
				for _, c := range children(n) {
					readers[c]--
					if o, ok := c.Op().(owner); ok && readers[c] == 0 && o.Output() != nil {
						fillNaN(o.Output())
					}
				}
			}
			var got []float32
			for _, g := range r.grads {
				got = append(got, vals[g].(*tensor.Dense).Float32s()...)
			}
			checkSameBits(t, "gradients", got, want)
		})
	}
}

func TestDoDoesNotAllocate(t *testing.T) {
	p := op.NewPool(2)
	defer p.Close()
	for _, c := range append(opCases(), largeCases()...) {
		t.Run(c.name, func(t *testing.T) {
			r := newRun(t, c, p, c.draw())
			r.run(t)
			for _, n := range order(append(gorgonia.Nodes{r.loss}, r.grads...)) {
				if _, ok := n.Op().(owner); !ok {
					continue
				}
				var in []gorgonia.Value
				for _, c := range children(n) {
					v := c.Value()
					if v == nil {
						t.Fatalf("no value for %v", c)
					}
					in = append(in, v)
				}
				allocs := testing.AllocsPerRun(3, func() {
					if _, err := n.Op().Do(in...); err != nil {
						t.Fatal(err)
					}
				})
				if allocs != 0 {
					t.Errorf("%v allocates %v times a run", n.Op(), allocs)
				}
			}
		})
	}
}

func TestOperationsOfAGraphHaveDifferentHashes(t *testing.T) {
	g := gorgonia.NewGraph()
	x := fixed(g, "x", tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(2, 3)))
	r := &op.Ticker{}
	a := gorgonia.Must(op.Dropout(nil, x, 0.1, 1, r))
	b := gorgonia.Must(op.Dropout(nil, x, 0.1, 1, r))
	if a == b || a.Op().Hashcode() == b.Op().Hashcode() {
		t.Fatal("two dropouts of the same input became one")
	}
}

func TestInferShapeNamesExpectedAndFoundShape(t *testing.T) {
	g := gorgonia.NewGraph()
	x := fixed(g, "x", tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(2, 3)))
	n := gorgonia.Must(op.ReLU(nil, x))
	_, err := n.Op().InferShape(tensor.Shape{4, 3})
	if want := "op: relu: input 0 has shape (4, 3), want (2, 3)"; err == nil || err.Error() != want {
		t.Errorf("InferShape returned %v, want %q", err, want)
	}
	if _, err := n.Op().InferShape(); err == nil {
		t.Error("InferShape accepted no input")
	}
	if s, err := n.Op().InferShape(tensor.Shape{2, 3}); err != nil || !s.Eq(tensor.Shape{2, 3}) {
		t.Errorf("InferShape returned %v, %v", s, err)
	}
}

func TestSetOutputRefusesAnotherShape(t *testing.T) {
	g := gorgonia.NewGraph()
	x := fixed(g, "x", tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(2, 3)))
	o := gorgonia.Must(op.ReLU(nil, x)).Op().(owner)
	defer func() {
		if recover() == nil {
			t.Error("SetOutput took a tensor of another shape")
		}
	}()
	o.SetOutput(tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(3, 2)))
}
