package models

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/reprise-ml/reprise/internal/kernel"
	"github.com/reprise-ml/reprise/nn"
	"github.com/reprise-ml/reprise/train"
)

func model(t *testing.T, m interface{ Model() (nn.Model, error) }) nn.Model {
	t.Helper()
	built, err := m.Model()
	if err != nil {
		t.Fatal(err)
	}
	return built
}

// small is the language model of testdata/transformer.py.
var small = Transformer{Layers: 2, Width: 12, Heads: 3, Context: 8, Vocabulary: 11}

// language is a graph of t on the batch of testdata/transformer.py.
func language(t *testing.T, m Transformer, p *nn.Params, c nn.Config) *graph {
	t.Helper()
	const rows, tokens = 2, 6
	x, y, w := make([]int32, rows*tokens), make([]int32, rows*tokens), make([]float32, rows*tokens)
	for i := range x {
		x[i], y[i] = int32(i*i*7%11), int32((3*i+1)%11)
		if i%5 != 4 {
			w[i] = 1
		}
	}
	shape := tensor.WithShape(rows, tokens)
	return newGraphWith(t, model(t, m), p, c, tensor.New(shape, tensor.WithBacking(x)), tensor.New(shape, tensor.WithBacking(y)), tensor.New(shape, tensor.WithBacking(w)))
}

func TestTransformersAgreeWithPyTorch(t *testing.T) {
	pool := kernel.NewPool(2)
	defer pool.Close()
	for name, build := range map[string]func(*nn.Params, nn.Config) *graph{
		"transformer_pre": func(p *nn.Params, c nn.Config) *graph { return language(t, small, p, c) },
		"transformer_post": func(p *nn.Params, c nn.Config) *graph {
			m := small
			m.Norm, m.Positions, m.Activation = "post", "sinusoidal", "relu"
			return language(t, m, p, c)
		},
		"transformer_tied": func(p *nn.Params, c nn.Config) *graph {
			m := small
			m.Tied = true
			return language(t, m, p, c)
		},
		"vit": func(p *nn.Params, c nn.Config) *graph {
			g := newGraphOf(t, model(t, smallViT), p, 3, 16, c)
			g.setBatch()
			return g
		},
	} {
		t.Run(name, func(t *testing.T) {
			var want torchvision
			text, err := os.ReadFile(filepath.Join("testdata", name+".json"))
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(text, &want); err != nil {
				t.Fatal(err)
			}
			var p nn.Params
			g := build(&p, nn.Config{Train: true, Pool: pool})
			setWeights(t, &p)
			var shapes []string
			for _, w := range p.Export() {
				if !slices.Equal(want.State[w.Name], w.Shape) {
					t.Errorf("%s has shape %v, PyTorch has %v", w.Name, w.Shape, want.State[w.Name])
				}
				shapes = append(shapes, w.Name)
			}
			if len(shapes) != len(want.State) {
				t.Errorf("weights %v, PyTorch has %d", shapes, len(want.State))
			}
			for step, loss := range want.Losses {
				near(t, fmt.Sprintf("loss of step %d", step), g.run(t), loss, 2e-5)
				if step == 0 {
					for i, v := range floats(g.machine.Value(g.logits)) {
						near(t, fmt.Sprintf("logit %d", i), float64(v), want.Logits[i], 1e-5)
					}
					nearGradients(t, g, want.gold, 2e-5)
				}
				for i, n := range g.weights {
					w, d := floats(n.Value()), floats(g.machine.Value(g.grads[i]))
					for j := range w {
						w[j] -= 0.02 * d[j]
					}
				}
			}
		})
	}
}

func TestALanguageModelTrainsWithoutAllocating(t *testing.T) {
	m := small
	m.Dropout = 0.1
	var p nn.Params
	g := language(t, m, &p, nn.Config{Train: true})
	g.run(t)
	if n := testing.AllocsPerRun(3, func() { g.run(t) }); n > 1 { // the loss in an interface
		t.Errorf("%v allocations a step", n)
	}
}

func TestALanguageModelIsBitForBitThatOfTheTapeMachine(t *testing.T) {
	m := small
	m.Dropout, m.Tied = 0.1, true
	bits := func(tape bool) (out []uint32) {
		var p nn.Params
		g := language(t, m, &p, nn.Config{Train: true})
		var vm gorgonia.VM = g.machine
		value := func(n *gorgonia.Node) gorgonia.Value { return g.machine.Value(n) }
		if tape {
			vm, value = gorgonia.NewTapeMachine(g.x.Graph()), (*gorgonia.Node).Value
		}
		for step := range 3 {
			g.ticker.Tick = uint64(step)
			vm.Reset()
			if err := vm.RunAll(); err != nil {
				t.Fatal(err)
			}
			for i, n := range g.weights {
				w, d := floats(n.Value()), floats(value(g.grads[i]))
				for j := range w {
					w[j] -= 0.02 * d[j]
					out = append(out, math.Float32bits(d[j]))
				}
			}
		}
		return out
	}
	if !slices.Equal(bits(false), bits(true)) {
		t.Error("gradients differ from those of the TapeMachine")
	}
}

