package text

import (
	"fmt"
	"math"
	"slices"

	"github.com/reprise-ml/reprise/data"
)

// Layout says what an example is.
type Layout string

// The layouts. The zero Layout is Lines.
//
// Of tokens t1 … tn and the end of text E, an example of T tokens is
//
//	Lines:  input E t1 … tn, target t1 … tn E, of each line that is not blank
//	Chunks: tokens iT … iT+T-1 of E and the whole file, line ends and all; target iT+1 … iT+T
//	Packed: as chunks, of E line E line E …, without the line ends
//
// A line that is longer than the context ends there. Every token of chunks is
// a target once; what is left over at the end of a stream, or of all files, is
// not used. Tokens do not cross the end of a line.
const (
	Lines  Layout = "lines"
	Chunks Layout = "chunks"
	Packed Layout = "packed"
)

// Layouts returns all layouts, Lines first.
func Layouts() []Layout { return []Layout{Lines, Chunks, Packed} }

// MaxContext is the longest context.
const MaxContext = 1 << 16

// Config says what becomes of text. Tokenizer and Context must be set.
type Config struct {
	Tokenizer Tokenizer
	Context   int    // tokens of an example, at most; 1 to MaxContext
	Layout    Layout // "" means Lines
}

func (c Config) check() error {
	switch {
	case c.Tokenizer == nil:
		return fmt.Errorf("text: there is no tokenizer")
	case c.Context < 1 || c.Context > MaxContext:
		return fmt.Errorf("text: the context is %d, want 1 to %d", c.Context, MaxContext)
	case c.Layout != "" && !slices.Contains(Layouts(), c.Layout):
		return fmt.Errorf("text: the layout is %q, want one of %q", c.Layout, Layouts())
	}
	return nil
}

// Source is text that is read at random. It is safe to use from several
// goroutines.
type Source interface {
	data.Source
	data.Named
	Close() error // of the files
}

// Open reads files at random. Of lines it keeps 8 bytes each, of chunks the
// tokens, in 2 bytes each where the vocabulary has no more than 65,536. Packed
// files are unpacked to memory, 1 GiB of them at most.
func (c Config) Open(files []string) (Source, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	var opened fileSet
	hold := int64(maxHeld)
	for _, path := range files {
		f, err := openFile(path, hold)
		if err != nil {
			opened.Close()
			return nil, err
		}
		if opened = append(opened, f); f.closer == nil {
			hold -= f.size
		}
	}
	if c.Layout == Chunks || c.Layout == Packed {
		defer opened.Close()
		return newChunks(c, opened)
	}
	s, err := newLines(c, opened)
	if err != nil {
		opened.Close()
		return nil, err
	}
	return s, nil
}

// example makes the example of n+1 tokens, n at least 1. It keeps them.
func example(tokens []int32) data.Example {
	n := len(tokens) - 1
	return data.Example{Input: data.Tokens(tokens[:n:n]), Target: data.Tokens(tokens[1:])}
}

// Line is a line of text as it was read. Decoding makes tokens of it.
type Line struct {
	Text   []byte // without its end
	config *Config
	bad    error // why it cannot be decoded
}

// Size implements [data.Value].
func (l Line) Size() int { return len(l.Text) }

// Stack implements [data.Value]: it fails, for only tokens can be joined.
func (Line) Stack([]data.Value, data.Format) (data.Array, error) {
	return data.Array{}, fmt.Errorf("row 0 is a line of text that is not decoded")
}

// Unpack implements [data.Encoded].
func (l Line) Unpack(e data.Example) (data.Example, error) {
	if l.bad != nil {
		return e, l.bad
	}
	made := l.config.line(l.Text)
	made.Origin, made.Reads = e.Origin, e.Reads
	return made, nil
}

// line makes the example of a line.
func (c *Config) line(text []byte) data.Example {
	end := c.Tokenizer.End()
	body := c.Tokenizer.Encode(text)
	tokens := make([]int32, 0, min(len(body)+2, c.Context+1))
	tokens = append(tokens, end)
	tokens = append(tokens, body[:min(len(body), c.Context)]...)
	if len(tokens) <= c.Context {
		tokens = append(tokens, end)
	}
	return example(tokens)
}

// ids are the tokens of a text, in as few bytes as the vocabulary allows.
type ids struct {
	short []uint16
	long  []int32
	wide  bool
}

func (s *ids) append(tokens ...int32) {
	if s.wide {
		s.long = append(s.long, tokens...)
		return
	}
	for _, t := range tokens {
		s.short = append(s.short, uint16(t))
	}
}

func (s *ids) len() int { return len(s.short) + len(s.long) }

// slice returns a copy.
func (s *ids) slice(from, to int) []int32 {
	if s.wide {
		return slices.Clone(s.long[from:to])
	}
	tokens := make([]int32, to-from)
	for i, t := range s.short[from:to] {
		tokens[i] = int32(t)
	}
	return tokens
}

func newIDs(vocabulary int) *ids { return &ids{wide: vocabulary > math.MaxUint16+1} }
