package op_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/reprise-ml/reprise/nn/op"
)

var (
	tokenNumbers = []int32{2, 0, 3, 2, 2, 0}
	tokenWeights = []float64{1, 0.5, 2, 0, 1, 3}
	tokenTargets = []int32{1, 0, 4, 99, 2, 2}
)

// tokens is an int32 node [2, 3].
func tokens(g *gorgonia.ExprGraph, name string, numbers []int32) *gorgonia.Node {
	return fixed(g, name, tensor.New(tensor.WithShape(2, 3), tensor.WithBacking(slices.Clone(numbers))))
}

// sequenceCases are the operations on sequences of tokens.
func sequenceCases() []opCase {
	type nodes = gorgonia.Nodes
	type node = *gorgonia.Node
	attention := func(batch, context, heads, size int, causal bool) opCase {
		return opCase{
			name:   fmt.Sprintf("attention of %d heads of %d over %d positions, causal %v", heads, size, context, causal),
			inputs: []tensor.Shape{{batch, context, 3 * heads * size}},
			build:  func(p *op.Pool, in nodes) (node, error) { return op.Attention(p, in[0], heads, causal) },
			ref:    refAttention(batch, context, heads, size, causal),
		}
	}
	loss := func(each bool) opCase {
		weights, rows, shape := tokenWeights, tokenWeights, tensor.Shape{2, 3}
		if !each {
			weights, rows, shape = []float64{2, 0.5}, []float64{2, 2, 2, 0.5, 0.5, 0.5}, tensor.Shape{2}
		}
		targets := slices.Clone(tokenTargets)
		if !each {
			targets[3] = 3
		}
		hot := make([]float64, 6*5)
		for n, c := range targets {
			if c < 5 {
				hot[n*5+int(c)] = 1
			}
		}
		return opCase{
			name:   fmt.Sprintf("softmaxCrossEntropy of tokens, a weight each %v", each),
			inputs: []tensor.Shape{{2, 3, 5}},
			build: func(p *op.Pool, in nodes) (node, error) {
				g := in[0].Graph()
				w := fixed(g, "weights", tensor.New(tensor.WithShape(shape...), tensor.WithBacking(single(weights))))
				return op.SoftmaxCrossEntropy(p, in[0], tokens(g, "target", targets), w, 0.1)
			},
			ref: refCrossEntropy(5, hot, rows, 0.1),
		}
	}
	// fused is that loss of a linear layer, which is the same again.
	fused := func(each bool, factor float64) opCase {
		c := loss(each)
		logits := refLinear(6, 4, 5)
		ref := c.ref
		build := c.build
		c.name = fmt.Sprintf("linearCrossEntropy times %v: %s", factor, c.name)
		c.inputs = []tensor.Shape{{2, 3, 4}, {5, 4}}
		c.build = func(p *op.Pool, in nodes) (node, error) {
			y := gorgonia.Must(op.Linear(p, in[0], in[1], nil))
			unfused := gorgonia.Must(build(p, nodes{y}))
			ins := children(unfused)
			l, err := op.LinearCrossEntropy(p, y, ins[1], ins[2], 0.1)
			if err != nil || factor == 1 {
				return l, err
			}
			return gorgonia.Mul(l, gorgonia.NewConstant(float32(factor)))
		}
		c.ref = func(in [][]float64) []float64 { return []float64{factor * ref([][]float64{logits(in)})[0]} }
		return c
	}
	return []opCase{
		{
			name: "linear of sequences", inputs: []tensor.Shape{{2, 3, 6}, {5, 6}, {5}}, ref: refLinear(6, 6, 5),
			build: func(p *op.Pool, in nodes) (node, error) { return op.Linear(p, in[0], in[1], in[2]) },
		},
		{
			name: "layerNorm", inputs: []tensor.Shape{{2, 3, 7}, {7}, {7}}, ref: refLayerNorm(7),
			build: func(p *op.Pool, in nodes) (node, error) { return op.LayerNorm(p, in[0], in[1], in[2], 1e-5) },
		},
		{
			name: "gelu", inputs: []tensor.Shape{{3, 4, 5}}, ref: refGELU,
			build: func(p *op.Pool, in nodes) (node, error) { return op.GELU(p, in[0]) },
		},
		{
			name: "embedding", inputs: []tensor.Shape{{4, 5}},
			build: func(p *op.Pool, in nodes) (node, error) {
				return op.Embedding(p, in[0], tokens(in[0].Graph(), "ids", tokenNumbers))
			},
			ref: func(in [][]float64) (y []float64) {
				for _, id := range tokenNumbers {
					y = append(y, in[0][id*5:(id+1)*5]...)
				}
				return y
			},
		},
		{
			name: "position", inputs: []tensor.Shape{{2, 3, 4}, {5, 4}},
			build: func(p *op.Pool, in nodes) (node, error) { return op.Position(p, in[0], in[1], nil) },
			ref:   func(in [][]float64) []float64 { return refAdd([][]float64{in[0], in[1][:12]}) },
		},
		{
			name: "position of a table for one row", inputs: []tensor.Shape{{2, 3, 4}, {1, 3, 4}}, ref: refAdd,
			build: func(p *op.Pool, in nodes) (node, error) { return op.Position(p, in[0], in[1], nil) },
		},
		{
			name: "classToken", inputs: []tensor.Shape{{2, 2, 3, 4}, {1, 1, 4}},
			build: func(p *op.Pool, in nodes) (node, error) { return op.ClassToken(p, in[0], in[1]) },
			ref: func(in [][]float64) []float64 {
				return slices.Concat(in[1], in[0][:24], in[1], in[0][24:])
			},
		},
		{
			name: "firstToken", inputs: []tensor.Shape{{2, 3, 4}},
			build: func(p *op.Pool, in nodes) (node, error) { return op.FirstToken(p, in[0]) },
			ref:   func(in [][]float64) []float64 { return slices.Concat(in[0][:4], in[0][12:16]) },
		},
		{
			name: "mean of tokens", inputs: []tensor.Shape{{3, 4, 5}}, ref: refGlobalAvgPool(3, 4, 5),
			build: func(p *op.Pool, in nodes) (node, error) { return op.GlobalAvgPool(p, in[0]) },
		},
		{
			name: "tokens", inputs: []tensor.Shape{{2, 4, 5, 3}}, ref: refSame,
			build: func(p *op.Pool, in nodes) (node, error) { return op.Tokens(p, in[0]) },
		},
		{
			name: "linearOfGELU", inputs: []tensor.Shape{{2, 3, 6}, {5, 6}, {5}},
			build: func(p *op.Pool, in nodes) (node, error) { return op.LinearOfGELU(p, in[0], in[1], in[2]) },
			ref: func(in [][]float64) []float64 {
				return refLinear(6, 6, 5)([][]float64{refGELU(in), in[1], in[2]})
			},
		},
		{
			name: "linearOfGELU without bias", inputs: []tensor.Shape{{4, 6}, {5, 6}},
			build: func(p *op.Pool, in nodes) (node, error) { return op.LinearOfGELU(p, in[0], in[1], nil) },
			ref:   func(in [][]float64) []float64 { return refLinear(4, 6, 5)([][]float64{refGELU(in), in[1]}) },
		},
		fused(true, 1),
		fused(false, 1),
		fused(true, 0.25),
		attention(2, 5, 3, 4, true),
		attention(2, 5, 2, 3, false),
		attention(1, 1, 1, 2, true),
		loss(true),
		loss(false),
		{
			name: "embedding and its transpose", inputs: []tensor.Shape{{5, 4}},
			build: func(p *op.Pool, in nodes) (node, error) {
				h := gorgonia.Must(op.Embedding(p, in[0], tokens(in[0].Graph(), "ids", tokenNumbers)))
				return op.Linear(p, h, in[0], nil)
			},
			ref: func(in [][]float64) []float64 {
				var h []float64
				for _, id := range tokenNumbers {
					h = append(h, in[0][id*4:(id+1)*4]...)
				}
				return refLinear(6, 4, 5)([][]float64{h, in[0]})
			},
		},
	}
}

