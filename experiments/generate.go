package experiments

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"time"

	"github.com/reprise-ml/reprise/data/text"
	"github.com/reprise-ml/reprise/internal/kernel"
	"github.com/reprise-ml/reprise/models"
	"github.com/reprise-ml/reprise/nn"
	"github.com/reprise-ml/reprise/nn/op"
	"github.com/reprise-ml/reprise/train"
)

// Generation is text that a language model goes on with.
type Generation struct {
	Prompt      string  // what is gone on with; empty begins a text
	Tokens      int     // to make, at most; from 1
	Temperature float64 // from 0, which takes the most likely token; 1 draws as the model says
	TopK        int     // the most likely tokens that are drawn from; 0 means all
	Seed        uint64  // of the draws
	IgnoreEnd   bool    // the end of a text is written as the end of a line, and another text follows
}

// Generated tells what a Generation made.
type Generated struct {
	PromptTokens    int     `json:"prompt_tokens"` // read before the first was made, that of the beginning of a text included
	Tokens          int     `json:"tokens"`        // made, the end of a text included
	Ended           bool    `json:"ended"`         // the model ended the text
	TokensPerSecond float64 `json:"tokens_per_second"`
}

// Check reports what is out of range.
func (g Generation) Check() error {
	switch {
	case g.Tokens < 1:
		return fmt.Errorf("tokens is %d, want at least 1", g.Tokens)
	case !(g.Temperature >= 0):
		return fmt.Errorf("temperature is %g, want 0 or more", g.Temperature)
	case g.TopK < 0:
		return fmt.Errorf("top-k is %d, want 1 or more, or 0 for all tokens", g.TopK)
	}
	return nil
}

// ErrNoLanguageModel is the error of a Spec whose data is no text.
var ErrNoLanguageModel = errors.New("is no run of a language model")

// Generate goes on with a prompt, by a file of weights of the model of s, and
// writes what follows the prompt to w as it is made, in whole characters.
//
// Tokens are read one at a time, with the keys and values of those before
// kept. Where the context of the model is full, the older half is forgotten,
// and the newer one read again from position 0.
func (s Spec) Generate(ctx context.Context, weights string, g Generation, w io.Writer) (Generated, error) {
	if err := g.Check(); err != nil {
		return Generated{}, err
	}
	source, ok := s.textual()
	if !ok {
		return Generated{}, fmt.Errorf("%s %w: its data is of %s", s.Name, ErrNoLanguageModel, s.Data.Source.Name)
	}
	if err := kernel.CheckPath(); err != nil {
		return Generated{}, SpecError{err}
	}
	config, err := source.Config()
	if err != nil {
		return Generated{}, fmt.Errorf("data.source: %w", err)
	}
	pool := op.NewPool(int(s.Train.ComputeThreads))
	defer pool.Close()
	speaker, ok := s.Model.Value.(Speaker)
	if !ok {
		return Generated{}, fmt.Errorf("%s %w that reads a token at a time: its model is %s", s.Name, ErrNoLanguageModel, s.Model.Name)
	}
	var m reader
	of := Shape{Classes: config.Tokenizer.Vocabulary(), Context: config.Context}
	if m.generator, err = speaker.Generator(of, &m.params, nn.Config{Pool: pool}); err != nil {
		return Generated{}, SpecError{fmt.Errorf("model.%s: %w", s.Model.Name, err)}
	}
	if err := train.Load(weights, &m.params); err != nil {
		return Generated{}, err
	}
	out := &characters{to: w}
	made, err := m.generate(ctx, config, g, out)
	return made, errors.Join(err, out.Close())
}

// prompted is what a model reads before it goes on: where an example begins
// with the end of the text before, the prompt does too, and so does an empty
// one.
func prompted(c text.Config, prompt string) []int32 {
	tokens := c.Tokenizer.Encode([]byte(prompt))
	if len(tokens) > 0 && c.Layout == text.Chunks {
		return tokens
	}
	return append([]int32{c.Tokenizer.End()}, tokens...)
}

func (m *reader) generate(ctx context.Context, c text.Config, g Generation, w io.Writer) (Generated, error) {
	prompt := prompted(c, g.Prompt)
	made := Generated{PromptTokens: len(prompt)}
	how := models.Sampling{Temperature: g.Temperature, TopK: g.TopK}
	random := rand.New(rand.NewPCG(g.Seed, 0))
	unread := prompt[max(len(prompt)-m.generator.Room(), 0):]
	var begun time.Time // when the prompt had been read
	for made.Tokens < g.Tokens {
		for _, t := range unread {
			if err := ctx.Err(); err != nil {
				return made, err
			}
			if err := m.read(t); err != nil {
				return made, err
			}
		}
		if made.Tokens == 0 {
			begun = time.Now()
		}
		token := int32(how.Draw(m.logits, random))
		if v := float64(m.logits[token]); math.IsNaN(v) || math.IsInf(v, 0) {
			return made, fmt.Errorf("a logit is %g: the weights are no good", v)
		}
		unread = []int32{token}
		made.Tokens++
		bytes := c.Tokenizer.Decode([]int32{token})
		if token == c.Tokenizer.End() {
			if made.Ended = !g.IgnoreEnd; made.Ended {
				break
			}
			bytes = []byte("\n")
		}
		if _, err := w.Write(bytes); err != nil {
			return made, err
		}
	}
	made.TokensPerSecond = float64(made.Tokens) / time.Since(begun).Seconds()
	return made, nil
}
