package main

import (
	"runtime"

	"github.com/spf13/cobra"

	"github.com/reprise-ml/reprise/experiments"
)

func benchDecode() *cobra.Command {
	cmd := benchPictures(experiments.InputBench{DecodeOnly: true})
	cmd.Use = "decode --data PATH"
	cmd.Short = "Measure reading and decoding the pictures of a data set"
	cmd.Long = `Measure how fast the pictures of a data set are read from their files and decoded,
whole and strictly, to the planes of JPEG or whatever their format has.

--transform is taken as bench input takes it, and does not matter.`
	cmd.Example = `  reprise bench decode --data imagenet-240.tar --workers 1`
	return cmd
}

func benchInput() *cobra.Command {
	cmd := benchPictures(experiments.InputBench{})
	cmd.Use = "input --data PATH --transform imagenet|cifar"
	cmd.Short = "Measure the input pipeline of a data set"
	cmd.Long = `Measure the input pipeline of training, from the files of a data set to shuffled
batches of normalised float32 pixels. The files are read again and again, and no
picture is kept decoded.

The transform imagenet is a random resized crop to 224×224 and a flip; cifar, for
pictures of one size, is a crop of that size after 4 pixels were added on each
side, and a flip.

PATH is a directory of classes, a .tar or .tar.gz of them, or the files of CIFAR
or MNIST. Its largest part is read. Crops alone are decoded once
reprise data verify has found the data set good.`
	cmd.Example = `  reprise bench input --data imagenet-240.tar --transform imagenet --workers 1 --json
  reprise bench input --data cifar-10-binary.tar.gz --transform cifar`
	return cmd
}

// benchPictures is a command that runs bench with its flags.
func benchPictures(bench experiments.InputBench) *cobra.Command {
	var (
		seconds float64
		asJSON  bool
	)
	cmd := &cobra.Command{
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if bench.Time, err = benchTime(seconds); err != nil {
				return err
			}
			if err := bench.Check(); err != nil {
				return usageError{err}
			}
			r, err := bench.Run(cmd.Context(), experiments.DefaultRegistry())
			if err != nil {
				return err
			}
			return printBench(r, asJSON)
		},
	}
	cmd.Flags().StringVar(&bench.Path, "data", "", "data set to read")
	cmd.Flags().StringVar(&bench.Transform, "transform", experiments.TransformImageNet, "what pictures become: imagenet or cifar")
	cmd.Flags().IntVar(&bench.Workers, "workers", runtime.GOMAXPROCS(0), "workers that decode and augment")
	cmd.Flags().Float64Var(&seconds, "seconds", 10, "time to measure for, after the buffers are full")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}
