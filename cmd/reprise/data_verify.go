package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reprise-ml/reprise/experiments"
)

func dataVerify() *cobra.Command {
	var (
		flags  dataFlags
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "verify PATH | -c run.yaml",
		Short: "Read and decode every record, and list those that are damaged",
		Long: `Read and decode every record of every part of a data set, and list those that
are damaged. A data set of files without any is marked as clean: in
.reprise-clean.json beside the data, or in the user's cache where that cannot
be written to and for archives. The mark holds until a file changes.

Exit codes: 0 clean, 1 error, 2 bad usage or spec, 5 damaged records found.`,
		Example: `  reprise data verify photos
  reprise data verify train-000.tar --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := flags.check(args); err != nil {
				return err
			}
			var source experiments.Choice[experiments.Source]
			if len(args) == 1 {
				var err error
				if source, err = experiments.DefaultRegistry().Detect(args[0]); err != nil {
					return err
				}
			} else {
				s, err := flags.load(cmd)
				if err != nil {
					return err
				}
				source = s.Data.Source
			}
			progress, end := counting()
			v, err := experiments.Verify(cmd.Context(), source, progress)
			end()
			if err != nil {
				return err
			}
			if asJSON {
				err = printJSON(v)
			} else {
				printVerified(v)
			}
			if err == nil && len(v.Bad) > 0 {
				err = ended(exitBadRecords)
			}
			return err
		},
	}
	flags.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func printVerified(v experiments.Verified) {
	for _, b := range v.Bad {
		fmt.Printf("%s: %s: %s\n", b.Part, b.Name, b.Error)
	}
	if len(v.Bad) > 0 {
		fmt.Printf("%d of %d records are damaged\n", len(v.Bad), v.Records)
		return
	}
	fmt.Printf("all %d records are good\n", v.Records)
	if v.Mark != "" {
		fmt.Printf("  marked as clean: %s\n", v.Mark)
	}
}
