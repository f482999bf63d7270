package experiments

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reprise-ml/reprise/echo"
	"github.com/reprise-ml/reprise/train/report"
)

func TestAComparisonRunsEveryStrategyForEverySeedAndGoesOnWhereItWas(t *testing.T) {
	dir := t.TempDir()
	var told []string
	c := Comparison{
		Spec:       parse(t, small, "stop={target: val_error<=0.99, max_steps: 30}", "evaluate.every=8 steps"),
		Strategies: []echo.Strategy{echo.Batch, echo.None, echo.Example},
		Factors:    []echo.Factor{2, 3}, Seeds: 2, Dir: dir,
		Notice: func(text string) { told = append(told, text) },
	}
	table, err := c.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var arms []string
	for _, row := range table.Rows {
		arms = append(arms, row.Arm.String())
		if len(row.Runs) != 2 || row.Runs[0].Seed != 0 || row.Runs[1].Seed != 1 {
			t.Errorf("%v has the runs %+v", row.Arm, row.Runs)
		}
		for _, run := range row.Runs {
			if run.Status != report.TargetMet || *run.FreshToTarget%16 != 0 && row.Strategy == echo.None {
				t.Errorf("%v: %+v", row.Arm, run)
			}
		}
	}
	if want := []string{"none", "example ×2", "example ×3", "batch ×2", "batch ×3"}; !slices.Equal(arms, want) {
		t.Errorf("the rows are %q, want %q", arms, want)
	}
	if !slices.ContainsFunc(told, func(s string) bool { return strings.Contains(s, "evaluate.every is 128 fresh") }) {
		t.Errorf("steps became fresh examples without a word: %q", told)
	}
	if !exists(filepath.Join(dir, "table.json")) {
		t.Error("there is no table.json")
	}

	kept := filepath.Join(dir, "example-2-seed-1")
	stamp := func(name string) time.Time {
		info, err := os.Stat(filepath.Join(dir, name, "summary.json"))
		if err != nil {
			t.Fatal(err)
		}
		return info.ModTime()
	}
	before := stamp("none-1-seed-0")
	if err := os.Remove(filepath.Join(kept, "summary.json")); err != nil {
		t.Fatal(err)
	}
	again, err := c.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if !stamp("none-1-seed-0").Equal(before) {
		t.Error("a finished run was made again")
	}
	if a, b := again.Rows[1].Runs[1], table.Rows[1].Runs[1]; *a.FreshToTarget != *b.FreshToTarget || *a.FinalLoss != *b.FinalLoss {
		t.Errorf("the run that was made again ended with %+v, not %+v", a, b)
	}
	c.Spec.Train.Rate.Start = 0.3
	if _, err := c.Run(context.Background()); err == nil || !strings.Contains(err.Error(), "another spec") {
		t.Errorf("another spec in the directory gives %v", err)
	}
}

