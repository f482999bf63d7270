package main

import (
	"runtime"

	"github.com/spf13/cobra"

	"github.com/reprise-ml/reprise/echo"
	"github.com/reprise-ml/reprise/experiments"
)

func benchEcho() *cobra.Command {
	var (
		bench   experiments.EchoBench
		factors []float64
		asJSON  bool
	)
	cmd := &cobra.Command{
		Use:   "echo",
		Short: "Measure the time per fresh example by the echo factor, beside the predicted one",
		Long: `Train ResNet-8 in batches of 32 behind simulated storage, with example echo, and
print the time per fresh example for every R and factor beside the predicted
one, max(t_up, factor × t_down); what factor 5 costs where R is 6 or more; and
the memory by the factor. All of it is measured once a round. The machine should
have nothing else to do: one core computes, another reads.`,
		Example: `  reprise bench echo
  reprise bench echo --r 6 --factor 1,5 --rounds 15 --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, f := range factors {
				bench.Factors = append(bench.Factors, echo.Factor(f))
			}
			if err := bench.Check(); err != nil {
				return usageError{err}
			}
			t, err := bench.Run(cmd.Context(), notice)
			if err != nil {
				return err
			}
			return printBench(t, asJSON)
		},
	}
	cmd.Flags().IntVar(&bench.Rounds, "rounds", 7, "rounds")
	cmd.Flags().IntVar(&bench.Batches, "batches", 24, "batches of fresh data that a measurement lasts")
	cmd.Flags().Float64SliceVar(&bench.Ratios, "r", []float64{0.5, 1, 2, 4, 6, 8}, "ratios of upstream to step")
	cmd.Flags().Float64SliceVar(&factors, "factor", []float64{1, 1.5, 2, 4, 5, 8}, "echo factors")
	cmd.Flags().IntVar(&bench.Threads, "threads", max(1, runtime.GOMAXPROCS(0)/2), "threads that compute a step")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}
