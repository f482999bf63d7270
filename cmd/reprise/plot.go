package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/reprise-ml/reprise/experiments"
)

func plotCommand() *cobra.Command {
	var (
		figure int
		out    string
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "plot --figure 4 DIR",
		Short: "Plot a comparison as a figure of the paper does",
		Long: `Plot a comparison as a figure of the paper does, and print its numbers.

Figure 4: fresh examples and seconds to the target by the factor of example
echo, measured beside predicted and beside the paper. DIR is the directory of
a comparison to a target that has ended, of none and example by some factors.
Beside its table.json, figure4.svg, .png, .txt and .json are written.`,
		Example: `  reprise compare -c experiments/specs/fig4.yaml --strategies none,example --factor 2,3,4,5 --seeds 3 --out fig4
  reprise plot --figure 4 fig4`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if figure != 4 {
				return usageError{fmt.Errorf("--figure is %d, want 4", figure)}
			}
			t, err := experiments.ReadTable(args[0])
			if err != nil {
				return err
			}
			f, err := t.Figure4()
			if err != nil {
				return err
			}
			if out == "" {
				out = args[0]
			}
			if err := f.Save(out); err != nil {
				return err
			}
			if asJSON {
				return printJSON(f)
			}
			return f.Write(os.Stdout)
		},
	}
	cmd.Flags().IntVar(&figure, "figure", 4, "number of the figure in the paper")
	cmd.Flags().StringVarP(&out, "output", "o", "", "directory of the files (default DIR)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the numbers as JSON")
	return cmd
}
