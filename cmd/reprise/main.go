// Command reprise trains models with data echoing, and compares ways to echo.
//
// See reprise help, and the README of the repository.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/reprise-ml/reprise/experiments"
	"github.com/reprise-ml/reprise/train"
	"github.com/reprise-ml/reprise/train/report"
)

// Exit codes.
const (
	exitError       = 1
	exitUsage       = 2   // bad usage or spec
	exitBudget      = 3   // the budget was spent without reaching the target
	exitDiverged    = 4   // the loss was not finite, or grew without end
	exitBadRecords  = 5   // more damaged records than allowed
	exitInterrupted = 130 // by SIGINT or SIGTERM
)

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	// A first signal ends a run cleanly; a second one stops at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go func() {
		<-ctx.Done()
		stop()
	}()
	cmd := root()
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	var silent ended
	if errors.As(err, &silent) {
		return int(silent)
	}
	fmt.Fprintln(os.Stderr, "reprise:", err)
	var (
		usage    usageError
		bad      experiments.TooManyBad
		diverged train.Diverged
	)
	switch {
	case ctx.Err() != nil:
		return exitInterrupted
	case errors.As(err, &usage), strings.HasPrefix(err.Error(), "unknown command"):
		return exitUsage
	case errors.As(err, &bad):
		return exitBadRecords
	case errors.As(err, &diverged):
		return exitDiverged
	}
	return exitError
}

// ended is the error of a command that has said all there is to say, and
// ends with this exit code.
type ended int

func (e ended) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// usageError is what is wrong with the command line or a Spec.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func root() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "reprise",
		Short: "Train with data echoing: reach the same error from fewer fresh examples",
		Long: `Reprise trains models while its input pipeline repeats what it already made,
so that a step need not wait for slow storage, decoding or augmentation
(Choi, Passos, Shallue, Dahl: "Faster Neural Network Training with Data
Echoing", arXiv 1907.05550).

Start with: reprise quickstart`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	for _, c := range []*cobra.Command{
		quickstartCommand(), trainCommand(), evalCommand(), compareCommand(), explainCommand(), benchCommand(), configCommand(), versionCommand(),
	} {
		args := c.Args
		c.Args = func(cmd *cobra.Command, given []string) error {
			if args == nil {
				args = cobra.NoArgs
			}
			if err := args(cmd, given); err != nil {
				return usageError{fmt.Errorf("%w; see reprise %s --help", err, cmd.Name())}
			}
			return nil
		}
		cmd.AddCommand(c)
	}
	return cmd
}

// specFlags are the flags of every command that reads a Spec.
type specFlags struct {
	path  string
	sets  []string
	short map[string]string // flags that set one key, and the key
}

func (f *specFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&f.path, "config", "c", "", "spec file (YAML)")
	cmd.Flags().StringArrayVar(&f.sets, "set", nil, "change a value of the spec: key.key=value; may be repeated")
	f.short = map[string]string{}
	f.shortcut(cmd, "seed", "seed", "seed of everything drawn at random")
}

// shortcut adds a flag that sets one key.
func (f *specFlags) shortcut(cmd *cobra.Command, flag, key, usage string) {
	cmd.Flags().String(flag, "", usage)
	f.short[flag] = key
}

func (f *specFlags) addTarget(cmd *cobra.Command) {
	f.shortcut(cmd, "target", "stop.target", `goal at which to stop, such as "val_error<=0.09"`)
}

func (f *specFlags) addEcho(cmd *cobra.Command) {
	f.shortcut(cmd, "strategy", "echo.strategy", "where to echo: none, read, example, augmentation or batch")
	f.shortcut(cmd, "factor", "echo.factor", "how often each item is used on average, 1 to 1024")
}

// loadArgument is load where the spec may be named as an argument too.
func (f *specFlags) loadArgument(cmd *cobra.Command, args []string) (experiments.Spec, error) {
	if len(args) == 1 {
		f.path = args[0]
	}
	return f.load(cmd)
}

// load reads the Spec that the flags name and change.
func (f *specFlags) load(cmd *cobra.Command) (experiments.Spec, error) {
	if f.path == "" {
		return experiments.Spec{}, usageError{fmt.Errorf("want a spec: -c FILE; reprise config init writes one")}
	}
	sets := f.sets
	for flag, key := range f.short {
		if v := cmd.Flags().Lookup(flag); v.Changed {
			sets = append(sets, key+"="+v.Value.String())
		}
	}
	s, err := experiments.DefaultRegistry().Load(f.path, sets...)
	if err != nil {
		return s, usageError{err}
	}
	return s, nil
}

// notice tells a person something at the start of a run.
func notice(text string) { fmt.Fprintln(os.Stderr, text) }

// progress shows a run on stderr.
func progress(label string, s experiments.Spec) *report.Progress {
	return &report.Progress{Out: os.Stderr, Label: label, Interval: s.Log.Progress}
}
