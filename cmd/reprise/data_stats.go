package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/reprise-ml/reprise/experiments"
)

func dataStats() *cobra.Command {
	var (
		flags  dataFlags
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "stats PATH | -c run.yaml",
		Short: "Count and measure the pictures: classes, sizes, formats, mean and std",
		Long: `Count and measure the pictures of each part of a data set, or of each split of
a spec. It reads them all. Mean and std are over all pixels, on a scale of 0 to
1, ready to be put in a spec's input.mean and input.std.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			parts, err := flags.parts(cmd, args)
			if err != nil {
				return err
			}
			var all []experiments.Stats
			for i, p := range parts {
				progress, end := counting()
				s, err := p.Stats(cmd.Context(), progress)
				end()
				if err != nil {
					return err
				}
				if all = append(all, s); asJSON {
					continue
				}
				if i > 0 {
					fmt.Println()
				}
				if err := s.Write(os.Stdout); err != nil {
					return err
				}
			}
			if asJSON {
				return printJSON(all)
			}
			return nil
		},
	}
	flags.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}
