package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/reprise-ml/reprise/experiments"
	"github.com/reprise-ml/reprise/train"
	"github.com/reprise-ml/reprise/train/report"
)

func trainCommand() *cobra.Command {
	var (
		spec     specFlags
		out      string
		resume   string
		schedule string
		force    bool
		asJSON   bool
		quietRun bool
	)
	cmd := &cobra.Command{
		Use:   "train [-c] run.yaml",
		Args:  cobra.MaximumNArgs(1),
		Short: "Train a model as a spec says",
		Long: `Train a model as a spec says, and write a run directory: config.yaml,
metrics.jsonl, metrics.csv, summary.json, best.safetensors, final.safetensors,
checkpoints.

A run that was interrupted or killed goes on with --resume, and ends as it
would have without that, bit for bit: --resume auto goes on with the run in
the run directory, and begins it where there is none; --resume DIR goes on
with the run in DIR, whose config.yaml is the spec. Readers, workers, prefetch
and threads may be others than before.

Exit codes: 0 done or target reached, 1 error, 2 bad usage or spec, 3 budget
spent without reaching the target, 4 diverged, 5 too many damaged records,
130 interrupted.`,
		Example: `  reprise train -c run.yaml
  reprise train -c run.yaml --strategy example --factor 2 --set train.batch=64
  reprise train --resume runs/run`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if resume != "" && force {
				return usageError{errors.New("--resume goes on with a run, and --force replaces it; want one of the two")}
			}
			s, err := spec.loadToTrain(cmd, args, resume, &out)
			if err != nil {
				return err
			}
			r := experiments.Run{Spec: s, Dir: out, Force: force, Resume: resume != "", Notice: notice}
			if schedule != "" {
				if r.Schedule, err = experiments.ReadSchedule(schedule); err != nil {
					return err
				}
			}
			if !quietRun {
				r.Progress = progress("", s)
			}
			summary, err := r.Train(cmd.Context())
			if summary.Status == "" {
				return err
			}
			if asJSON {
				if err := printJSON(summary); err != nil {
					return err
				}
			} else {
				printSummary(out, summary)
			}
			code := 0
			var diverged train.Diverged
			switch {
			case cmd.Context().Err() != nil:
				code = exitInterrupted
			case errors.As(err, &diverged), err == nil && summary.Status == report.Diverging: // before
				code = exitDiverged
			case err == nil && summary.Status == report.Budget:
				code = exitBudget
			default:
				return err
			}
			if further, ok := err.(interface{ Unwrap() []error }); ok && len(further.Unwrap()) > 1 {
				fmt.Fprintln(os.Stderr, "reprise:", err) // more went wrong than the end that the summary tells
			}
			return ended(code)
		},
	}
	spec.add(cmd)
	spec.addSeed(cmd)
	spec.addEcho(cmd)
	spec.addTarget(cmd)
	cmd.Flags().StringVar(&out, "out", "", "run directory (default runs/NAME)")
	spec.shortcut(cmd, "init", "train.init", "safetensors file of the first weights")
	cmd.Flags().StringVar(&resume, "resume", "", "go on with a run: auto, that of the run directory, or its directory")
	cmd.Flags().StringVar(&schedule, "replay-schedule", "", "schedule.rle of a run with the factor auto: make its choices again, and with them the run, bit for bit")
	cmd.Flags().BoolVar(&force, "force", false, "replace the run that is in the directory")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the summary as JSON")
	cmd.Flags().BoolVarP(&quietRun, "quiet", "q", false, "show no progress")
	return cmd
}

// resumeAuto resumes the run in the run directory, if there is one.
const resumeAuto = "auto"

// loadToTrain reads the Spec of a run, of that in a directory to resume if one
// is named, and sets out where nothing else did.
func (f *specFlags) loadToTrain(cmd *cobra.Command, args []string, resume string, out *string) (experiments.Spec, error) {
	if resume == "" || resume == resumeAuto {
		s, err := f.loadArgument(cmd, args)
		if *out == "" {
			*out = filepath.Join("runs", s.Name)
		}
		return s, err
	}
	if f.path != "" || len(args) > 0 {
		return experiments.Spec{}, usageError{fmt.Errorf("--resume %s has a spec of its own; want no other, or --resume %s", resume, resumeAuto)}
	}
	if *out != "" {
		return experiments.Spec{}, usageError{fmt.Errorf("--resume %s goes on in that directory; want no --out, or --resume %s", resume, resumeAuto)}
	}
	*out = resume
	return experiments.DefaultRegistry().LoadConfig(resume, f.changes(cmd)...)
}

// printSummary writes how a run ended.
func printSummary(dir string, s report.Summary) {
	fmt.Printf("%s: %s\n", s.Name, statusText(s))
	fmt.Printf("  %d fresh examples, %d examples, %d steps, %d reads\n", s.FreshExamples, s.Examples, s.Steps, s.Reads)
	if s.BadRecords > 0 {
		fmt.Printf("  %d damaged records skipped, %d reads of them: %s\n", s.BadRecords, s.BadReads, filepath.Join(dir, "errors.jsonl"))
	}
	if s.Turned > 0 {
		fmt.Printf("  %d pictures are to be turned, as their EXIF orientation says (input.exif)\n", s.Turned)
	}
	fmt.Printf("  %.1f s: %.1f s in steps, %.1f s waiting for data (%.1f CPU s)\n", s.WallSeconds, s.StepSeconds, s.WaitSeconds, s.CPUSeconds)
	fmt.Printf("  %.1f s before the first step, to fill the buffers; %v of memory at most, %v expected\n", s.FillSeconds, experiments.Bytes(s.PeakRSS), experiments.Bytes(s.PredictedRSS))
	if s.R != nil {
		fmt.Printf("  R = %.2f: %s for a batch of fresh data, %s for one behind the echo; the step is busy %.0f %% of the time\n",
			*s.R, experiments.Seconds(*s.TUp), experiments.Seconds(*s.TDown), 100**s.Utilisation)
	}
	switch {
	case s.FinalValError != nil:
		fmt.Printf("  val_error %.4f, best %.4f at step %d\n", *s.FinalValError, *s.BestValError, *s.BestStep)
	case s.FinalValPerplexity != nil:
		fmt.Printf("  val_loss %.4f nats a token, best %.4f at step %d: a perplexity of %.2f\n", *s.FinalValLoss, *s.BestValLoss, *s.BestStep, *s.BestValPerplexity)
	}
	switch {
	case s.TestError != nil:
		fmt.Printf("  test_error %.4f, of the best weights\n", *s.TestError)
	case s.TestPerplexity != nil:
		fmt.Printf("  test_loss %.4f, a perplexity of %.2f, of the best weights\n", *s.TestLoss, *s.TestPerplexity)
	}
	fmt.Printf("  files: %s\n", dir)
}

func statusText(s report.Summary) string {
	switch s.Status {
	case report.Done:
		return "done"
	case report.TargetMet:
		return fmt.Sprintf("%s reached after %d fresh examples, in %.1f s", s.Target, *s.FreshToTarget, *s.WallToTarget)
	case report.Budget:
		return fmt.Sprintf("the budget is spent, and %s was not reached", s.Target)
	case report.Diverging:
		return s.Error
	}
	return string(s.Status)
}
