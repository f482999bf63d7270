package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/reprise-ml/reprise/experiments"
)

func quickstartCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "quickstart",
		Short: "See what echoing does, on a built-in example: two trainings, within a minute",
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir := out
			if dir == "" {
				var err error
				if dir, err = os.MkdirTemp("", "reprise-quickstart-"); err != nil {
					return err
				}
				defer os.RemoveAll(dir)
			}
			q, err := experiments.Quickstart(dir)
			if err != nil {
				return err
			}
			fmt.Print(q.Introduction())
			q.Notice, q.Progress = notice, progress
			t, err := q.Run(cmd.Context())
			if err != nil {
				return err
			}
			fmt.Print(q.Conclusion(t))
			return nil
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "directory to keep the two runs in (default: none are kept)")
	return cmd
}
