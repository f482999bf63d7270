package models

import (
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/reprise-ml/reprise/nn"
)

// Generator continues sequences one token at a time. It keeps the keys and values of the tokens so far, so that a token costs no more than its own
// position and a look at those before. It is for one goroutine at a time.
type Generator struct {
	vocabulary int
	cache      nn.Cache
	tokens     []int32 // of the next run, one a row
	logits     *gorgonia.Node
	machine    interface {
		RunAll() error
		Value(n *gorgonia.Node) gorgonia.Value
	}
}

// Generator returns a generator for so many sequences at once, with the weights of p, which it shares: training goes on in them. Of c it takes threads and seed.
func (t Transformer) Generator(p *nn.Params, rows int, c nn.Config) (*Generator, error) {
	model, err := t.Model()
	if err != nil {
		return nil, err
	}
	if rows < 1 {
		return nil, fmt.Errorf("models: a generator of %d sequences, want at least 1", rows)
	}
	g := &Generator{vocabulary: t.Vocabulary, cache: nn.Cache{Context: t.Context}, tokens: make([]int32, rows)}
	c.Train, c.Cache = false, &g.cache
	s := nn.NewScope(p, c)
	x := gorgonia.NewTensor(s.Graph(), tensor.Int32, 2, gorgonia.WithName("tokens"), gorgonia.WithShape(rows, 1),
		gorgonia.WithValue(tensor.New(tensor.WithShape(rows, 1), tensor.WithBacking(g.tokens))))
	g.logits = model.Apply(s, gorgonia.Nodes{x})[0]
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("models: the graph of a generator: %w", err)
	}
	if g.machine, err = s.Compile(g.logits); err != nil {
		return nil, fmt.Errorf("models: the graph of a generator: %w", err)
	}
	return g, nil
}

// Reset forgets the tokens so far.
func (g *Generator) Reset() { g.cache.Length = 0 }

// Room is the number of tokens that may yet be given to Next.
func (g *Generator) Room() int { return g.cache.Context - g.cache.Length }

// Next appends a token to every sequence and returns the logits of what follows, [rows, Vocabulary], valid until the next call. After an error
// the sequences are as before.
func (g *Generator) Next(tokens []int32) ([]float32, error) {
	if len(tokens) != len(g.tokens) {
		return nil, fmt.Errorf("models: %d tokens for %d sequences", len(tokens), len(g.tokens))
	}
	if g.Room() == 0 {
		return nil, fmt.Errorf("models: the context of %d tokens is full", g.cache.Context)
	}
	copy(g.tokens, tokens)
	if err := g.machine.RunAll(); err != nil {
		return nil, fmt.Errorf("models: token %d: %w", g.cache.Length, err)
	}
	g.cache.Length++
	return g.machine.Value(g.logits).(*tensor.Dense).Float32s(), nil
}

// Generate continues prompt, at least one token, by up to count tokens drawn by r, in a generator of one sequence, from the start: what came before is forgotten. It
// ends when the context is full. Whatever comes of an error is the last.
func (g *Generator) Generate(prompt []int32, count int, how Sampling, r *rand.Rand) iter.Seq2[int32, error] {
	return func(yield func(int32, error) bool) {
		if len(g.tokens) != 1 {
			yield(0, fmt.Errorf("models: to continue one prompt in a generator of %d sequences", len(g.tokens)))
			return
		}
		if len(prompt) == 0 {
			yield(0, errors.New("models: the prompt has no tokens"))
			return
		}
		g.Reset()
		var logits []float32
		var err error
		for _, token := range prompt {
			if logits, err = g.Next([]int32{token}); err != nil {
				yield(0, err)
				return
			}
		}
		for i := range count {
			token := int32(how.Draw(logits, r))
			if !yield(token, nil) || i == count-1 || g.Room() == 0 {
				return
			}
			if logits, err = g.Next([]int32{token}); err != nil {
				yield(0, err)
				return
			}
		}
	}
}
