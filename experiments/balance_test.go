package experiments

import (
	"context"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reprise-ml/reprise/echo"
	"github.com/reprise-ml/reprise/train/report"
)

// pace is what the stages take for a batch of 8, in milliseconds, with 2
// readers and 2 workers. The step takes 10.
type pace struct{ latency, pipe, decode, augment float64 }

// sides are the times left and right of an echo. Pictures are decoded and augmented by the same workers, unless
// an echo is in between.
func (p pace) sides(place echo.Strategy) (up, down float64) {
	up, down = max(p.pipe, p.latency+p.pipe/2), 10 // a read waits for its first byte, then for the pipe
	if place != echo.Example {
		p.augment += p.decode
	}
	for _, s := range []struct {
		ms     float64
		before []echo.Strategy
	}{{p.decode, []echo.Strategy{echo.Read}}, {p.augment, []echo.Strategy{echo.Read, echo.Example}}} {
		side := &up
		for _, b := range s.before {
			if b == place {
				side = &down
			}
		}
		*side = max(*side, s.ms)
	}
	return up, down
}

// sleepers is a lab that goes at a pace, and a registry that knows it.
func sleepers(p pace) (*lab, Registry) {
	l, r := newLab(64)
	l.nap = max(ms(p.decode/4), 1)
	l.reads = func(_ context.Context, base string, _ int) error {
		if base == "train" {
			time.Sleep(ms(p.latency / 4))
		}
		return nil
	}
	return l, r
}

func ms(v float64) time.Duration { return time.Duration(v * float64(time.Millisecond)) }

// sets are the settings of a run of sleepers.
func (p pace) sets(e echo.Spec) []string {
	e = e.WithDefaults()
	sets := []string{
		"pipeline={shuffle: 24, readers: 2, workers: 2, prefetch: 4}", "train.optimizer=slow", "stop.max_steps=120", "log.every=40 steps", "evaluate.every=30 steps",
		fmt.Sprintf("input.augment=[drowsy: {nap: %v}]", max(ms(p.augment/4), 1)),
		fmt.Sprintf("echo={strategy: %s, factor: %v}", e.Strategy, e.Factor),
	}
	if p.pipe > 0 {
		sets = append(sets, fmt.Sprintf("storage.simulate.bandwidth=%g", 8*192/(p.pipe/1000)))
	}
	return sets
}

// paced trains at a pace, and returns the last line of training and the
// summary.
func paced(t *testing.T, p pace, e echo.Spec) (report.Line, report.Summary) {
	t.Helper()
	_, r := sleepers(p)
	s := parseWith(t, r, ofLab, p.sets(e)...)
	var line report.Line
	var summary report.Summary
	dir := t.TempDir() + "/run"
	synctest.Test(t, func(t *testing.T) {
		var err error
		if summary, err = (&Run{Spec: s, Dir: dir}).Train(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	lines := metricsOf(t, dir, report.KindTrain)
	line = lines[len(lines)-1]
	return line, summary
}

func TestBothSidesOfAnEchoAreMeasuredWhileTraining(t *testing.T) {
	for _, p := range []pace{
		{pipe: 5, decode: 1}, {pipe: 10, decode: 1, augment: 2}, {pipe: 20, decode: 1}, {pipe: 40, decode: 2}, {pipe: 80},
		{latency: 5}, {latency: 30, decode: 5}, {latency: 80, pipe: 20},
		{pipe: 4, decode: 40}, {pipe: 60, decode: 20}, {pipe: 60, decode: 20, augment: 30}, {latency: 1, decode: 4, augment: 60}, {latency: 15, decode: 20, augment: 25},
	} {
		for _, place := range echo.Strategies() {
			factors := []echo.Factor{2.5, 6}
			if place == echo.None {
				factors = []echo.Factor{1}
			}
			for _, e := range factors {
				up, down := p.sides(place)
				line, summary := paced(t, p, echo.Spec{Strategy: place, Factor: e})
				for name, got := range map[string]report.Rates{"the last line": line.Rates, "the summary": summary.Rates} {
					if got.TUp == nil || math.Abs(*got.TUp*1000/up-1) > 0.04 || math.Abs(*got.TDown*1000/down-1) > 0.04 {
						t.Errorf("%+v, %s by %g: %s has %s up and %s down, want %g and %g ms", p, place, float64(e), name, show(got.TUp), show(got.TDown), up, down)
						continue
					}
					if want := min(1, 10/(max(up/float64(e), down))); math.Abs(*got.Utilisation-want) > 0.13*want { // a batch that waited at the start counts
						t.Errorf("%+v, %s by %g: in %s the utilisation is %g, want %g", p, place, float64(e), name, *got.Utilisation, want)
					}
				}
			}
		}
	}
}

func TestBothSidesAreMeasuredWithAnAutomaticFactorToo(t *testing.T) {
	for _, p := range []pace{{pipe: 40, decode: 2, augment: 1}, {latency: 30, decode: 5, augment: 1}, {pipe: 5, decode: 4, augment: 2}} {
		for _, place := range []echo.Strategy{echo.Example, echo.Batch} {
			up, down := p.sides(place)
			line, _ := paced(t, p, echo.Spec{Strategy: place, Factor: echo.Auto})
			if line.TUp == nil || math.Abs(*line.TUp*1000/up-1) > 0.06 || math.Abs(*line.TDown*1000/down-1) > 0.04 || *line.Utilisation < 0.95 {
				t.Errorf("%+v, %s: %s up and %s down, want %g and %g ms, utilisation %g", p, place, show(line.TUp), show(line.TDown), up, down, *line.Utilisation)
			}
		}
	}
}

func show(v *float64) string {
	if v == nil {
		return "nothing"
	}
	return fmt.Sprint(*v * 1000)
}
