package experiments

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/reprise-ml/reprise/echo"
	"github.com/reprise-ml/reprise/train/report"
)

// turning is a run whose validation error falls and then rises, for half way
// the classes of the training data are the wrong way round.
func turning(t *testing.T, sets ...string) (*lab, Spec) {
	l, r := newLab(0)
	l.noise, l.turn = 60, 200
	return l, parseWith(t, r, ofLab, append([]string{"data.source.lab.records=0", "data.test=test", "evaluate.every=4 steps", "stop.max_steps=64", "train.rate.start=0.003"}, sets...)...)
}

func TestTheBestWeightsAreThoseOfTheLeastError(t *testing.T) {
	for _, sets := range [][]string{nil, {"train.ema={decay: 0.5}"}} {
		_, spec := turning(t, sets...)
		s, dir := trained(t, spec)
		lines := metricsOf(t, dir, report.KindEval)
		best := lines[0]
		leastLoss := *best.ValLoss
		for _, l := range lines {
			if *l.ValError < *best.ValError {
				best = l
			}
			leastLoss = min(leastLoss, *l.ValLoss)
		}
		last := lines[len(lines)-1]
		if first := *lines[0].ValError; *best.ValError >= first || *best.ValError >= *last.ValError {
			t.Fatalf("the error was %g at first, %g at best and %g at the end: it does not fall and rise", first, *best.ValError, *last.ValError)
		}
		if *s.BestStep != best.Step || *s.BestValError != *best.ValError || *s.BestValLoss != leastLoss || *s.FinalValError != *last.ValError || *s.FinalValLoss != *last.ValLoss {
			t.Errorf("the summary is %+v; best is %+v, last %+v", s, best, last)
		}
		inBest, bestStep := weightsOf(t, dir, BestWeights)
		inFinal, finalStep := weightsOf(t, dir, FinalWeights)
		if bestStep != strconv.FormatInt(best.Step, 10) || finalStep != "64" {
			t.Errorf("the files are of the steps %s and %s, want %d and 64", bestStep, finalStep, best.Step)
		}
		if reflect.DeepEqual(inBest, inFinal) {
			t.Error("the best weights are those of the end")
		}
		_, half := turning(t, append(sets, "stop.max_steps="+bestStep)...)
		_, stopped := trained(t, half)
		if at, _ := weightsOf(t, stopped, FinalWeights); !reflect.DeepEqual(at, inBest) {
			t.Errorf("the best weights are not those at the end of a run of %s steps", bestStep)
		}
		_, untested := turning(t, append(sets, "data.test=none")...)
		u, plain := trained(t, untested)
		if at, _ := weightsOf(t, plain, FinalWeights); !reflect.DeepEqual(at, inFinal) {
			t.Error("the final weights of a run with test data are others than of one without")
		}
		if u.TestError != nil || len(metricsOf(t, plain, report.KindTest)) != 0 {
			t.Error("a run without test data was tested")
		}
		for name, want := range map[string][4]float64{
			BestWeights:  {*s.BestValError, *best.ValLoss, *s.TestError, *s.TestLoss},
			FinalWeights: {*s.FinalValError, *s.FinalValLoss, -1, -1},
		} {
			e, err := spec.EvaluateWeights(context.Background(), filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if *e[0].Error != want[0] || !near(e[0].Loss, want[1], 1e-9) || want[2] >= 0 && (*e[1].Error != want[2] || !near(e[1].Loss, want[3], 1e-9)) {
				t.Errorf("%s evaluates as %+v, want %v", name, e, want)
			}
			if e[0].Part != "validation" || e[1].Part != "test" || e[0].Split != "validation" || e[1].Split != "test" || e[1].Examples != 16 {
				t.Errorf("the parts are %+v", e)
			}
			if want[2] < 0 && *e[1].Error <= *s.TestError {
				t.Errorf("the final weights test at %g, the best at %g", *e[1].Error, *s.TestError)
			}
		}
		tested := metricsOf(t, dir, report.KindTest)
		if len(tested) != 1 || *tested[0].TestError != *s.TestError || *tested[0].TestLoss != *s.TestLoss || tested[0].Step != 64 {
			t.Errorf("the lines of the test are %+v", tested)
		}
	}
}

func TestClassErrorsNameWhatAClassIsTakenFor(t *testing.T) {
	l, r := newLab(64)
	spec := parseWith(t, r, ofLab, "stop.max_steps=40", "train.rate.start=0.02")
	_, dir := trained(t, spec)
	check := func(wrong float64, mistaken ...string) {
		e, err := spec.EvaluateWeights(context.Background(), filepath.Join(dir, FinalWeights))
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range e[0].Classes {
			if c.Class != []string{"even", "odd"}[i] || c.Examples != 8 || c.Error != wrong || c.Mistaken != mistaken[i] {
				t.Errorf("got %+v, want an error of %g", c, wrong)
			}
		}
		if len(e) != 1 || *e[0].Error != wrong || e[0].Examples != 16 {
			t.Errorf("got %+v", e)
		}
	}
	check(0, "", "")
	l.swap = true
	check(1, "odd", "even")
}

// failingTest makes the test data unreadable but for its first record.
func failingTest(l *lab) {
	l.reads = func(_ context.Context, base string, record int) error {
		if base == "test" && record > 0 {
			return errors.New("the disk is gone")
		}
		return nil
	}
}

func TestARunWhoseTestEvaluationFailsHasFailed(t *testing.T) {
	for _, target := range []string{"", "val_error<=1"} {
		l, r := newLab(64)
		failingTest(l)
		dir := filepath.Join(t.TempDir(), "run")
		run := Run{Spec: parseWith(t, r, ofLab, "data.test=test", "stop.target="+target), Dir: dir}
		s, err := run.Train(context.Background())
		if err == nil || !strings.Contains(err.Error(), "evaluating on data.test: ") || !strings.Contains(err.Error(), "the disk is gone") {
			t.Errorf("got %v", err)
		}
		if s.Status != report.Failed || s.TestError != nil || s.Error != err.Error() || s.Steps != 4 || s.FinalValError == nil {
			t.Errorf("got %+v", s)
		}
		if back, err := report.ReadSummary(dir); err != nil || back.Status != report.Failed {
			t.Errorf("summary.json holds %+v, %v", back, err)
		}
		if !exists(filepath.Join(dir, FinalWeights)) {
			t.Error("the weights are lost")
		}
	}
}

func TestAComparisonMakesAFailedRunAgainAndNoOther(t *testing.T) {
	l, r := newLab(64)
	failingTest(l)
	var told []string
	c := Comparison{Spec: parseWith(t, r, ofLab, "data.test=test", "stop.target=val_loss<=1e-9"), Strategies: []echo.Strategy{echo.None, echo.Batch}, Factors: []echo.Factor{2}, Dir: t.TempDir(),
		Notice: func(text string) { told = append(told, text) }}
	if _, err := c.Run(context.Background()); err == nil || !strings.Contains(err.Error(), "none, seed 0: ") {
		t.Fatalf("got %v", err)
	}
	l.reads = nil
	table, err := c.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range table.Rows {
		if row.Runs[0].Status != report.Budget || row.Runs[0].TestError == nil {
			t.Errorf("%v: %+v", row.Arm, row.Runs[0])
		}
	}
	told = nil
	l.reads = func(context.Context, string, int) error { return errors.New("read again") }
	again, err := c.Run(context.Background())
	if err != nil || !reflect.DeepEqual(again, table) {
		t.Errorf("a comparison of finished runs gives %+v, %v", again, err)
	}
	if text := strings.Join(told, "\n"); !strings.Contains(text, "none-1-seed-0 is finished already") || !strings.Contains(text, "batch-2-seed-0 is finished already") {
		t.Errorf("it says %s", text)
	}
}

func TestARunThatDivergesIsPartOfTheTable(t *testing.T) {
	_, r := newLab(64)
	c := Comparison{Spec: parseWith(t, r, ofLab, "train.rate.start=1e15", "stop.target=val_loss<=1e-9"), Strategies: []echo.Strategy{echo.None}, Dir: t.TempDir()}
	for range 2 {
		table, err := c.Run(context.Background())
		if err != nil || table.Rows[0].Runs[0].Status != report.Diverging || !table.Rows[0].Used["fresh_examples"].Diverged {
			t.Errorf("got %+v, %v", table, err)
		}
	}
}
