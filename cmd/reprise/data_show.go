package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reprise-ml/reprise/experiments"
	"github.com/reprise-ml/reprise/train"
)

func dataShow() *cobra.Command {
	var (
		flags         dataFlags
		out, part     string
		augmentations string
		n, copies     int
		seed          uint64
	)
	cmd := &cobra.Command{
		Use:   "show PATH | -c run.yaml | --augmentations PICTURE",
		Short: "Write a sheet of pictures with their classes (PNG)",
		Long: `Write a sheet of pictures with their classes (PNG).

Of a path, pictures drawn from one part. Of a spec, one training picture a row,
and beside it copies as they are after augmentation. With --augmentations, what
each augmentation makes of a picture.`,
		Example: `  reprise data show photos -o sheet.png
  reprise data show -c run.yaml --copies 6
  reprise data show --augmentations cat.jpg`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if n < 0 || copies < 0 {
				return usageError{fmt.Errorf("--n is %d and --copies %d, want 0 or more", n, copies)}
			}
			var write func(io.Writer) error
			switch {
			case augmentations != "":
				if len(args) > 0 || flags.path != "" {
					return usageError{fmt.Errorf("--augmentations goes with neither a path nor a spec")}
				}
				picture, err := os.ReadFile(augmentations)
				if err != nil {
					return err
				}
				write = func(w io.Writer) error {
					return experiments.ShowAugmentations(cmd.Context(), w, picture, seed)
				}
			case flags.path != "" && len(args) == 0:
				sets := &flags.sets
				if cmd.Flags().Changed("seed") {
					*sets = append(*sets, fmt.Sprintf("seed=%d", seed))
				}
				s, err := flags.load(cmd)
				if err != nil {
					return err
				}
				write = func(w io.Writer) error { return s.Show(cmd.Context(), w, orElse(n, 8), copies) }
			default:
				parts, err := flags.parts(cmd, args)
				if err != nil {
					return err
				}
				p, err := choosePart(parts, part)
				if err != nil {
					return err
				}
				write = func(w io.Writer) error { return p.Show(cmd.Context(), w, orElse(n, 64), seed) }
			}
			if err := train.WriteFile(out, write); err != nil {
				return err
			}
			fmt.Printf("wrote %s\n", out)
			return nil
		},
	}
	flags.add(cmd)
	cmd.Flags().StringVarP(&out, "output", "o", "sheet.png", "file to write")
	cmd.Flags().StringVar(&part, "part", "", "part to show of a path (default train, or the first)")
	cmd.Flags().StringVar(&augmentations, "augmentations", "", "picture to show every augmentation of")
	cmd.Flags().IntVar(&n, "n", 0, "pictures (default 64, of a spec 8)")
	cmd.Flags().IntVar(&copies, "copies", 4, "augmented copies of each picture of a spec")
	cmd.Flags().Uint64Var(&seed, "seed", 0, "seed of what is drawn")
	return cmd
}

func orElse(n, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return n
}

// choosePart returns the part of a name; without one, train or the first.
func choosePart(parts []experiments.Part, name string) (experiments.Part, error) {
	var names []string
	for _, p := range parts {
		names = append(names, p.Name)
	}
	i := slices.Index(names, name)
	switch {
	case i >= 0:
		return parts[i], nil
	case name == "":
		return parts[max(0, slices.Index(names, "train"))], nil
	}
	return experiments.Part{}, usageError{fmt.Errorf("--part is %q, want one of %s", name, strings.Join(names, ", "))}
}
