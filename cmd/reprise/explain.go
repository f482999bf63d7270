package main

import (
	"os"

	"github.com/spf13/cobra"
)

func explainCommand() *cobra.Command {
	var spec specFlags
	cmd := &cobra.Command{
		Use:     "explain run.yaml",
		Short:   "Draw the pipeline of a spec with its numbers filled in",
		Example: `  reprise explain run.yaml --strategy batch --factor 4`,
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := spec.loadArgument(cmd, args)
			if err != nil {
				return err
			}
			return s.Explain(cmd.Context(), os.Stdout)
		},
	}
	spec.add(cmd)
	spec.addEcho(cmd)
	return cmd
}
