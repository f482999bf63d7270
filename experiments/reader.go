package experiments

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/reprise-ml/reprise/data/text"
	"github.com/reprise-ml/reprise/internal/exec"
	"github.com/reprise-ml/reprise/nn"
	"github.com/reprise-ml/reprise/nn/op"
)

// reader is a language model that reads a token at a time.
type reader struct {
	params  nn.Params
	cache   nn.Cache
	input   *tensor.Dense // [1, 1]
	output  *gorgonia.Node
	machine *exec.Machine
	seen    []int32 // since position 0
}

// reader builds the model of s, whose weights are those it begins with.
func (s Spec) reader(c text.Config, pool *op.Pool) (*reader, error) {
	of := Shape{Classes: c.Tokenizer.Vocabulary(), Context: c.Context}
	model, err := s.Model.Value.Build(of)
	if err != nil {
		return nil, err
	}
	m := &reader{cache: nn.Cache{Context: of.Context}, input: tensor.New(tensor.Of(tensor.Int32), tensor.WithShape(1, 1))}
	if t, ok := s.Model.Value.(*Transformer); ok {
		m.cache.Context = max(of.Context, t.Context)
	}
	scope := nn.NewScope(&m.params, nn.Config{Pool: pool, Cache: &m.cache})
	x := gorgonia.NewTensor(scope.Graph(), tensor.Int32, 2, gorgonia.WithShape(1, 1), gorgonia.WithName("token"), gorgonia.WithValue(m.input))
	outputs := model.Apply(scope, gorgonia.Nodes{x})
	if err := scope.Err(); err != nil {
		return nil, err
	}
	m.output = outputs[0]
	if n := m.output.Shape().TotalSize(); n != of.Classes {
		return nil, fmt.Errorf("its output has shape %v, want logits of %d tokens", m.output.Shape(), of.Classes)
	}
	m.machine, err = scope.Compile(m.output)
	return m, err
}

// read reads a token. Where the context is full, the older half is forgotten
// first.
func (m *reader) read(token int32) error {
	again := []int32(nil)
	if len(m.seen) == m.cache.Context {
		again = append(again, m.seen[len(m.seen)-m.cache.Context/2:]...)
		m.seen = m.seen[:0]
	}
	for _, t := range append(again, token) {
		m.input.Int32s()[0] = t
		m.cache.Length = len(m.seen)
		if err := m.machine.RunAll(); err != nil {
			return err
		}
		m.seen = append(m.seen, t)
	}
	return nil
}

// logits are those of the token that follows; valid until the next read.
func (m *reader) logits() []float32 { return m.machine.Value(m.output).(*tensor.Dense).Float32s() }
