package main

import (
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/reprise-ml/reprise/echo"
	"github.com/reprise-ml/reprise/experiments"
	"github.com/reprise-ml/reprise/train"
)

func inspectCommand() *cobra.Command {
	return group("inspect", "See what a run trains on", inspectBatch())
}

func inspectBatch() *cobra.Command {
	var (
		spec          specFlags
		out, schedule string
		asJSON        bool
	)
	cmd := &cobra.Command{
		Use:   "batch N -c run.yaml",
		Args:  cobra.ExactArgs(1),
		Short: "Show the origin of every row of a batch, and the pictures on a sheet",
		Long: `Make the batch that step N of a run trains on, counted from 1, and print for
every row

  index  the record, as the training data numbers them
  read   how many records were read before it
  copy   0 as it was read; 1, 2, … its echoes
  lag    steps since the use before of the same read; 0: in this batch too

With -o, the pictures as they are trained on, after augmentation, are written to
one sheet (PNG); below each: row, read, copy and +lag.`,
		Example: `  reprise inspect batch 100 -c run.yaml -o batch.png
  reprise inspect batch 1 -c runs/run/config.yaml --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil || n < 1 {
				return usageError{fmt.Errorf("the batch is %q, want the number of a step, from 1", args[0])}
			}
			s, err := spec.load(cmd)
			if err != nil {
				return err
			}
			var choices []echo.Choices
			if schedule != "" {
				if choices, err = experiments.ReadSchedule(schedule); err != nil {
					return err
				}
			}
			i, err := s.Inspect(cmd.Context(), n, choices)
			if err != nil {
				return err
			}
			if out != "" {
				if err := train.WriteFile(out, i.Sheet); err != nil {
					return err
				}
				notice("wrote " + out)
			}
			if asJSON {
				return printJSON(i)
			}
			return i.Write(os.Stdout)
		},
	}
	spec.add(cmd)
	spec.addSeed(cmd)
	spec.addEcho(cmd)
	cmd.Flags().StringVarP(&out, "output", "o", "", "file of the sheet to write; none of text")
	cmd.Flags().StringVar(&schedule, "replay-schedule", "", "schedule.rle of a run with the factor auto")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}
