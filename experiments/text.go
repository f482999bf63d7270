package experiments

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/data/text"
)

// Textual is a Source of text: decoded, the input and the target of its
// examples are tokens.
type Textual interface {
	Source
	Length() int                  // the most tokens of an example: batches have that many in a row
	Vocabulary() (int, error)     // how many tokens there are
	Unit() string                 // what an example is, for people
	Config() (text.Config, error) // what text is made into, and how
}

// Text is text in files: package text. Its parts are those of [text.Files].
type Text struct {
	Path      Path        `yaml:"path"`      // a file, a directory, or a pattern of names; plain, .gz or .zst
	Tokenizer Path        `yaml:"tokenizer"` // bytes (default), a .tiktoken file, or a vocab.json with its merges.txt
	Context   int         `yaml:"context"`   // tokens of an example, at most; default 128
	Layout    text.Layout `yaml:"layout"`    // lines (default), chunks or packed
	Stream    string      `yaml:"stream"`    // true, false, or auto (default): training data is read as streams where it is larger than 1 GiB
	Cycle     int         `yaml:"cycle"`     // streams that are read at once; default 16

	TokenizerSum string `yaml:"tokenizer_sum,omitempty"` // of the tokenizer that a run began with; not for people

	tokenizer text.Tokenizer
}

func newText() *Text {
	return &Text{Tokenizer: "bytes", Context: 128, Layout: text.Lines, Stream: "auto", Cycle: 16}
}

// Check reports what is out of range.
func (t *Text) Check() error {
	switch {
	case t.Context < 1 || t.Context > text.MaxContext:
		return fmt.Errorf("text: context is %d, want 1 to %d", t.Context, text.MaxContext)
	case !slices.Contains(text.Layouts(), t.Layout):
		return fmt.Errorf("text: layout is %q, want one of %q", t.Layout, text.Layouts())
	case !slices.Contains([]string{"auto", "true", "false"}, t.Stream):
		return fmt.Errorf("text: stream is %q, want true, false or auto", t.Stream)
	case t.Cycle < 1 || t.Cycle > 4096:
		return fmt.Errorf("text: cycle is %d, want 1 to 4096", t.Cycle)
	}
	return nil
}

func (t *Text) files() (map[string][]string, error) {
	path, err := t.Path.Expand()
	if err != nil {
		return nil, err
	}
	return text.Files(path)
}

// Files returns the files of all parts.
func (t *Text) Files() ([]string, error) {
	parts, err := t.files()
	return slices.Concat(slices.Collect(maps.Values(parts))...), err
}

// Config implements [Textual]. It reads the tokenizer once.
func (t *Text) Config() (text.Config, error) {
	if t.tokenizer == nil {
		if err := t.openTokenizer(); err != nil {
			return text.Config{}, fmt.Errorf("tokenizer: %w", err)
		}
	}
	return text.Config{Tokenizer: t.tokenizer, Context: t.Context, Layout: t.Layout}, nil
}

// openTokenizer opens the tokenizer, which has to be that of the run, if there
// was one.
func (t *Text) openTokenizer() error {
	name, err := t.Tokenizer.Expand()
	if err != nil {
		return err
	}
	opened, err := text.Open(name)
	if err != nil {
		return err
	}
	if e, ok := opened.(*text.BPE); ok {
		sum := e.Sum()
		if t.TokenizerSum != "" && t.TokenizerSum != sum {
			return fmt.Errorf("%s is not the one that the run began with; want that, or another run", name)
		}
		t.TokenizerSum = sum
	}
	t.tokenizer = opened
	return nil
}

// Bases implements [Source].
func (t *Text) Bases() ([]string, error) {
	files, err := t.files()
	return slices.Sorted(maps.Keys(files)), err
}

// Open implements [Source]. Training data may be a [data.Stream].
func (t *Text) Open(base string) (data.Source, error) {
	parts, err := t.files()
	if err != nil {
		return nil, err
	}
	files, ok := parts[base]
	if !ok {
		return nil, fmt.Errorf("%s has no part %q, but %s", t.Path, base, strings.Join(slices.Sorted(maps.Keys(parts)), ", "))
	}
	c, err := t.Config()
	if err != nil {
		return nil, err
	}
	stream := t.Stream == "true"
	if t.Stream == "auto" {
		if stream, err = text.Large(files); err != nil {
			return nil, err
		}
	}
	if stream && (base == text.Train || base == text.All) {
		shards, err := c.Stream(files)
		if err != nil {
			return nil, err
		}
		return data.Stream{Shards: shards, Cycle: t.Cycle}, nil
	}
	src, err := c.Open(files)
	if err == nil && src.Len() == 0 {
		err = fmt.Errorf("%s of %s holds no text", base, t.Path)
	}
	return src, err
}

// Length implements [Textual].
func (t *Text) Length() int { return t.Context }

// Vocabulary implements [Textual].
func (t *Text) Vocabulary() (int, error) {
	c, err := t.Config()
	if err != nil {
		return 0, err
	}
	return c.Tokenizer.Vocabulary(), nil
}

// Unit implements [Textual].
func (t *Text) Unit() string {
	switch t.Layout {
	case text.Chunks:
		return fmt.Sprintf("the chunk of %d tokens is the example", t.Context)
	case text.Packed:
		return fmt.Sprintf("the chunk of %d tokens, of packed lines, is the example", t.Context)
	default:
		return fmt.Sprintf("the line is the example, padded or cut to %d tokens", t.Context)
	}
}

// textual returns the source of s where it is one of text.
func (s Spec) textual() (Textual, bool) {
	t, ok := s.Data.Source.Value.(Textual)
	return t, ok
}
