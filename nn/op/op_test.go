package op_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/reprise-ml/reprise/nn/op"
)

// opCase is one operation on given shapes with its reference.
type opCase struct {
	name   string
	inputs []tensor.Shape
	build  func(p *op.Pool, in gorgonia.Nodes) (*gorgonia.Node, error)
	ref    func(in [][]float64) []float64
	kinks  bool // the inputs must keep away from each other and from 0

	outGrad []float32 // gradient of the output; nil means random
}

var (
	runningMean = []float64{0.25, -0.5, 0.125, 1, -1}
	runningVar  = []float64{0.5, 2, 1, 0.25, 4}
	classes     = []int32{2, 0, 6, 99, 3}
	rowWeights  = []float64{1, 0.5, 2, 0, 1}
)

func single(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}

func softTargets() []float64 {
	t := make([]float64, 35)
	for i := range t {
		t[i] = float64(i*i%7) / 16
	}
	return t
}

func oneHot() []float64 {
	t := make([]float64, 35)
	for n, c := range classes {
		if c < 7 {
			t[n*7+int(c)] = 1
		}
	}
	return t
}

func fixed(g *gorgonia.ExprGraph, name string, t *tensor.Dense) *gorgonia.Node {
	return gorgonia.NewTensor(g, t.Dtype(), t.Dims(), gorgonia.WithShape(t.Shape()...), gorgonia.WithName(name), gorgonia.WithValue(t))
}

func opCases() []opCase { return append(imageCases(), sequenceCases()...) }

