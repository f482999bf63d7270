package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
)

func profileCommand() *cobra.Command {
	var (
		spec    specFlags
		seconds float64
		asJSON  bool
	)
	cmd := &cobra.Command{
		Use:   "profile [-c] run.yaml",
		Args:  cobra.MaximumNArgs(1),
		Short: "Measure the pipeline and the step: R, the bottleneck, and what would help",
		Long: `Measure every stage of the pipeline alone and all together, and say which is the
bottleneck, what an echo can bring at each of its places, and what else would
help. No run is written.

  t_up        time of a batch of fresh data left of the echo, with its workers
  t_down      time of a batch right of it: its slowest stage, or the step
  R           t_up / t_down
  useful      the factor above which the speed-up grows no more
  at most     the speed-up of training, where a repeat is worth a fresh example,
              at any factor; then at that of the spec
  example     the time of a fresh example at that factor

Stages that only compute are measured by the fastest of five stretches, which
other processes disturb the least.`,
		Example: `  reprise profile -c run.yaml
  reprise profile run.yaml --strategy example --factor 3 --seconds 60
  reprise profile run.yaml --json | jq .places`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !(seconds > 0 && seconds <= 86400) {
				return usageError{fmt.Errorf("--seconds is %g, want more than 0 and at most 86400", seconds)}
			}
			s, err := spec.loadArgument(cmd, args)
			if err != nil {
				return err
			}
			p, err := s.Profile(cmd.Context(), time.Duration(seconds*float64(time.Second)), notice)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(p)
			}
			return p.Write(os.Stdout)
		},
	}
	spec.add(cmd)
	spec.addSeed(cmd)
	spec.addEcho(cmd)
	cmd.Flags().Float64Var(&seconds, "seconds", 25, "time to measure for, in all")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}
