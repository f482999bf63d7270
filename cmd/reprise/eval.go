package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/reprise-ml/reprise/experiments"
)

func evalCommand() *cobra.Command {
	var (
		spec   specFlags
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "eval RUN|WEIGHTS",
		Short: "Measure a run's best weights, or a file of weights, on validation and test data",
		Example: `  reprise eval runs/cifar10
  reprise eval model.safetensors -c run.yaml --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			info, err := os.Stat(args[0])
			if err != nil {
				return err
			}
			var s experiments.Spec
			weights := args[0]
			if info.IsDir() {
				if spec.path != "" {
					return usageError{fmt.Errorf("%s is a run directory, which has its own spec; -c goes with a file of weights", args[0])}
				}
				s, weights, err = experiments.DefaultRegistry().LoadRun(args[0], spec.sets...)
			} else {
				if beside := filepath.Join(filepath.Dir(weights), "config.yaml"); spec.path == "" && isFile(beside) {
					spec.path = beside
				}
				s, err = spec.load(cmd)
			}
			if err != nil {
				return err
			}
			parts, err := s.EvaluateWeights(cmd.Context(), weights)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(parts)
			}
			for i, p := range parts {
				if i > 0 {
					fmt.Println()
				}
				printEvaluated(p)
			}
			return nil
		},
	}
	spec.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func printEvaluated(p experiments.Evaluated) {
	if p.Error == nil {
		fmt.Printf("%s (%s): loss %.4f nats a token, perplexity %.2f, %d examples of %d tokens in all\n", p.Part, p.Split, p.Loss, *p.Perplexity, p.Examples, p.Tokens)
		return
	}
	fmt.Printf("%s (%s): error %.4f, loss %.4f, %d examples\n", p.Part, p.Split, *p.Error, p.Loss, p.Examples)
	width := len("class")
	for _, c := range p.Classes {
		width = max(width, len([]rune(c.Class)))
	}
	fmt.Printf("  %-*s  examples   error  most often taken for\n", width, "class")
	for _, c := range p.Classes {
		fmt.Printf("  %-*s  %8d  %.4f  %s\n", width, c.Class, c.Examples, c.Error, c.Mistaken)
	}
}
