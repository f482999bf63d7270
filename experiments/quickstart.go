package experiments

import (
	"fmt"
	"strings"

	"github.com/reprise-ml/reprise/echo"
	"github.com/reprise-ml/reprise/experiments/specs"
	"github.com/reprise-ml/reprise/train/report"
)

// QuickstartRun is the comparison of the quickstart.
type QuickstartRun struct{ Comparison }

// Quickstart returns the comparison that a newcomer sees first: no echo
// against example echo on synthetic pictures behind slow storage. It needs no
// file and no network.
func Quickstart(dir string) (QuickstartRun, error) {
	const name = "quickstart.yaml"
	text, err := specs.Files.ReadFile(name)
	if err != nil {
		return QuickstartRun{}, fmt.Errorf("experiments: %w", err)
	}
	s, err := DefaultRegistry().Parse(name, string(text))
	return QuickstartRun{Comparison{
		Spec:       s,
		Strategies: []echo.Strategy{echo.None, echo.Example},
		Factors:    []echo.Factor{s.Echo.Factor},
		Dir:        dir,
	}}, err
}

// Introduction says what will be trained.
func (q QuickstartRun) Introduction() string {
	s := q.Spec
	return fmt.Sprintf(`Reprise quickstart: the same training twice, with and without data echoing.

A small ResNet learns to tell synthetic pictures apart. They are JPEG files
behind storage so slow that reading a batch takes as long as %g training steps.
  none     every picture is used once; the training waits for the storage
  example  every picture is used %g times, each time cropped and flipped anew,
           so that the training goes on while the storage reads
Both train until %s of the validation pictures are classified wrongly.

`, s.Storage.UpstreamRatio, float64(s.Echo.Factor), fmt.Sprintf("at most %g %%", 100*s.Stop.Target.Bound))
}

// Conclusion says what the table of both means.
func (q QuickstartRun) Conclusion(t Table) string {
	b := &strings.Builder{}
	b.WriteString("\n")
	grid := [][]string{{"", "fresh pictures", "training steps", "seconds", "waiting"}}
	names := map[echo.Strategy]string{echo.None: "none", echo.Example: fmt.Sprintf("example ×%g", float64(q.Spec.Echo.Factor))}
	for _, row := range t.Rows {
		run := row.Runs[0]
		read, wall := "did not reach it", "-"
		steps := "-"
		if run.FreshToTarget != nil {
			read, steps, wall = number(float64(*run.FreshToTarget)), number(float64(*run.StepsToTarget)), fmt.Sprintf("%.1f", *run.WallToTarget)
		}
		grid = append(grid, []string{names[row.Strategy], read, steps, wall, fmt.Sprintf("%.0f %%", 100*run.WaitSeconds/run.WallSeconds)})
	}
	align(b, grid)
	none, with := t.Rows[0].Runs[0], t.Rows[1].Runs[0]
	if none.Status == report.TargetMet && with.Status == report.TargetMet {
		fmt.Fprintf(b, "\nWith echoing the same error was reached from %.1f times fewer pictures, in %.1f\ntimes less time. Without it, the training waited %.0f %% of the time for pictures:\nthat is when the additional steps on pictures it had were made.\n",
			float64(*none.FreshToTarget)/float64(*with.FreshToTarget), *none.WallToTarget / *with.WallToTarget, 100*none.WaitSeconds/none.WallSeconds)
	}
	fmt.Fprintf(b, "\nNext: reprise config init, to train on your own folder of pictures.\n")
	return b.String()
}
