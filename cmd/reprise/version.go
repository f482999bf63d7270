package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/reprise-ml/reprise/experiments"
)

func versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		RunE: func(*cobra.Command, []string) error {
			v := map[string]string{"version": experiments.Version(), "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH}
			if asJSON {
				return printJSON(v)
			}
			fmt.Printf("reprise %s, %s, %s\n", v["version"], v["go"], v["platform"])
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}