// largeSequenceCases are big enough to be split into several parts everywhere.
func largeSequenceCases() []opCase {
	type nodes = gorgonia.Nodes
	type node = *gorgonia.Node
	x := tensor.Shape{7, 70, 66}
	return []opCase{
		{name: "layerNorm", inputs: []tensor.Shape{x, {66}, {66}}, build: func(p *op.Pool, in nodes) (node, error) {
			return op.LayerNorm(p, in[0], in[1], in[2], 1e-5)
		}},
		{name: "gelu", inputs: []tensor.Shape{x}, build: func(p *op.Pool, in nodes) (node, error) { return op.GELU(p, in[0]) }},
		{name: "embedding", inputs: []tensor.Shape{{200, 66}}, build: func(p *op.Pool, in nodes) (node, error) {
			ids := make([]int32, 490)
			for i := range ids {
				ids[i] = int32(i * i % 199)
			}
			return op.Embedding(p, in[0], fixed(in[0].Graph(), "ids", tensor.New(tensor.WithShape(7, 70), tensor.WithBacking(ids))))
		}},
		{name: "position", inputs: []tensor.Shape{x, {99, 66}}, build: func(p *op.Pool, in nodes) (node, error) {
			return op.Position(p, in[0], in[1], nil)
		}},
		{name: "classToken", inputs: []tensor.Shape{x, {66}}, build: func(p *op.Pool, in nodes) (node, error) { return op.ClassToken(p, in[0], in[1]) }},
		{name: "linearOfGELU", inputs: []tensor.Shape{x, {70, 66}, {70}}, build: func(p *op.Pool, in nodes) (node, error) {
			return op.LinearOfGELU(p, in[0], in[1], in[2])
		}},
		{name: "linearCrossEntropy, half of it", inputs: []tensor.Shape{x, {33, 66}}, build: func(p *op.Pool, in nodes) (node, error) {
			g := in[0].Graph()
			c, w := make([]int32, 490), make([]float32, 490)
			for i := range c {
				c[i], w[i] = int32(i%33), float32(i%3)
			}
			shape := tensor.WithShape(7, 70)
			y := gorgonia.Must(op.Linear(p, in[0], in[1], nil))
			l := gorgonia.Must(op.LinearCrossEntropy(p, y, fixed(g, "target", tensor.New(shape, tensor.WithBacking(c))), fixed(g, "weights", tensor.New(shape, tensor.WithBacking(w))), 0))
			return gorgonia.Mul(l, gorgonia.NewConstant(float32(0.5)))
		}},
		{name: "attention", inputs: []tensor.Shape{x}, build: func(p *op.Pool, in nodes) (node, error) { return op.Attention(p, in[0], 2, true) }},
	}
}

