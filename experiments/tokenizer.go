package experiments

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/reprise-ml/reprise/data/text"
	"github.com/reprise-ml/reprise/train"
)

// TokenizerTraining makes a byte pair encoding of text.
type TokenizerTraining struct {
	Paths    []string     // of text, as that of [Text]; of sets with parts, the training data
	Merges   int          // tokens to make beside the 256 bytes and the end of text
	Out      string       // .tiktoken file to write
	Progress func(string) // is told now and then how far it is; nil drops it
}

// TrainedTokenizer is the outcome of a [TokenizerTraining].
type TrainedTokenizer struct {
	File          string  `json:"file"`
	Vocabulary    int     `json:"vocabulary"`      // the end of text included
	Bytes         int64   `json:"bytes"`           // of the text
	BytesPerToken float64 `json:"bytes_per_token"` // of the text
	Seconds       float64 `json:"seconds"`
}

// Run trains and writes the file. The same text makes the same file.
func (t TokenizerTraining) Run(ctx context.Context) (TrainedTokenizer, error) {
	begun := time.Now()
	told := begun
	tell := func(format string, args ...any) {
		if now := time.Now(); t.Progress != nil && now.Sub(told) >= 2*time.Second {
			told = now
			t.Progress(fmt.Sprintf(format, args...))
		}
	}
	files, err := trainingText(t.Paths)
	if err != nil {
		return TrainedTokenizer{}, err
	}
	var words text.Words
	for i, path := range files {
		f, err := os.Open(path)
		if err != nil {
			return TrainedTokenizer{}, fmt.Errorf("experiments: %w", err)
		}
		err = words.Add(ctx, f, func(n int64) {
			tell("counting words: %v, file %d of %d", Bytes(n), i+1, len(files))
		})
		f.Close()
		if err != nil {
			return TrainedTokenizer{}, fmt.Errorf("%s: %w", path, err)
		}
	}
	e, err := words.Train(ctx, t.Merges, func(n int) { tell("%s of %s merges", number(float64(n)), number(float64(t.Merges))) })
	if err != nil {
		return TrainedTokenizer{}, err
	}
	bytes, tokens := words.Measure(e)
	if err := train.WriteFile(t.Out, e.Write); err != nil {
		return TrainedTokenizer{}, err
	}
	return TrainedTokenizer{
		File: t.Out, Vocabulary: e.Vocabulary(), Bytes: words.Bytes,
		BytesPerToken: float64(bytes) / float64(tokens), Seconds: time.Since(begun).Seconds(),
	}, nil
}

// trainingText returns the files of training data at paths.
func trainingText(paths []string) ([]string, error) {
	var all []string
	for _, path := range paths {
		parts, err := text.Files(path)
		if err != nil {
			return nil, err
		}
		files := append(parts[text.Train], parts[text.All]...)
		if len(files) == 0 {
			return nil, fmt.Errorf("experiments: %s has no part %s", path, text.Train)
		}
		all = append(all, files...)
	}
	return all, nil
}

// OpenTokenizer opens what data.source.text.tokenizer may name.
func OpenTokenizer(name string) (text.Tokenizer, error) { return text.Open(name) }
