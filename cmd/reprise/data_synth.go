package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reprise-ml/reprise/experiments"
)

func dataSynth() *cobra.Command {
	var s experiments.Synth
	cmd := &cobra.Command{
		Use:     "synth DIR",
		Short:   "Write a synthetic data set as a folder of JPEG files",
		Example: `  reprise data synth shapes --classes 4 --size 64 --examples 2000`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := s.WriteFolder(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			fmt.Printf("wrote %d files to %s\n", n, args[0])
			return nil
		},
	}
	cmd.Flags().IntVar(&s.Classes, "classes", 10, "number of classes, 2 to 64")
	cmd.Flags().IntVar(&s.Size, "size", 32, "width and height in pixels, 8 to 512")
	cmd.Flags().IntVar(&s.Quality, "quality", 85, "of the JPEG files, 1 to 100")
	cmd.Flags().IntVar(&s.Examples, "examples", 10_000, "pictures of the part train")
	cmd.Flags().IntVar(&s.Held, "held", 1000, "pictures of the parts validation and test, each")
	cmd.Flags().BoolVar(&s.Plain, "plain", false, "large shapes on an even ground, up to 8 classes")
	cmd.Flags().Uint64Var(&s.Seed, "seed", 0, "another seed is another data set")
	return cmd
}