func TestStrategiesThatWouldBeTheSameAreToldApart(t *testing.T) {
	c := Comparison{Spec: parse(t, minimal, "input.augment=[]"), Strategies: echo.Strategies(), Factors: []echo.Factor{2}}
	arms, notices, err := c.Arms()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range arms {
		if a.Strategy == echo.Augmentation {
			t.Error("augmentation is compared where nothing is augmented")
		}
	}
	if text := strings.Join(notices, "\n"); !strings.Contains(text, "augmentation is left out") || !strings.Contains(text, "read trains bit for bit as example") {
		t.Errorf("the notices are %q", notices)
	}
	for want, c := range map[string]Comparison{
		"loud":            {Strategies: []echo.Strategy{"loud"}},
		"the factor is 0": {Strategies: []echo.Strategy{echo.None}, Factors: []echo.Factor{0}},
		"no strategy":     {},
	} {
		if _, _, err := c.Arms(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// row makes a row of runs that reached the target after so many fresh
// examples, or missed it where the number is negative.
func row(s echo.Strategy, fresh ...int64) Row {
	r := Row{Arm: Arm{Strategy: s, Factor: 2}}
	for i, n := range fresh {
		run := report.Summary{Status: report.TargetMet, Seed: uint64(i), FreshExamples: n, Reads: n + 5, Examples: 2 * n, Steps: n / 10, WallSeconds: float64(n) / 100, CPUSeconds: float64(n) / 50}
		if n < 0 {
			run.FreshExamples, run.Reads, run.Examples, run.Steps, run.WallSeconds, run.CPUSeconds = -n, -n, -n, -n, float64(-n), float64(-n)
			run.Status = report.Budget
		} else {
			run.FreshToTarget, run.ReadsToTarget, run.ExamplesToTarget, run.StepsToTarget = &run.FreshExamples, &run.Reads, &run.Examples, &run.Steps
			run.WallToTarget, run.CPUToTarget = &run.WallSeconds, &run.CPUSeconds
		}
		r.Runs = append(r.Runs, run)
	}
	return r
}

func TestARunThatMissesTheTargetMakesItsMeanABound(t *testing.T) {
	table := Table{Target: "val_error<=0.1", Rows: []Row{row(echo.None, 12000, 14000, 16000), row(echo.Example, 6000, 7000, 8000), row(echo.Batch, 9000, -20000, 10000)}}
	var b strings.Builder
	if err := table.Write(&b); err != nil {
		t.Fatal(err)
	}
	want := `Used up to reach val_error<=0.1

fresh examples  seed 0    seed 1  seed 2      mean     min       max     gain
none            12,000    14,000  16,000    14,000  12,000    16,000    1.00x
example ×2       6,000     7,000   8,000     7,000   6,000     8,000    2.00x
batch ×2         9,000  > 20,000  10,000  > 13,000   9,000  > 20,000  < 1.08x
`
	if got := b.String(); !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, line := range strings.Split(b.String(), "\n") {
		if n := len([]rune(line)); n > 80 {
			t.Errorf("a line of %d columns: %s", n, line)
		}
	}
	a := axes()[0]
	if g := (Table{Rows: []Row{row(echo.None, -100), row(echo.Example, 50)}}).gain(row(echo.Example, 50), a); g != "> 2.00x" {
		t.Errorf("the gain over a bound is %s", g)
	}
	if g := (Table{Rows: []Row{row(echo.None, -100), row(echo.Example, -50)}}).gain(row(echo.Example, -50), a); g != "?" {
		t.Errorf("the gain of a bound over a bound is %s", g)
	}
	burst := row(echo.Example, 50, -60)
	burst.Runs[1].Status = report.Diverging
	if s := burst.over(a.reached, a.whole); s.mean() != "diverged" {
		t.Errorf("the mean with a run that diverged is %s", s.mean())
	}
}

func TestTheExpectedShareOfDuplicatesIsTheFormula(t *testing.T) {
	s := parse(t, minimal, "echo={strategy: example, factor: 2}", "pipeline.shuffle=10k", "train.batch=128")
	if got := s.duplicates(); math.Abs(got-0.0032) > 1e-9 { // B·(e−1)/(4M)
		t.Errorf("the share is %g", got)
	}
	s = parse(t, minimal, "echo={strategy: example, factor: 2.5}", "pipeline.shuffle=10k", "train.batch=128")
	if want := 128 * (0.5*2 + 0.5*6) / (4 * 10000 * 2.5); math.Abs(s.duplicates()-want) > 1e-9 {
		t.Errorf("the share is %g, want %g", s.duplicates(), want)
	}
}

func TestExplainDrawsThePipelineInTheOrderDataFlows(t *testing.T) {
	for strategy, place := range map[echo.Strategy][2]string{
		echo.Read: {"read  ", "decode"}, echo.Example: {"decode", "augment"}, echo.Augmentation: {"augment", "shuffle"}, echo.Batch: {"batch  ", "step"},
	} {
		var b strings.Builder
		s := parse(t, small, "echo={strategy: "+string(strategy)+", factor: 2}")
		if err := s.Explain(context.Background(), &b); err != nil {
			t.Fatal(err)
		}
		drawn := b.String()
		at := strings.Index(drawn, "═══ echo ×2")
		if before, after := strings.Index(drawn, "\n  "+place[0]), strings.Index(drawn, "\n  "+place[1]); at < before || at > after || before < 0 || after < 0 {
			t.Errorf("%s is drawn as\n%s", strategy, drawn)
		}
	}
}
