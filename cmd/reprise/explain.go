package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/reprise-ml/reprise/experiments"
)

func explainCommand() *cobra.Command {
	cmd := specCommand("explain run.yaml", "Draw the pipeline of a spec with its numbers filled in", func(ctx context.Context, _ string, s experiments.Spec) error {
		return s.Explain(ctx, os.Stdout)
	})
	cmd.Example = `  reprise explain run.yaml --strategy batch --factor 4`
	return cmd
}
