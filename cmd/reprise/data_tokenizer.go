package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reprise-ml/reprise/experiments"
)

func tokenizerTrain() *cobra.Command {
	var (
		t      experiments.TokenizerTraining
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "train PATH… --merges N -o FILE",
		Short: "Train a byte pair encoding on text, which may be packed with gzip or zstd",
		Long: `Train a byte-level byte pair encoding on text: files, directories of them, or
patterns; of directories with parts, the training data. The file that is
written has a line for each token, its bytes as base64 and its number, and is
named in a spec as data.source.text.tokenizer. The same text makes the same
file.`,
		Example: `  reprise data tokenizer train news/ --merges 32000 -o news.tiktoken`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if t.Merges < 1 {
				return usageError{fmt.Errorf("--merges is %d, want at least 1", t.Merges)}
			}
			t.Paths, t.Progress = args, notice
			made, err := t.Run(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(made)
			}
			fmt.Printf("%s: a vocabulary of %d, %.3f bytes a token on the %d bytes it was trained on, made in %.1f s\n",
				made.File, made.Vocabulary, made.BytesPerToken, made.Bytes, made.Seconds)
			return nil
		},
	}
	cmd.Flags().IntVar(&t.Merges, "merges", 32000, "tokens to make, beside the 256 bytes and the end of text")
	cmd.Flags().StringVarP(&t.Out, "output", "o", "tokenizer.tiktoken", "file to write")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

// tokenizerEncode shows what a tokenizer makes of text.
func tokenizerEncode() *cobra.Command {
	return &cobra.Command{
		Use:     "encode TOKENIZER [TEXT]",
		Short:   "Print the tokens of a text, or of stdin, as a list of numbers",
		Example: `  reprise data tokenizer encode news.tiktoken "hello world"`,
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			tokenizer, err := experiments.OpenTokenizer(args[0])
			if err != nil {
				return err
			}
			text, err := given(args[1:])
			if err != nil {
				return err
			}
			return printJSON(tokenizer.Encode(text))
		},
	}
}

// tokenizerDecode shows the text of tokens.
func tokenizerDecode() *cobra.Command {
	return &cobra.Command{
		Use:     "decode TOKENIZER [TOKENS]",
		Short:   "Print the text of a list of numbers, such as [31373,995], or of one on stdin",
		Example: `  reprise data tokenizer decode news.tiktoken "[31373, 995]"`,
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			tokenizer, err := experiments.OpenTokenizer(args[0])
			if err != nil {
				return err
			}
			list, err := given(args[1:])
			if err != nil {
				return err
			}
			var tokens []int32
			if err := json.NewDecoder(bytes.NewReader(list)).Decode(&tokens); err != nil {
				return usageError{fmt.Errorf("the tokens: want a list of numbers such as [31373,995]: %w", err)}
			}
			for _, t := range tokens {
				if t < 0 || int(t) >= tokenizer.Vocabulary() {
					return usageError{fmt.Errorf("there is no token %d in a vocabulary of %d", t, tokenizer.Vocabulary())}
				}
			}
			_, err = os.Stdout.Write(tokenizer.Decode(tokens))
			return err
		},
	}
}

// given is the argument, if there is one, and stdin elsewhere.
func given(args []string) ([]byte, error) {
	if len(args) > 0 {
		return []byte(strings.Join(args, " ")), nil
	}
	return io.ReadAll(os.Stdin)
}
