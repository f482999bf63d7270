package text

import (
	"context"
	"fmt"
	"io"

	"github.com/reprise-ml/reprise/data"
)

// chunks is the source of layouts Chunks and Packed.
type chunks struct {
	config Config
	name   string
	tokens *ids
}

// newChunks encodes files.
func newChunks(c Config, files fileSet) (*chunks, error) {
	s := &chunks{config: c, tokens: newIDs(c.Tokenizer.Vocabulary())}
	for _, f := range files {
		if s.name == "" {
			s.name = f.path
		}
		err := c.encode(io.NewSectionReader(f, 0, f.size), f.path, func(tokens []int32) error {
			s.tokens.append(tokens...)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return s, nil
}

// encode passes on the tokens of a text, a line at a time, as the layout has
// them: Chunks with the ends of the lines, after an end of text; Packed with
// an end of text after each line, and one before the first.
func (c Config) encode(r io.Reader, path string, pass func(tokens []int32) error) error {
	end := c.Tokenizer.End()
	if err := pass([]int32{end}); err != nil {
		return err
	}
	in := newLiner(r)
	for {
		line, length, err := in.next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return fmt.Errorf("text: %s: after line %d: %w", path, in.number, err)
		case line == nil:
			return fmt.Errorf("text: %w", tooLong(path, in.number, length))
		case c.Layout == Chunks:
			err = pass(c.Tokenizer.Encode(line))
		case !isBlank(line):
			err = pass(append(c.Tokenizer.Encode(trim(line)), end))
		}
		if err != nil {
			return err
		}
	}
}

// Len implements [data.Source].
func (s *chunks) Len() int { return max(s.tokens.len()-1, 0) / s.config.Context }

// Close does nothing: the tokens are in memory.
func (s *chunks) Close() error { return nil }

// Read implements [data.Source].
func (s *chunks) Read(_ context.Context, i int) (data.Example, error) {
	if i < 0 || i >= s.Len() {
		return data.Example{}, fmt.Errorf("text: there is no chunk %d of %d", i, s.Len())
	}
	from := i * s.config.Context
	return example(s.tokens.slice(from, from+s.config.Context+1)), nil
}

// Name implements [data.Named].
func (s *chunks) Name(i int) string { return fmt.Sprintf("%s: chunk %d", s.name, i) }