// imageCases are the operations on images and rows.
func imageCases() []opCase {
	type nodes = gorgonia.Nodes
	type node = *gorgonia.Node
	grouped := func(groups, n, h, w, in, kh, kw, out, stride, pad int) opCase {
		xs, ws := [4]int{n, h, w, in}, [4]int{kh, kw, in / max(1, groups), out}
		return opCase{
			name:   fmt.Sprintf("conv %dx%d stride %d pad %d groups %d of %v to %d", kh, kw, stride, pad, groups, xs, out),
			inputs: []tensor.Shape{xs[:], ws[:]},
			build: func(p *op.Pool, in nodes) (node, error) {
				return op.Conv(p, in[0], in[1], op.ConvConfig{Stride: stride, Pad: pad, Groups: groups})
			},
			ref: refConv(xs, ws, stride, pad, max(1, groups)),
		}
	}
	conv := func(n, h, w, in, kh, kw, out, stride, pad int) opCase {
		return grouped(0, n, h, w, in, kh, kw, out, stride, pad)
	}
	norm := func(name string, x tensor.Shape, groups int, c op.BatchNormConfig) opCase {
		ch := x[len(x)-1]
		var m, v []float64
		if !c.Train {
			m, v = runningMean[:ch], runningVar[:ch]
		}
		return opCase{
			name:   name,
			inputs: []tensor.Shape{x, {ch}, {ch}},
			build: func(p *op.Pool, in nodes) (node, error) {
				return op.BatchNorm(p, in[0], in[1], in[2], &op.Statistics{Mean: single(runningMean[:ch]), Var: single(runningVar[:ch])}, c)
			},
			ref: refBatchNorm(groups, x.TotalSize()/ch/groups, ch, m, v),
		}
	}
	normReLU := func(name string, x tensor.Shape, groups int, skip bool, c op.BatchNormConfig) opCase {
		o := norm(name, x, groups, c)
		plain, ch := o.ref, x[len(x)-1]
		st := func() *op.Statistics {
			return &op.Statistics{Mean: single(runningMean[:ch]), Var: single(runningVar[:ch])}
		}
		if !skip {
			o.build = func(p *op.Pool, in nodes) (node, error) { return op.BatchNormReLU(p, in[0], in[1], in[2], st(), c) }
			o.ref = func(in [][]float64) []float64 { return refReLU([][]float64{plain(in)}) }
			return o
		}
		o.inputs = append(o.inputs, x)
		o.build = func(p *op.Pool, in nodes) (node, error) {
			return op.BatchNormAddReLU(p, in[0], in[3], in[1], in[2], st(), c)
		}
		o.ref = func(in [][]float64) []float64 {
			return refReLU([][]float64{refAdd([][]float64{plain(in[:3]), in[3]})})
		}
		return o
	}
	convNorm := func(name string, xs, ws [4]int, conv op.ConvConfig, c op.BatchNormConfig) opCase {
		ch, groups := ws[3], 1
		if c.Ghost > 0 {
			groups = xs[0] / c.Ghost
		}
		return opCase{
			name:   name,
			inputs: []tensor.Shape{xs[:], ws[:], {ch}, {ch}},
			build: func(p *op.Pool, in nodes) (node, error) {
				h := gorgonia.Must(op.Conv(p, in[0], in[1], conv))
				return op.BatchNorm(p, h, in[2], in[3], op.NewStatistics(ch), c)
			},
			ref: func(in [][]float64) []float64 {
				h := refConv(xs, ws, max(1, conv.Stride), conv.Pad, max(1, conv.Groups))(in)
				return refBatchNorm(groups, len(h)/ch/groups, ch, nil, nil)([][]float64{h, in[2], in[3]})
			},
		}
	}
	pool := func(xs [4]int, c op.PoolConfig, stride int) opCase {
		return opCase{
			name:   fmt.Sprintf("maxPool %+v of %v", c, xs),
			inputs: []tensor.Shape{xs[:]},
			build:  func(p *op.Pool, in nodes) (node, error) { return op.MaxPool(p, in[0], c) },
			ref:    refMaxPool(xs, c.Kernel, stride, c.Pad),
			kinks:  true,
		}
	}
	loss := func(name string, soft bool, smoothing float64) opCase {
		target := oneHot()
		if soft {
			target = softTargets()
		}
		return opCase{
			name:   name,
			inputs: []tensor.Shape{{5, 7}},
			build: func(p *op.Pool, in nodes) (node, error) {
				g := in[0].Graph()
				t := fixed(g, "target", tensor.New(tensor.WithShape(5), tensor.WithBacking(append([]int32(nil), classes...))))
				if soft {
					t = fixed(g, "target", tensor.New(tensor.WithShape(5, 7), tensor.WithBacking(single(target))))
				}
				w := fixed(g, "weights", tensor.New(tensor.WithShape(5), tensor.WithBacking(single(rowWeights))))
				return op.SoftmaxCrossEntropy(p, in[0], t, w, float32(smoothing))
			},
			ref: refCrossEntropy(7, target, rowWeights, smoothing),
		}
	}
	return []opCase{
		conv(2, 5, 6, 3, 3, 3, 4, 1, 1),
		conv(2, 6, 7, 3, 3, 3, 5, 2, 1),
		conv(1, 5, 5, 2, 1, 1, 3, 1, 0),
		conv(2, 5, 4, 5, 1, 1, 6, 2, 0),
		conv(1, 9, 8, 1, 7, 5, 2, 2, 3),
		conv(1, 4, 4, 2, 2, 2, 3, 3, 0),
		conv(3, 3, 3, 4, 3, 3, 8, 1, 2),
		grouped(1, 2, 4, 4, 3, 3, 3, 2, 1, 1),
		grouped(2, 2, 5, 4, 6, 3, 3, 4, 1, 1),
		grouped(3, 1, 5, 5, 3, 3, 3, 6, 2, 1), // depthwise, two outputs of each channel
		grouped(19, 1, 4, 4, 19, 3, 3, 19, 1, 1),
		{
			name: "linear", inputs: []tensor.Shape{{5, 6}, {3, 6}, {3}}, ref: refLinear(5, 6, 3),
			build: func(p *op.Pool, in nodes) (node, error) { return op.Linear(p, in[0], in[1], in[2]) },
		},
		{
			name: "linear without bias", inputs: []tensor.Shape{{4, 3}, {5, 3}}, ref: refLinear(4, 3, 5),
			build: func(p *op.Pool, in nodes) (node, error) { return op.Linear(p, in[0], in[1], nil) },
		},
		norm("batchNorm", tensor.Shape{3, 4, 2, 5}, 1, op.BatchNormConfig{Train: true}),
		norm("batchNorm of rows", tensor.Shape{7, 3}, 1, op.BatchNormConfig{Train: true}),
		norm("batchNorm with ghost batches", tensor.Shape{4, 3, 2, 5}, 2, op.BatchNormConfig{Train: true, Ghost: 2}),
		norm("batchNorm in evaluation", tensor.Shape{3, 4, 2, 5}, 1, op.BatchNormConfig{}),
		normReLU("batchNormReLU", tensor.Shape{3, 4, 2, 5}, 1, false, op.BatchNormConfig{Train: true}),
		normReLU("batchNormReLU of rows with ghost batches", tensor.Shape{6, 3}, 2, false, op.BatchNormConfig{Train: true, Ghost: 3}),
		normReLU("batchNormReLU in evaluation", tensor.Shape{3, 4, 2, 5}, 1, false, op.BatchNormConfig{}),
		normReLU("batchNormAddReLU", tensor.Shape{3, 4, 2, 5}, 1, true, op.BatchNormConfig{Train: true}),
		normReLU("batchNormAddReLU with ghost batches", tensor.Shape{4, 3, 2, 5}, 2, true, op.BatchNormConfig{Train: true, Ghost: 2}),
		normReLU("batchNormAddReLU in evaluation", tensor.Shape{3, 4, 2, 5}, 1, true, op.BatchNormConfig{}),
		{
			name: "relu", inputs: []tensor.Shape{{3, 4, 5}}, ref: refReLU, kinks: true,
			build: func(p *op.Pool, in nodes) (node, error) { return op.ReLU(p, in[0]) },
		},
		{
			name: "add", inputs: []tensor.Shape{{3, 4}, {3, 4}}, ref: refAdd,
			build: func(p *op.Pool, in nodes) (node, error) { return op.Add(p, in[0], in[1]) },
		},
		{
			name: "bias", inputs: []tensor.Shape{{2, 3, 2, 5}, {5}}, ref: refAdd,
			build: func(p *op.Pool, in nodes) (node, error) { return op.Bias(p, in[0], in[1]) },
		},
		{
			name: "globalAvgPool", inputs: []tensor.Shape{{3, 4, 2, 5}}, ref: refGlobalAvgPool(3, 8, 5),
			build: func(p *op.Pool, in nodes) (node, error) { return op.GlobalAvgPool(p, in[0]) },
		},
		pool([4]int{2, 4, 6, 3}, op.PoolConfig{Kernel: 2}, 2),
		pool([4]int{2, 7, 5, 2}, op.PoolConfig{Kernel: 3, Stride: 2, Pad: 1}, 2),
		pool([4]int{1, 5, 5, 3}, op.PoolConfig{Kernel: 3, Stride: 1}, 1),
		{
			name: "shortcut", inputs: []tensor.Shape{{2, 4, 5, 3}}, ref: refShortcut([4]int{2, 4, 5, 3}, 2, 6),
			build: func(p *op.Pool, in nodes) (node, error) { return op.Shortcut(p, in[0], 2, 6) },
		},
		{
			name: "flatten", inputs: []tensor.Shape{{2, 4, 5, 3}}, ref: refSame,
			build: func(p *op.Pool, in nodes) (node, error) { return op.Flatten(p, in[0]) },
		},
		{
			name: "residual block", inputs: []tensor.Shape{{3, 4, 4, 2}, {3, 3, 2, 4}, {4}, {4}},
			build: func(p *op.Pool, in nodes) (node, error) {
				h := gorgonia.Must(op.Conv(p, in[0], in[1], op.ConvConfig{Stride: 2, Pad: 1}))
				h = gorgonia.Must(op.BatchNorm(p, h, in[2], in[3], op.NewStatistics(4), op.BatchNormConfig{Train: true}))
				h = gorgonia.Must(op.Add(p, h, gorgonia.Must(op.Shortcut(p, in[0], 2, 4))))
				return op.GlobalAvgPool(p, gorgonia.Must(op.ReLU(p, h)))
			},
			ref: func(in [][]float64) []float64 {
				h := refConv([4]int{3, 4, 4, 2}, [4]int{3, 3, 2, 4}, 2, 1, 1)(in)
				h = refBatchNorm(1, 12, 4, nil, nil)([][]float64{h, in[2], in[3]})
				h = refAdd([][]float64{h, refShortcut([4]int{3, 4, 4, 2}, 2, 4)(in)})
				return refGlobalAvgPool(3, 4, 4)([][]float64{refReLU([][]float64{h})})
			},
		},
		convNorm("conv and batchNorm", [4]int{3, 5, 4, 2}, [4]int{3, 3, 2, 5}, op.ConvConfig{Stride: 2, Pad: 1}, op.BatchNormConfig{Train: true}),
		convNorm("conv and batchNorm with ghost batches", [4]int{4, 3, 4, 2}, [4]int{2, 1, 2, 3}, op.ConvConfig{}, op.BatchNormConfig{Train: true, Ghost: 2}),
		convNorm("grouped conv and batchNorm", [4]int{3, 5, 4, 6}, [4]int{3, 3, 2, 9}, op.ConvConfig{Pad: 1, Groups: 3}, op.BatchNormConfig{Train: true}),
		convNorm("depthwise conv and batchNorm", [4]int{2, 4, 4, 18}, [4]int{3, 3, 1, 18}, op.ConvConfig{Stride: 2, Pad: 1, Groups: 18}, op.BatchNormConfig{Train: true}),
		{
			name: "conv and two batchNorms", inputs: []tensor.Shape{{3, 4, 3, 2}, {1, 1, 2, 3}, {3}, {3}},
			build: func(p *op.Pool, in nodes) (node, error) {
				h := gorgonia.Must(op.Conv(p, in[0], in[1], op.ConvConfig{}))
				a := gorgonia.Must(op.BatchNorm(p, h, in[2], in[3], op.NewStatistics(3), op.BatchNormConfig{Train: true}))
				b := gorgonia.Must(op.BatchNorm(p, h, in[3], in[2], op.NewStatistics(3), op.BatchNormConfig{Train: true}))
				return op.Add(p, gorgonia.Must(op.Add(p, a, b)), h)
			},
			ref: func(in [][]float64) []float64 {
				h := refConv([4]int{3, 4, 3, 2}, [4]int{1, 1, 2, 3}, 1, 0, 1)(in)
				norm := refBatchNorm(1, 36, 3, nil, nil)
				a, b := norm([][]float64{h, in[2], in[3]}), norm([][]float64{h, in[3], in[2]})
				return refAdd([][]float64{refAdd([][]float64{a, b}), h})
			},
		},
		loss("softmaxCrossEntropy of classes", false, 0),
		loss("softmaxCrossEntropy smoothed", false, 0.1),
		loss("softmaxCrossEntropy of distributions", true, 0),
		loss("softmaxCrossEntropy of distributions smoothed", true, 0.2),
	}
}