func refLayerNorm(ch int) func(in [][]float64) []float64 {
	return func(in [][]float64) []float64 {
		y := make([]float64, len(in[0]))
		for r := 0; r < len(y); r += ch {
			var m, v float64
			for _, x := range in[0][r : r+ch] {
				m += x / float64(ch)
			}
			for _, x := range in[0][r : r+ch] {
				v += (x - m) * (x - m) / float64(ch)
			}
			for c := range ch {
				y[r+c] = (in[0][r+c]-m)/math.Sqrt(v+1e-5)*in[1][c] + in[2][c]
			}
		}
		return y
	}
}

func refGELU(in [][]float64) []float64 {
	y := make([]float64, len(in[0]))
	for i, x := range in[0] {
		y[i] = x * (1 + math.Erf(x/math.Sqrt2)) / 2
	}
	return y
}

func refAttention(batch, context, heads, size int, causal bool) func(in [][]float64) []float64 {
	return func(in [][]float64) []float64 {
		w := heads * size
		y := make([]float64, batch*context*w)
		for n := range batch {
			for h := range heads {
				at := func(part, t, d int) float64 { return in[0][(n*context+t)*3*w+part*w+h*size+d] }
				for i := range context {
					seen := context
					if causal {
						seen = i + 1
					}
					p, sum := make([]float64, seen), 0.0
					for j := range seen {
						for d := range size {
							p[j] += at(0, i, d) * at(1, j, d) / math.Sqrt(float64(size))
						}
						p[j] = math.Exp(p[j])
						sum += p[j]
					}
					for j := range seen {
						for d := range size {
							y[(n*context+i)*w+h*size+d] += p[j] / sum * at(2, j, d)
						}
					}
				}
			}
		}
		return y
	}
}

func TestATokenThatIsNoRowFailsTheRun(t *testing.T) {
	for _, id := range []int32{-1, 4} {
		g := gorgonia.NewGraph()
		table := fixed(g, "table", tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(4, 2)))
		n := gorgonia.Must(op.Embedding(nil, table, tokens(g, "ids", []int32{0, 1, id, 3, 2, 1})))
		vm := gorgonia.NewTapeMachine(g)
		defer vm.Close()
		if err := vm.RunAll(); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("number 2 is %d, want 0 to 3", id)) {
			t.Errorf("%v: error %v", n, err)
		}
	}
}

