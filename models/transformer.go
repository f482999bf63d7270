package models

import (
	"cmp"
	"fmt"
	"math"

	"gorgonia.org/gorgonia"

	"github.com/reprise-ml/reprise/nn"
)

// Transformer is a decoder-only language model: numbers of tokens, int32 [rows, tokens] with at most Context tokens, to logits of the token
// that follows each, [rows, tokens, Vocabulary]. The zero values of the options make a GPT-2: normalisation before each part of a block, learned
// positions, GELU.
//
// Weights are tok, pos, then of every block blocks.0.ln1, .qkv (queries, keys and values in one), .proj, .ln2, .up, .down, then ln and head, which has no
// bias. Those of the normalisations begin as 1 and 0, biases as 0 and the others as in GPT-2: normal with deviation 0.02, of proj and down
// 0.02/√(2·Layers), so that what the blocks add up to does not grow with their number.
type Transformer struct {
	Layers      int
	Width       int
	Heads       int // divides Width
	FeedForward int // width within a block; 0 means 4·Width
	Context     int // tokens at most
	Vocabulary  int

	// Norm is pre, the default, or post, as in Vaswani et al. (2017): each sum of a block is normalised, and there is no ln.
	Norm string
	// Positions are learned, the default, or sinusoidal, as in Vaswani et al. (2017); the embeddings are not scaled by √Width as there.
	Positions string
	// Activation is gelu, the default, or relu.
	Activation string
	// Dropout is the rate at which values are dropped of the embeddings with their positions, and of what every part of a block adds: at
	// least 0, below 1. Attention drops nothing.
	Dropout float64
	// Tied makes the embeddings serve as the weight of head too.
	Tied bool
}

// Check says what is wrong with the fields.
func (t Transformer) Check() error {
	for _, f := range []struct {
		name  string
		value int
	}{{"layers", t.Layers}, {"width", t.Width}, {"heads", t.Heads}, {"context", t.Context}, {"vocabulary", t.Vocabulary}, {"feed_forward", t.feedForward()}} {
		if f.value < 1 {
			return fmt.Errorf("models: a transformer with %s %d, want at least 1", f.name, f.value)
		}
	}
	if t.Width%t.Heads != 0 {
		return fmt.Errorf("models: a transformer of width %d does not divide into %d heads", t.Width, t.Heads)
	}
	for _, f := range []struct{ name, value, or, other string }{
		{"norm", t.Norm, "pre", "post"}, {"positions", t.Positions, "learned", "sinusoidal"}, {"activation", t.Activation, "gelu", "relu"},
	} {
		if f.value != "" && f.value != f.or && f.value != f.other {
			return fmt.Errorf("models: a transformer with %s %q, want %s or %s", f.name, f.value, f.or, f.other)
		}
	}
	if !(t.Dropout >= 0 && t.Dropout < 1) {
		return fmt.Errorf("models: a transformer with dropout %v, want 0 ≤ dropout < 1", t.Dropout)
	}
	return nil
}

func (t Transformer) feedForward() int { return cmp.Or(t.FeedForward, 4*t.Width) }

// Model returns the model, or the error of Check.
func (t Transformer) Model() (nn.Model, error) {
	if err := t.Check(); err != nil {
		return nil, err
	}
	return nn.Single(transformer{t}), nil
}

type transformer struct{ Transformer }

// Apply implements [nn.Layer].
func (m transformer) Apply(s *nn.Scope, x *gorgonia.Node) *gorgonia.Node {
	if shape := x.Shape(); len(shape) != 2 || shape[1] > m.Context {
		s.Fail(fmt.Errorf("the input has shape %v, want [rows, tokens] with at most %d tokens", shape, m.Context))
		return x
	}
	s.Alias(func(name string) string {
		if name == "mask" { // a buffer where attention is written out
			return ""
		}
		return name
	})
	normal := nn.Normal{Deviation: 0.02}
	x = s.Apply("tok", nn.Embedding{Count: m.Vocabulary, Width: m.Width, Init: normal}, x)
	x = s.Apply("pos", nn.Position{Context: m.Context, Sinusoidal: m.Positions == "sinusoidal", Init: normal}, x)
	x = s.Apply("drop", nn.Dropout{Rate: m.Dropout}, x)
	for i := range m.Layers {
		x = s.Apply(fmt.Sprintf("blocks.%d", i), transformerBlock(m), x)
	}
	if m.Norm != "post" {
		x = s.Apply("ln", nn.LayerNorm{}, x)
	}
	if m.Tied {
		return s.Apply("head", nn.Tied{Weight: s.Shared("tok.weight")}, x)
	}
	return s.Apply("head", nn.Linear{Out: m.Vocabulary, NoBias: true, Init: normal}, x)
}

type transformerBlock struct{ Transformer }

// Apply implements [nn.Layer].
func (b transformerBlock) Apply(s *nn.Scope, x *gorgonia.Node) *gorgonia.Node {
	x = b.part(s, "ln1", x, b.attend)
	return b.part(s, "ln2", x, b.feed)
}

// part is what a part of a block makes of x, added to it, with a normalisation before or after that.
func (b transformerBlock) part(s *nn.Scope, norm string, x *gorgonia.Node, f func(*nn.Scope, *gorgonia.Node) *gorgonia.Node) *gorgonia.Node {
	y := x
	if b.Norm != "post" {
		y = s.Apply(norm, nn.LayerNorm{}, y)
	}
	y = s.Apply("drop", nn.Dropout{Rate: b.Dropout}, f(s, y))
	y = s.Add(y, x)
	if b.Norm == "post" {
		y = s.Apply(norm, nn.LayerNorm{}, y)
	}
	return y
}

func (b transformerBlock) attend(s *nn.Scope, x *gorgonia.Node) *gorgonia.Node {
	x = s.Apply("qkv", linear(3*b.Width, 0.02), x)
	x = s.Apply("attention", nn.Attention{Heads: b.Heads, Causal: true}, x)
	return s.Apply("proj", linear(b.Width, b.residual()), x)
}

func (b transformerBlock) feed(s *nn.Scope, x *gorgonia.Node) *gorgonia.Node {
	x = s.Apply("up", linear(b.feedForward(), 0.02), x)
	down := linear(b.Width, b.residual())
	if b.Activation == "relu" {
		x = s.Apply("relu", nn.ReLU{}, x)
	} else {
		down.GELU = true
	}
	return s.Apply("down", down, x)
}

// residual is the deviation of weights whose results are added to the sum that goes through all blocks.
func (b transformerBlock) residual() float64 { return 0.02 / math.Sqrt(2*float64(b.Layers)) }

func linear(out int, deviation float64) nn.Linear {
	return nn.Linear{Out: out, Init: nn.Normal{Deviation: deviation}, BiasInit: nn.Zeros}
}
