package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/reprise-ml/reprise/experiments"
)

func benchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure how fast this machine reads and computes, and what echoing costs",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(benchStep(), benchDecode(), benchInput(), benchEcho())
	return cmd
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
			if !(seconds > 0 && seconds <= 1e9) {
				return usageError{fmt.Errorf("--seconds is %g, want more than 0 and at most 1e9", seconds)}
			}
			bench.Time = time.Duration(seconds * float64(time.Second))
			if err := bench.Check(registry); err != nil {
				return usageError{err}
			}
			t, err := bench.Run(cmd.Context(), registry)
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(os.Stdout).Encode(t)
			}
			return t.Write(os.Stdout)
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
