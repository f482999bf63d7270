package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/reprise-ml/reprise/experiments"
)

func generateCommand() *cobra.Command {
	var (
		g      experiments.Generation
		sets   []string
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "generate RUN --prompt TEXT",
		Short: "Let a run's language model go on with a text",
		Long: `Let the best weights of a run of a language model go on with a text, and write
the prompt and what follows to stdout as it is made. It stops at the end of a
text; --ignore-end writes the end of a line there and goes on. Without a prompt
it begins a text. Equal seeds make equal texts.

Keys and values of the tokens before are kept, so that a token costs the work
of one position. Where the context of the model is full, the older half of it
is forgotten, and the newer half read again.`,
		Example: `  reprise generate runs/lm-shakespeare --prompt "ROMEO:" --tokens 200 --temperature 0.8 --top-k 40`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := g.Check(); err != nil {
				return usageError{fmt.Errorf("--%w", err)}
			}
			s, weights, err := experiments.DefaultRegistry().LoadRun(args[0], sets...)
			if err != nil {
				return err
			}
			var held bytes.Buffer
			var out io.Writer = &prompter{os.Stdout, g.Prompt}
			if asJSON {
				out = &held
			}
			made, err := s.Generate(cmd.Context(), weights, g, out)
			if errors.Is(err, experiments.ErrNoLanguageModel) {
				return usageError{err}
			}
			if asJSON && err == nil {
				return printJSON(struct {
					Prompt string `json:"prompt"`
					Text   string `json:"text"` // what is no UTF-8 in it is replaced
					Seed   uint64 `json:"seed"`
					experiments.Generated
				}{g.Prompt, held.String(), g.Seed, made})
			}
			if !asJSON && made.Tokens > 0 {
				_, end := io.WriteString(out, "\n")
				err = errors.Join(err, end)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&g.Prompt, "prompt", "", "text to go on with (default: begin a text)")
	cmd.Flags().IntVar(&g.Tokens, "tokens", 200, "tokens to make, at most")
	cmd.Flags().Float64Var(&g.Temperature, "temperature", 1, "0 takes the most likely token, 1 draws as the model says")
	cmd.Flags().IntVar(&g.TopK, "top-k", 0, "draw from so many of the most likely tokens (default: all)")
	cmd.Flags().Uint64Var(&g.Seed, "seed", 0, "seed of the draws")
	cmd.Flags().BoolVar(&g.IgnoreEnd, "ignore-end", false, "go on after the end of a text")
	cmd.Flags().StringArrayVar(&sets, "set", nil, "change a value of the run's spec, such as data.source.text.tokenizer=FILE")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON, at the end")
	return cmd
}

// prompter writes a prompt before the first that is written to it, so that where nothing is made nothing is written.
type prompter struct {
	to     io.Writer
	prompt string // left to be written
}

func (p *prompter) Write(b []byte) (int, error) {
	if prompt := p.prompt; prompt != "" {
		p.prompt = ""
		if _, err := io.WriteString(p.to, prompt); err != nil {
			return 0, err
		}
	}
	return p.to.Write(b)
}
