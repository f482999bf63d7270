// Command reprise trains models with data echoing, and compares ways to echo.
//
// See reprise help, and the README of the repository.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/reprise-ml/reprise/echo"
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
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	signal.Ignore(syscall.SIGPIPE) // who reads along may stop: the run goes on
	ignoreFileLimit()
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
	if ctx.Err() != nil {
		fmt.Fprintln(os.Stderr, "reprise: interrupted")
		return exitInterrupted
	}
	fmt.Fprintln(os.Stderr, "reprise:", err)
	var (
		spec     experiments.SpecError
		usage    usageError
		bad      experiments.TooManyBad
		diverged train.Diverged
	)
	switch {
	case errors.As(err, &usage), errors.As(err, &spec), strings.HasPrefix(err.Error(), "unknown command"):
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
		quickstartCommand(), trainCommand(), evalCommand(), compareCommand(), plotCommand(), profileCommand(), inspectCommand(), explainCommand(), benchCommand(), generateCommand(), dataCommand(), configCommand(), versionCommand(),
	} {
		checkArguments(c)
		cmd.AddCommand(c)
	}
	return cmd
}

// checkArguments makes wrong arguments of c, and of the commands below it,
// errors of usage.
func checkArguments(c *cobra.Command) {
	args := c.Args
	if args == nil {
		args = cobra.NoArgs
	}
	c.Args = func(cmd *cobra.Command, given []string) error {
		if err := args(cmd, given); err != nil {
			return usageError{fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())}
		}
		return nil
	}
	for _, below := range c.Commands() {
		checkArguments(below)
	}
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
}

func (f *specFlags) addSeed(cmd *cobra.Command) {
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
	f.shortcut(cmd, "factor", "echo.factor", "how often each item is used on average, 1 to 1024, or auto: as often as the step would wait")
}

// specCommand is a command that reads a Spec, changed as the flags say, and
// does run with it. path is where it was read from.
func specCommand(use, short string, run func(ctx context.Context, path string, s experiments.Spec) error) *cobra.Command {
	var spec specFlags
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := spec.loadArgument(cmd, args)
			if err != nil {
				return err
			}
			return run(cmd.Context(), spec.path, s)
		},
	}
	spec.add(cmd)
	spec.addSeed(cmd)
	spec.addEcho(cmd)
	return cmd
}

// loadArgument is load where the spec may be named as an argument too.
func (f *specFlags) loadArgument(cmd *cobra.Command, args []string) (experiments.Spec, error) {
	if len(args) == 1 {
		if f.path != "" {
			return experiments.Spec{}, usageError{fmt.Errorf("two specs are named: -c %s and %s", f.path, args[0])}
		}
		f.path = args[0]
	}
	return f.load(cmd)
}

// changes returns what the flags change in the Spec.
func (f *specFlags) changes(cmd *cobra.Command) []string {
	sets := f.sets
	for flag, key := range f.short {
		if v := cmd.Flags().Lookup(flag); v.Changed {
			sets = append(sets, key+"="+v.Value.String())
		}
	}
	return sets
}

// load reads the Spec that the flags name and change.
func (f *specFlags) load(cmd *cobra.Command) (experiments.Spec, error) {
	if f.path == "" {
		return experiments.Spec{}, usageError{fmt.Errorf("want a spec: -c FILE; reprise config init writes one")}
	}
	s, err := experiments.DefaultRegistry().Load(f.path, f.changes(cmd)...)
	if err != nil {
		return s, usageError{err}
	}
	if v := cmd.Flags().Lookup("factor"); f.short["factor"] != "" && v.Changed && s.Echo.Strategy == echo.None && v.Value.String() != "1" {
		return s, usageError{fmt.Errorf("--factor is %s and nothing is echoed; want a --strategy too", v.Value)}
	}
	return s, nil
}

// printJSON writes v to stdout as one line.
func printJSON(v any) error {
	e := json.NewEncoder(os.Stdout)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// notice tells a person something at the start of a run.
func notice(text string) { fmt.Fprintln(os.Stderr, text) }

// progress shows a run on stderr.
func progress(label string, s experiments.Spec) *report.Progress {
	return &report.Progress{Out: os.Stderr, Label: label, Interval: s.Log.Progress}
}

// group is a command that consists of those below it.
func group(use, short string, below ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(below...)
	return cmd
}
