package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/reprise-ml/reprise/experiments"
)

func benchCommand() *cobra.Command {
	return group("bench", "Measure how fast this machine reads and computes, and what echoing costs", benchStep(), benchDecode(), benchInput(), benchEcho())
}

// benchTime is the time that --seconds says.
func benchTime(seconds float64) (time.Duration, error) {
	if !(seconds > 0 && seconds <= 1e9) {
		return 0, usageError{fmt.Errorf("--seconds is %g, want more than 0 and at most 1e9", seconds)}
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

// printBench prints what was measured, for people or as one line of JSON.
func printBench(found interface{ Write(w io.Writer) error }, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(os.Stdout).Encode(found)
	}
	return found.Write(os.Stdout)
}

func benchStep() *cobra.Command {
	var (
		bench   experiments.StepBench
		seconds float64
		asJSON  bool
	)
	cmd := &cobra.Command{
		Use:   "step --model NAME[:key=value,…]",
		Short: "Measure the training step of a model on random data",
		Long: `Measure the training step of a model: forward, backward and the update, on one
batch of random data.

Pictures are 32×32 in 10 classes, and 224×224 in 1000 for resnet, and for vit
in patches above 8. The update is that of SGD with Nesterov momentum 0.9 and
weight decay 1e-4. Transformers, on pictures too, are updated by AdamW at 1e-3
with weight decay 0.01. The data of a language model has the tokens that its
context and vocab say, 128 of 8192 by default.`,
		Example: `  reprise bench step --model resnet_cifar:depth=20 --batch 128 --threads 2
  reprise bench step --model transformer:layers=4,width=256,heads=4,context=128,vocab=8192 --batch 16 --ops
  reprise bench step --model vit:size=tiny --batch 16`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			registry := experiments.DefaultRegistry()
			var err error
			if bench.Time, err = benchTime(seconds); err != nil {
				return err
			}
			if err := bench.Check(registry); err != nil {
				return usageError{err}
			}
			t, err := bench.Run(cmd.Context(), registry)
			if err != nil {
				return err
			}
			return printBench(t, asJSON)
		},
	}
	cmd.Flags().StringVar(&bench.Model, "model", "resnet_cifar:depth=20", "model, with its settings")
	cmd.Flags().IntVar(&bench.Batch, "batch", 128, "rows of the step")
	cmd.Flags().IntVar(&bench.Threads, "threads", runtime.GOMAXPROCS(0), "threads that compute")
	cmd.Flags().Float64Var(&seconds, "seconds", 10, "time to measure for, after the warm-up")
	cmd.Flags().BoolVar(&bench.Ops, "ops", false, "break the step down into its operations")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}
