package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/reprise-ml/reprise/experiments"
	"github.com/reprise-ml/reprise/experiments/specs"
)

func configCommand() *cobra.Command {
	return group("config", "Write, check or print a spec", configInit(), configCheck(), configPrint())
}

func configInit() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write a spec for your own folder of pictures, with every setting explained",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			text, err := specs.Files.ReadFile("folder.yaml")
			if err != nil {
				return err
			}
			if out == "-" {
				_, err := os.Stdout.Write(text)
				return err
			}
			f, err := os.OpenFile(out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
			if errors.Is(err, fs.ErrExist) {
				return fmt.Errorf("%s exists already; -o names another file", out)
			}
			if err != nil {
				return err
			}
			if _, err := f.Write(text); err != nil {
				f.Close()
				return err
			}
			if err := f.Close(); err != nil {
				return err
			}
			fmt.Printf("wrote %s; next: put in your path, then reprise train -c %s\n", out, out)
			return nil
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "run.yaml", "file to write, - for stdout")
	return cmd
}

func configCheck() *cobra.Command {
	return specCommand("check [run.yaml]", "Check a spec, its data and its model, and train nothing", func(ctx context.Context, path string, s experiments.Spec) error {
		r := experiments.Run{Spec: s, Notice: notice}
		if err := r.Check(ctx); err != nil {
			return usageError{err}
		}
		fmt.Printf("%s: good\n", path)
		return nil
	})
}

func configPrint() *cobra.Command {
	return specCommand("print [run.yaml]", "Print a spec in full, with all defaults", func(_ context.Context, _ string, s experiments.Spec) error {
		return s.Write(os.Stdout)
	})
}
