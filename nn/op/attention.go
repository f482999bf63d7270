package op

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/reprise-ml/reprise/internal/kernel"
)

// Attention is scaled dot-product attention within every sequence: softmax(q·kᵀ/√d)·v for each head of d = W/heads floats. qkv is [N, T, 3·W], the
// queries, keys and values of a position one after the other, each with one head after the other; the result is [N, T, W]. Causal means that a position
// sees itself and those before it, else it sees all.
func Attention(p *Pool, qkv *gorgonia.Node, heads int, causal bool) (*gorgonia.Node, error) {
	s, err := attentionShape("attention", qkv, heads)
	if err != nil {
		return nil, err
	}
	s.Causal = causal
	b, err := newBase(p, "attention", tensor.Shape{s.Batch, s.Context, s.Heads * s.HeadSize}, qkv)
	if err != nil {
		return nil, err
	}
	return gorgonia.ApplyOp(&attention{b, kernel.NewAttention(p, s), s}, qkv)
}

func attentionShape(op string, qkv *gorgonia.Node, heads int) (kernel.AttentionShape, error) {
	if err := checkFloat(op, "qkv", qkv, 0, 0, 0); err != nil {
		return kernel.AttentionShape{}, err
	}
	s := qkv.Shape()
	if heads < 1 || s[2]%(3*heads) != 0 {
		return kernel.AttentionShape{}, fmt.Errorf("op: %s: qkv has shape %v, want a multiple of 3·%d floats for %d heads", op, s, heads, heads)
	}
	return kernel.AttentionShape{Batch: s[0], Context: s[1], Heads: heads, HeadSize: s[2] / (3 * heads)}, nil
}

type attention struct {
	base
	kernel *kernel.Attention // keeps the sums of the last run
	heads  kernel.AttentionShape
}

func (a *attention) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	a.kernel.Forward(a.output(), a.arg(in, 0))
	return a.out, nil
}

func (a *attention) DiffWRT(n int) []bool { return every(n) }

func (a *attention) SymDiff(in gorgonia.Nodes, out, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	b, err := newBase(a.pool, "attentionBack", in[0].Shape(), in[0], out, grad)
	if err != nil {
		return nil, err
	}
	dqkv, err := gorgonia.ApplyOp(&attentionBack{b, a.kernel, a.heads}, in[0], out, grad)
	return gorgonia.Nodes{dqkv}, err
}

type attentionBack struct {
	base
	kernel *kernel.Attention
	heads  kernel.AttentionShape
}

func (a *attentionBack) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	a.kernel.Backward(a.output(), a.arg(in, 2), a.arg(in, 1), a.arg(in, 0))
	return a.out, nil
}

// CachedAttention is causal [Attention] of one position at a time: qkv is [N, 1, 3·W], the result [N, 1, W]. Keys and values of the positions
// before are those of earlier runs; *length is their number when the graph runs, below context. It has no gradient.
func CachedAttention(p *Pool, qkv *gorgonia.Node, heads, context int, length *int) (*gorgonia.Node, error) {
	const name = "cachedAttention"
	s, err := attentionShape(name, qkv, heads)
	if err != nil {
		return nil, err
	}
	if s.Context != 1 || context < 1 {
		return nil, fmt.Errorf("op: %s: qkv has shape %v for a context of %d, want one position and at least one", name, qkv.Shape(), context)
	}
	width := s.Heads * s.HeadSize
	b, err := newBase(p, name, tensor.Shape{s.Batch, 1, width}, qkv)
	if err != nil {
		return nil, err
	}
	s.Context = context
	size := s.Batch * context * width
	c := &cachedAttention{base: b, heads: s, length: length, keys: make([]float32, size), values: make([]float32, size), queries: make([]float32, s.Batch*width)}
	return gorgonia.ApplyOp(c, qkv)
}

type cachedAttention struct {
	base
	heads        kernel.AttentionShape
	length       *int
	keys, values []float32 // [N, context, W]
	queries      []float32 // [N, W]
}

func (c *cachedAttention) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	length, context := *c.length, c.heads.Context
	if length < 0 || length >= context {
		return nil, fmt.Errorf("op: %s: position %d of a context of %d", c.name, length, context)
	}
	width := c.heads.Heads * c.heads.HeadSize
	qkv := c.arg(in, 0)
	for n := range c.heads.Batch {
		q, at := qkv[3*n*width:3*(n+1)*width], (n*context+length)*width
		copy(c.queries[n*width:], q[:width])
		copy(c.keys[at:at+width], q[width:2*width])
		copy(c.values[at:at+width], q[2*width:])
	}
	kernel.AttendCached(c.output(), c.queries, c.keys, c.values, c.heads, length+1)
	return c.out, nil
}
