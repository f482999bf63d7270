package experiments

import (
	"github.com/reprise-ml/reprise/models"
	"github.com/reprise-ml/reprise/nn"
)

// Speaker is a Model of language that reads a token at a time. The weights of
// the generator are those of p, and its context is at least that of the
// Shape.
type Speaker interface {
	Model
	Generator(of Shape, p *nn.Params, c nn.Config) (*models.Generator, error)
}

// reader reads any number of tokens, of which it remembers the last ones.
type reader struct {
	params    nn.Params
	generator *models.Generator
	seen      []int32   // since position 0
	logits    []float32 // of the token that follows; valid until the next read
}

// read reads a token. Where the context is full, the older half is forgotten
// first.
func (m *reader) read(token int32) (err error) {
	next := []int32{token}
	if m.generator.Room() == 0 {
		next = append(m.seen[len(m.seen)-len(m.seen)/2:len(m.seen):len(m.seen)], token)
		m.generator.Reset()
		m.seen = nil
	}
	for i := range next {
		if m.logits, err = m.generator.Next(next[i : i+1]); err != nil {
			return err
		}
	}
	m.seen = append(m.seen, next...)
	return nil
}
