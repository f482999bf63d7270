package nn

import (
	"fmt"
	"math"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/reprise-ml/reprise/nn/op"
)

// Embedding is a table of Count rows of Width floats: int32 [...] to [..., Width]. A number that is no row fails the run. The weight
// [Count, Width] begins normal with deviation 1, as in PyTorch.
type Embedding struct {
	Count, Width int
	Init         Init // if not as in PyTorch
}

// Apply implements [Layer].
func (l Embedding) Apply(s *Scope, x *gorgonia.Node) *gorgonia.Node {
	init := l.Init
	if init == nil {
		init = Normal{1}
	}
	table := s.Weight("weight", init, l.Count, l.Width)
	if s.Err() != nil {
		return x
	}
	return s.Keep(op.Embedding(s.Pool(), table, x))
}

// Position adds to every token of [rows, tokens, width] what belongs to its position, of which there are at most Context: row t of a weight
// [Context, width] that begins normal with deviation 1 as of PyTorch's Embedding, or
//
//	sin(t / 10000^(i/width)) for even i, cos(t / 10000^((i-1)/width)) for odd i
//
// as in Vaswani et al. (2017), section 3.5.
type Position struct {
	Context    int
	Sinusoidal bool
	Init       Init // of the weight, if not as in PyTorch
}

// Apply implements [Layer].
func (l Position) Apply(s *Scope, x *gorgonia.Node) *gorgonia.Node {
	if !s.wants(x, "rows", "tokens", "width") {
		return x
	}
	width := x.Shape()[2]
	if l.Sinusoidal {
		if l.Context < 1 {
			s.Fail(fmt.Errorf("a context of %d positions", l.Context))
			return x
		}
		return s.position(x, s.node(s.join("sinusoids"), sinusoids(l.Context, width)))
	}
	init := l.Init
	if init == nil {
		init = Normal{1}
	}
	return s.position(x, s.Weight("weight", init, l.Context, width))
}

func (s *Scope) position(x, table *gorgonia.Node) *gorgonia.Node {
	if s.Err() != nil {
		return x
	}
	var from *int
	if s.config.Cache != nil {
		from = &s.config.Cache.Length
	}
	return s.Keep(op.Position(s.Pool(), x, table, from))
}

func sinusoids(context, width int) *tensor.Dense {
	table := make([]float32, context*width)
	for i := range table {
		t, c := float64(i/width), i%width
		sin, cos := math.Sincos(t / math.Pow(10000, float64(c-c%2)/float64(width)))
		if c%2 == 1 {
			sin = cos
		}
		table[i] = float32(sin)
	}
	return tensor.New(tensor.WithShape(context, width), tensor.WithBacking(table))
}

// ImagePositions adds to the tokens of [rows, tokens, width] a weight pos_embedding [1, tokens, width], which begins normal with deviation
// 0.02, as in torchvision's VisionTransformer.
type ImagePositions struct{}

// Apply implements [Layer].
func (ImagePositions) Apply(s *Scope, x *gorgonia.Node) *gorgonia.Node {
	if !s.wants(x, "rows", "tokens", "width") {
		return x
	}
	return s.position(x, s.Weight("pos_embedding", Normal{0.02}, 1, x.Shape()[1], x.Shape()[2]))
}

// ClassToken puts a learned token before those of every row: [rows, …, width] to [rows, 1 + tokens, width]. The weight class_token
// [1, 1, width] begins as 0, as in torchvision's VisionTransformer.
type ClassToken struct{}

// Apply implements [Layer].
func (ClassToken) Apply(s *Scope, x *gorgonia.Node) *gorgonia.Node {
	return s.Keep(op.ClassToken(s.Pool(), x, s.Weight("class_token", Zeros, 1, 1, x.Shape()[x.Dims()-1])))
}

// FirstToken is the first token of every row, the class token where there is one: [rows, tokens, width] to [rows, width].
type FirstToken struct{}

// Apply implements [Layer].
func (FirstToken) Apply(s *Scope, x *gorgonia.Node) *gorgonia.Node {
	return s.Keep(op.FirstToken(s.Pool(), x))
}

// Tokens makes a sequence of all dimensions between the first and the last: [rows, height, width, channels] to [rows, height·width, channels].
type Tokens struct{}

// Apply implements [Layer].
func (Tokens) Apply(s *Scope, x *gorgonia.Node) *gorgonia.Node {
	if x.Dims() == 3 {
		return x
	}
	return s.Keep(op.Tokens(s.Pool(), x))
}

// Cache is what an evaluation graph for one position at a time shares with who runs it: every attention keeps the keys and values of the positions before,
// in memory of its own. See [Config].
type Cache struct {
	Context int // positions there is room for
	Length  int // positions before that of the next run; 0 forgets them all
}

// Attention is scaled dot-product attention, without weights, of Heads heads: the queries, keys and values of every token, [rows, tokens, 3·width], to
// [rows, tokens, width].
type Attention struct {
	Heads  int
	Causal bool // a token sees itself and those before it, else all
}

// Apply implements [Layer].
func (l Attention) Apply(s *Scope, x *gorgonia.Node) *gorgonia.Node {
	c := s.config.Cache
	switch {
	case c == nil:
		return s.Keep(op.Attention(s.Pool(), x, l.Heads, l.Causal))
	case !l.Causal:
		s.Fail(fmt.Errorf("attention to what comes later cannot be computed one position at a time"))
		return x
	}
	return s.Keep(op.CachedAttention(s.Pool(), x, l.Heads, c.Context, &c.Length))
}

// MultiHeadAttention is [Attention] within a sequence, [rows, tokens, width] to the same, with a linear layer before and one after it. Names and first values are
// those of PyTorch's MultiheadAttention: in_proj_weight [3·width, width] by Glorot and Bengio's rule, out_proj.weight as of every [Linear], in_proj_bias
// and out_proj.bias 0. Probabilities are not dropped out.
type MultiHeadAttention struct {
	Heads  int
	Causal bool
}

// Apply implements [Layer].
func (l MultiHeadAttention) Apply(s *Scope, x *gorgonia.Node) *gorgonia.Node {
	if !s.wants(x, "rows", "tokens", "width") {
		return x
	}
	width := x.Shape()[2]
	w, b := s.Weight("in_proj_weight", Glorot{}, 3*width, width), s.Weight("in_proj_bias", Zeros, 3*width)
	if s.Err() != nil {
		return x
	}
	x = s.Keep(op.Linear(s.Pool(), x, w, b))
	if s.Err() != nil {
		return x
	}
	x = s.Apply("", Attention(l), x)
	return s.Apply("out_proj", Linear{Out: width, BiasInit: Zeros}, x)
}
