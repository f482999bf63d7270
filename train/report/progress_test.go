package report_test

import (
	"bytes"
	"math"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/reprise-ml/reprise/train"
	"github.com/reprise-ml/reprise/train/report"
)

func TestElsewhereThanOnATerminalThereIsALineEveryInterval(t *testing.T) {
	for _, c := range []struct {
		g    report.Progress
		want string
	}{
		{report.Progress{Label: "example ×2, seed 1", Total: 4000, Unit: "fresh examples", Interval: 3 * time.Second}, `
example ×2, seed 1: 100 of 4000 fresh examples, loss 1.000, 1.0 s
example ×2, seed 1: 400 of 4000 fresh examples, loss 0.250, 4.0 s
example ×2, seed 1: step 5, 500 fresh: val_error 0.0500, val_loss 1.500
example ×2, seed 1: 700 of 4000 fresh examples, loss 0.143, 7.0 s
`},
		{report.Progress{Unit: "steps"}, `
100 steps, loss 1.000, 1.0 s
step 5, 500 fresh: val_error 0.0500, val_loss 1.500
`},
	} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			g := c.g
			g.Out = &out
			for i := int64(1); i <= 9; i++ {
				time.Sleep(time.Second)
				p := train.Progress{Steps: i, Fresh: 100 * i, Elapsed: time.Duration(i) * time.Second, Last: train.Stats{Loss: 1 / float64(i)}}
				g.Update(100*i, p)
				if i == 5 {
					g.Evaluated(p, report.OfClasses(1.5, 0.05))
				}
			}
			g.Close()
			if want := strings.TrimPrefix(c.want, "\n"); out.String() != want {
				t.Errorf("shown was\n%swant\n%s", out.String(), want)
			}
		})
	}
}

func TestLinesComeEveryTenSecondsUnlessTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		g := report.Progress{Out: &out, Unit: "steps"}
		for i := range int64(60) {
			g.Update(i, train.Progress{})
			time.Sleep(time.Second)
		}
		if n := strings.Count(out.String(), "\n"); n != 6 {
			t.Errorf("%d lines in a minute, want 6", n)
		}
	})
}

func TestLinesFitEightyColumns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var out bytes.Buffer
		count := rapid.Int64Range(0, 1e7)
		g := report.Progress{Out: &out, Label: rapid.StringOf(rapid.SampledFrom([]rune("aé×… ,1"))).Draw(t, "label"), Total: 1e7, Unit: "fresh examples"}
		p := train.Progress{
			Steps: count.Draw(t, "steps"), Fresh: count.Draw(t, "fresh"), Elapsed: time.Duration(rapid.Int64Range(0, 1e15).Draw(t, "elapsed")),
			Last: train.Stats{Loss: rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{math.NaN(), math.Inf(-1), 99999.9999})).Draw(t, "loss")},
		}
		g.Update(p.Fresh, p)
		g.Evaluated(p, report.OfClasses(p.Last.Loss, rapid.Float64Range(0, 1).Draw(t, "wrong")))
		if strings.Count(out.String(), "\n") != 2 {
			t.Fatalf("shown was %q", out.String())
		}
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(line) - 1; n > 80 || strings.ContainsAny(line, "\x1b\r\t") {
				t.Errorf("%d columns: %q", n, line)
			}
		}
	})
}

func TestALongLabelKeepsItsEnds(t *testing.T) {
	var out bytes.Buffer
	g := report.Progress{Out: &out, Label: "  " + strings.Repeat("augmentation ", 9) + "seed 17 ", Total: 4000, Unit: "steps"}
	g.Update(1, train.Progress{})
	if line := out.String(); !strings.HasPrefix(line, "augmentation") || !strings.Contains(line, "…") || !strings.Contains(line, " seed 17: 1 of 4000 steps") {
		t.Errorf("shown was %q", line)
	}
}

func TestTheZeroProgressShowsNothing(t *testing.T) {
	var g report.Progress
	g.Update(1, train.Progress{})
	g.Evaluated(train.Progress{}, report.OfClasses(1, 1))
	g.Close()
}

func TestAFileIsNoTerminal(t *testing.T) {
	f, err := os.Create(t.TempDir() + "/log")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if report.IsTerminal(f) || report.IsTerminal(&bytes.Buffer{}) || report.IsTerminal(nil) {
		t.Error("it is taken for one")
	}
}

func ExampleProgress() {
	g := report.Progress{Out: os.Stdout, Label: "example ×2", Total: 5000, Unit: "fresh examples"}
	p := train.Progress{Steps: 40, Fresh: 640, Elapsed: 2 * time.Second, Last: train.Stats{Loss: 1.75}}
	g.Update(p.Fresh, p)
	g.Evaluated(p, report.OfClasses(1.5, 0.625))
	g.Close()
	// Output:
	// example ×2: 640 of 5000 fresh examples, loss 1.750, 2.0 s
	// example ×2: step 40, 640 fresh: val_error 0.6250, val_loss 1.500
}
