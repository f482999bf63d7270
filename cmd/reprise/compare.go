package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/reprise-ml/reprise/echo"
	"github.com/reprise-ml/reprise/experiments"
)

func compareCommand() *cobra.Command {
	var (
		spec       specFlags
		strategies []string
		factors    []string
		seeds      int
		out        string
		asJSON     bool
	)
	cmd := &cobra.Command{
		Use:   "compare [-c] run.yaml --strategies none,example",
		Args:  cobra.MaximumNArgs(1),
		Short: "Train a spec with several strategies and seeds, and compare what they use up",
		Long: `Train a spec with every strategy for every seed, and print what each used up
to reach the target: fresh examples, reads, examples, steps, seconds, CPU
seconds. A run that misses the target is shown as "> budget" and makes its
mean a bound. Runs that are finished in the directory already are not made
again, and one that was killed goes on from its last checkpoint, so an
interrupted comparison goes on where it was.`,
		Example: `  reprise compare -c run.yaml --strategies none,example,batch --factor 2,4 --seeds 3`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := spec.loadArgument(cmd, args)
			if err != nil {
				return err
			}
			if seeds < 1 {
				return usageError{fmt.Errorf("--seeds is %d, want at least 1", seeds)}
			}
			if out == "" {
				out = filepath.Join("runs", s.Name+"-compare")
			}
			c := experiments.Comparison{Spec: s, Seeds: seeds, Dir: out, Notice: notice, Progress: progress}
			for _, name := range strategies {
				c.Strategies = append(c.Strategies, echo.Strategy(name))
			}
			for _, text := range factors {
				var f echo.Factor
				if err := f.UnmarshalText([]byte(text)); err != nil {
					return usageError{err}
				}
				c.Factors = append(c.Factors, f)
			}
			if _, _, err := c.Arms(); err != nil {
				return usageError{err}
			}
			t, err := c.Run(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(t)
			}
			return t.Write(os.Stdout)
		},
	}
	spec.add(cmd)
	spec.addSeed(cmd)
	spec.addTarget(cmd)
	cmd.Flags().StringSliceVar(&strategies, "strategies", []string{"none", "example", "augmentation", "batch"}, "strategies to compare")
	cmd.Flags().StringSliceVar(&factors, "factor", []string{"2"}, "factors of every strategy but none: numbers, or auto")
	cmd.Flags().IntVar(&seeds, "seeds", 1, "number of paired seeds, from that of the spec on")
	cmd.Flags().StringVar(&out, "out", "", "directory (default runs/NAME-compare)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the table as JSON")
	return cmd
}