// draw fills inputs for a case: normal, or for kinks a shuffled grid that stays 0.05 from 0.
func (c opCase) draw() [][]float64 {
	r := rand.New(rand.NewPCG(1, uint64(len(c.name))))
	in := make([][]float64, len(c.inputs))
	for i, s := range c.inputs {
		in[i] = make([]float64, s.TotalSize())
		perm := r.Perm(len(in[i]))
		for j := range in[i] {
			v := r.NormFloat64()
			if c.kinks {
				v = 0.1*float64(perm[j]-len(perm)/2) + 0.05
			}
			in[i][j] = float64(float32(v))
		}
	}
	return in
}

// weigh is the sum of an input with fixed weights, so that every output has its own gradient.
type weigh struct {
	shape   tensor.Shape
	weights []float32
	sum     *gorgonia.F32
}

func newWeigh(n *gorgonia.Node) *weigh {
	w := &weigh{shape: n.Shape(), sum: gorgonia.NewF32(0)}
	r := rand.New(rand.NewPCG(7, 7))
	for range w.shape.TotalSize() {
		w.weights = append(w.weights, float32(r.NormFloat64()))
	}
	return w
}

func (w *weigh) apply(y []float64) (sum float64) {
	for i, v := range y {
		sum += v * float64(w.weights[i])
	}
	return sum
}