func TestPositionsAndCachedAttentionFollowTheirLength(t *testing.T) {
	g := gorgonia.NewGraph()
	length := 0
	x := fixed(g, "x", tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(1, 1, 6)))
	table := fixed(g, "table", tensor.New(tensor.WithShape(2, 6), tensor.WithBacking([]float32{0, 0, 0, 0, 1, 2, 5, 0, 0, 0, 3, 4})))
	at := gorgonia.Must(op.Position(nil, x, table, &length))
	y := gorgonia.Must(op.CachedAttention(nil, at, 1, 2, &length))
	vm := gorgonia.NewTapeMachine(g)
	defer vm.Close()
	for i, want := range [][]float64{{1, 2}, {2, 3}} { // the keys are all 0: the mean of the values
		length = i
		vm.Reset()
		if err := vm.RunAll(); err != nil {
			t.Fatal(err)
		}
		checkClose(t, "values", values(y), want, 1e-6)
	}
	for _, length = range []int{-1, 2} {
		vm.Reset()
		if err := vm.RunAll(); err == nil {
			t.Errorf("position %d of 2, and no error", length)
		}
	}
	if _, err := gorgonia.Grad(gorgonia.Must(gorgonia.ApplyOp(newWeigh(at), at)), table); err == nil {
		t.Error("positions of the run have a gradient")
	}
}

func TestProductsOfAttentionAreCounted(t *testing.T) {
	g := gorgonia.NewGraph()
	x := fixed(g, "x", tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(2, 4, 30)))
	y := gorgonia.Must(op.Attention(nil, x, 2, true))
	w := fixed(g, "w", tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(3, 10)))
	z := gorgonia.Must(op.Linear(nil, y, w, nil))
	if _, err := gorgonia.Grad(gorgonia.Must(gorgonia.ApplyOp(newWeigh(z), z)), x, w); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, n := range g.AllNodes() {
		if m, ok := n.Op().(op.Multiplier); ok {
			name, _, _ := strings.Cut(n.Op().String(), "[")
			got[name] = fmt.Sprint(m.Geometry(), ", ", m.FLOPs())
		}
	}
	const product = 2 * 2 * 2 * 10 * 5 // sequences, heads, pairs of positions seen, head size
	linear := fmt.Sprint("10→3, ", 2*10*3*2*4)
	want := map[string]string{
		"attention": fmt.Sprint("2 heads of 5, 4 positions, causal, ", 2*product), "attentionBack": fmt.Sprint("2 heads of 5, 4 positions, causal, ", 5*product),
		"linear": linear, "linearData": linear, "linearWeights": linear,
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestOnlyLogitsOfALinearLayerWithoutBiasAreFusedWithTheirLoss(t *testing.T) {
	g := gorgonia.NewGraph()
	input := func(name string, shape ...int) *gorgonia.Node {
		return fixed(g, name, tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(shape...)))
	}
	x, w, b := input("x", 2, 3, 4), input("w", 5, 4), input("b", 5)
	target, soft, weights := tokens(g, "target", tokenTargets), input("soft", 2, 3, 5), input("weights", 2, 3)
	y := gorgonia.Must(op.Linear(nil, x, w, nil))
	for name, n := range map[string][2]*gorgonia.Node{
		"with bias": {gorgonia.Must(op.Linear(nil, x, w, b)), target}, "of an input": {soft, target}, "with distributions": {y, soft}, "without logits": {nil, target}, "without target": {y, nil},
	} {
		if l, err := op.LinearCrossEntropy(nil, n[0], n[1], weights, 0); l != nil || err != nil {
			t.Errorf("%s: %v, %v", name, l, err)
		}
	}
	if _, err := op.LinearCrossEntropy(nil, y, target, input("few", 3), 0); err == nil {
		t.Error("weights of another shape, and no error")
	}
	l := gorgonia.Must(op.LinearCrossEntropy(nil, y, target, weights, 0))
	if got, want := l.Op().(op.Multiplier).FLOPs(), int64(2*6*4*5); got != want {
		t.Errorf("%d operations without a gradient, want %d", got, want)
	}
	if _, err := gorgonia.Grad(l, x, w); err != nil {
		t.Fatal(err)
	}
	if got, want := l.Op().(op.Multiplier).FLOPs(), int64(3*2*6*4*5); got != want {
		t.Errorf("%d operations with its gradients, want %d", got, want)
	}
	copy(floats(weights.Value()), []float32{1, 1, 1, 1, 1, 1})
	vm := gorgonia.NewTapeMachine(g)
	defer vm.Close()
	if err := vm.RunAll(); err == nil || !strings.Contains(err.Error(), "row 3 is of class 99, want 0 to 4") {
		t.Errorf("error %v", err)
	}
}

func floats(v gorgonia.Value) []float32 { return v.(*tensor.Dense).Float32s() }