func TestATransformersFirstWeightsAreGPT2s(t *testing.T) {
	m := Transformer{Layers: 8, Width: 64, Heads: 4, Context: 16, Vocabulary: 100}
	var p nn.Params
	x := tensor.New(tensor.Of(tensor.Int32), tensor.WithShape(1, 16))
	newGraphWith(t, model(t, m), &p, nn.Config{}, x, x.Clone().(*tensor.Dense), tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(1, 16)))
	for w := range p.All() {
		want := 0.02
		switch {
		case strings.HasSuffix(w.Name, "bias"):
			want = 0
		case strings.Contains(w.Name, "ln"):
			want = 1
		case strings.HasSuffix(w.Name, "proj.weight"), strings.HasSuffix(w.Name, "down.weight"):
			want = 0.02 / 4
		}
		sum := 0.0
		for _, v := range w.Value.Float32s() {
			sum += float64(v) * float64(v)
		}
		if got := math.Sqrt(sum / float64(w.Value.Shape().TotalSize())); math.Abs(got-want) > 0.1*want {
			t.Errorf("%s has deviation %v, want %v", w.Name, got, want)
		}
	}
	if got, want := p.Count(), 2*100*64+16*64+8*(12*64*64+13*64)+2*64; got != want {
		t.Errorf("%d parameters, want %d", got, want)
	}
}

func TestATransformerThatCannotBeIsRefused(t *testing.T) {
	for _, c := range []struct {
		change func(*Transformer)
		want   string
	}{
		{func(m *Transformer) { m.Layers = 0 }, "layers 0"},
		{func(m *Transformer) { m.Context = -1 }, "context -1"},
		{func(m *Transformer) { m.FeedForward = -2 }, "feed_forward -2"},
		{func(m *Transformer) { m.Heads = 5 }, "width 12 does not divide into 5 heads"},
		{func(m *Transformer) { m.Norm = "both" }, `norm "both", want pre or post`},
		{func(m *Transformer) { m.Positions = "rotary" }, `positions "rotary", want learned or sinusoidal`},
		{func(m *Transformer) { m.Activation = "tanh" }, `activation "tanh", want gelu or relu`},
		{func(m *Transformer) { m.Dropout = 1 }, "dropout 1"},
	} {
		m := small
		c.change(&m)
		if _, err := m.Model(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
	var p nn.Params
	s := nn.NewScope(&p, nn.Config{})
	x := gorgonia.NewTensor(s.Graph(), tensor.Int32, 2, gorgonia.WithName("x"), gorgonia.WithShape(1, 9))
	model(t, small).Apply(s, gorgonia.Nodes{x})
	if err := s.Err(); err == nil || !strings.Contains(err.Error(), "at most 8 tokens") {
		t.Errorf("more tokens than the context: error %v", err)
	}
}

func TestWeightsOfAWrittenOutAttentionLoad(t *testing.T) {
	var p nn.Params
	language(t, small, &p, nn.Config{})
	state := map[string][]int{"mask": {8, 8}}
	for _, w := range p.Export() {
		state[w.Name] = w.Shape
	}
	path := filepath.Join(t.TempDir(), "lm.safetensors")
	writeState(t, path, state)
	if err := train.Load(path, &p); err != nil {
		t.Fatal(err)
	}
	if got, want := p.Lookup("pos.weight").Value.Float32s()[5], float32(formula("pos.weight", 6)[5]); got != want {
		t.Errorf("pos.weight has %v, the file %v", got, want)
	}
}

// Every logit of a decoder with cached keys and values is that of the whole sequence at once.
func TestCachedDecodingAgreesWithTheWholeSequence(t *testing.T) {
	for _, m := range []Transformer{small, {Layers: 3, Width: 32, Heads: 2, Context: 6, Vocabulary: 11, Norm: "post", Positions: "sinusoidal", Activation: "relu", Tied: true, Dropout: 0.5}} {
		var p nn.Params
		g := language(t, m, &p, nn.Config{})
		setWeights(t, &p)
		g.run(t)
		want := floats(g.machine.Value(g.logits))
		const rows, tokens = 2, 6
		gen, err := m.Generator(&p, rows, nn.Config{})
		if err != nil {
			t.Fatal(err)
		}
		x := g.x.Value().(*tensor.Dense).Int32s()
		for range 2 { // the second time after a Reset
			for at := range tokens {
				logits, err := gen.Next([]int32{x[at], x[tokens+at]})
				if err != nil {
					t.Fatal(err)
				}
				for row := range rows {
					for k := range m.Vocabulary {
						got, whole := logits[row*m.Vocabulary+k], want[(row*tokens+at)*m.Vocabulary+k]
						if !(math.Abs(float64(got-whole)) <= 1e-4) {
							t.Fatalf("position %d, row %d: logit %d is %v, of the whole sequence %v", at, row, k, got, whole)
						}
					}
				}
			}
			gen.Reset()
		}
	}
}

func TestAGeneratorEndsWithItsContext(t *testing.T) {
	var p nn.Params
	gen, err := small.Generator(&p, 1, nn.Config{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	generate := func(seed uint64) (out []int32) {
		for token, err := range gen.Generate([]int32{1, 2, 3}, 100, Sampling{Temperature: 1}, rand.New(rand.NewPCG(seed, 0))) {
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, token)
		}
		return out
	}
	first := generate(1)
	if len(first) != small.Context-3+1 {
		t.Errorf("%d tokens, want those after positions 3 to %d", len(first), small.Context)
	}
	if !slices.Equal(first, generate(1)) || slices.Equal(first, generate(2)) {
		t.Error("the tokens do not depend on the seed alone")
	}
	for _, prompt := range [][]int32{nil, {1, 2, 3, 4, 5, 6, 7, 8, 9}, {11}, {-1}} {
		var failed error
		for _, err := range gen.Generate(prompt, 1, Sampling{}, nil) {
			failed = err
		}
		if failed == nil {
			t.Errorf("prompt %v, and no error", prompt)
		}
	}
	if _, err := gen.Next([]int32{1, 2}); err == nil {
		t.Error("two tokens for one row, and no error")
	}
	if _, err := (Transformer{}).Generator(&p, 1, nn.Config{}); err == nil {
		t.Error("a transformer of nothing generates")
	}
	if _, err := small.Generator(&p, 0, nn.Config{}); err == nil {
		t.Error("a generator of no rows")
	}
}