// run is an operation in a graph with a scalar loss, gradients and a machine.
type run struct {
	inputs, grads gorgonia.Nodes
	out, loss     *gorgonia.Node
	weigh         *weigh // nil where the output is a scalar already
	ops           []gorgonia.Op
	vm            gorgonia.VM
}

func newRun(t testing.TB, c opCase, p *op.Pool, in [][]float64) *run {
	t.Helper()
	g := gorgonia.NewGraph()
	r := &run{}
	for i, s := range c.inputs {
		r.inputs = append(r.inputs, fixed(g, fmt.Sprintf("in%d", i), tensor.New(tensor.WithShape(s...), tensor.WithBacking(single(in[i])))))
	}
	var err error
	if r.out, err = c.build(p, r.inputs); err != nil {
		t.Fatal(err)
	}
	r.loss = r.out
	if !r.out.IsScalar() {
		r.weigh = newWeigh(r.out)
		if c.outGrad != nil {
			r.weigh.weights = c.outGrad
		}
		if r.loss, err = gorgonia.ApplyOp(r.weigh, r.out); err != nil {
			t.Fatal(err)
		}
	}
	if r.grads, err = gorgonia.Grad(r.loss, r.inputs...); err != nil {
		t.Fatal(err)
	}
	for _, n := range g.AllNodes() {
		if _, ok := n.Op().(interface{ Output() *tensor.Dense }); ok {
			r.ops = append(r.ops, n.Op())
		}
	}
	r.vm = gorgonia.NewTapeMachine(g)
	t.Cleanup(func() { r.vm.Close() })
	return r
}

func (r *run) run(t testing.TB) {
	t.Helper()
	r.vm.Reset()
	if err := r.vm.RunAll(); err != nil {
		t.Fatal(err)
	}
}

func values(n *gorgonia.Node) []float32 {
	switch v := n.Value().(type) {
	case *gorgonia.F32:
		return []float32{float32(*v)}
	default:
		return v.(*tensor.Dense).Float32s()
	}
}

// results are the output and the gradients of the last run.
func (r *run) results() (all []float32) {
	all = append(all, values(r.out)...)
	for _, g := range r.grads {
		all = append(all, values(g)...)
	}
	return all
}

func checkClose(t *testing.T, what string, got []float32, want []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	scale := 1e-3
	for _, w := range want {
		scale = max(scale, math.Abs(w))
	}
	for i, w := range want {
		if !(math.Abs(float64(got[i])-w) <= tolerance*scale) {
			t.Fatalf("%s: value %d is %v, want %v (scale %v)", what, i, got[i], w, scale)
		}
	}
}

func TestOutputsAgreeWithFloat64References(t *testing.T) {
	for _, c := range opCases() {
		t.Run(c.name, func(t *testing.T) {
			in := c.draw()
			r := newRun(t, c, nil, in)
			r.run(t)
			checkClose(t, "output", values(r.out), c.ref(in), 2e-6)
		})
	}
}

func TestGradientsAgreeWithFiniteDifferences(t *testing.T) {
	const eps = 1e-4
	for _, c := range opCases() {
		t.Run(c.name, func(t *testing.T) {
			in := c.draw()
			r := newRun(t, c, nil, in)
			r.run(t)
			loss := func() float64 {
				y := c.ref(in)
				if r.weigh == nil {
					return y[0]
				}
				return r.weigh.apply(y)
			}
			for i := range in {
				want := make([]float64, len(in[i]))
				for j, v := range in[i] {
					in[i][j] = v + eps
					up := loss()
					in[i][j] = v - eps
					want[j] = (up - loss()) / (2 * eps)
					in[i][j] = v
				}
				checkClose(t, fmt.Sprintf("gradient of input %d", i), values(r.grads[i]), want, 1e-5)
			}
		})
	}
}
