package experiments

import (
	"context"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reprise-ml/reprise/echo"
	"github.com/reprise-ml/reprise/train/report"
)

// A step of slow takes 10 ms: with a batch of 8, a read of 2.5 ms makes R = 2.
func TestAnAutomaticFactorBecomesTheRatioOfTheUpstream(t *testing.T) {
	for _, strategy := range []echo.Strategy{echo.Read, echo.Example, echo.Augmentation, echo.Batch} {
		for _, ratio := range []float64{0.5, 2, 4} {
			t.Run(fmt.Sprintf("%s at R %g", strategy, ratio), func(t *testing.T) {
				var s report.Summary
				synctest.Test(t, func(t *testing.T) {
					l, r := newLab(512)
					l.reads = func(_ context.Context, base string, _ int) error {
						if base == "train" {
							time.Sleep(time.Duration(ratio * float64(10*time.Millisecond) / 8))
						}
						return nil
					}
					s, _ = trained(t, parseWith(t, r, ofLab, "train.optimizer=slow", "stop.max_steps=200", "pipeline.shuffle=32", "pipeline.prefetch=1",
						fmt.Sprintf("echo={strategy: %s, factor: auto}", strategy)))
				})
				if s.WaitSeconds > 0.01*s.StepSeconds {
					t.Errorf("the step waits %g s in %g s", s.WaitSeconds, s.StepSeconds)
				}
				if want := max(1, ratio); s.EchoFactor < want*0.93 || s.EchoFactor > want*1.08 { // what waits in the buffers blurs it
					t.Errorf("the factor is %g, want %g", s.EchoFactor, want)
				}
				if s.Factor != 0 {
					t.Errorf("the summary has a factor of %g that was set", s.Factor)
				}
			})
		}
	}
}

func TestARunIsMadeAgainFromTheScheduleOfItsFactor(t *testing.T) {
	l, r := newLab(64)
	n := 0
	l.reads = func(context.Context, string, int) error {
		if n++; n%3 == 0 {
			time.Sleep(2 * time.Millisecond)
		}
		return nil
	}
	spec := parseWith(t, r, ofLab, "stop.max_steps=60", "pipeline.shuffle=16", "echo={strategy: example, factor: auto, max: 5}")
	first, dir := trained(t, spec)
	choices, err := ReadSchedule(filepath.Join(dir, "schedule.rle"))
	if err != nil {
		t.Fatal(err)
	}
	if first.EchoFactor < 1.2 {
		t.Fatalf("a factor of %g tells nothing", first.EchoFactor)
	}
	l.reads = nil
	again := Run{Spec: spec, Dir: filepath.Join(t.TempDir(), "again"), Schedule: choices}
	s, err := again.Train(t.Context())
	if err != nil || s.FreshExamples != first.FreshExamples {
		t.Fatalf("%d fresh examples (%v), want %d", s.FreshExamples, err, first.FreshExamples)
	}
	want, _ := weightsOf(t, dir, FinalWeights)
	if got, _ := weightsOf(t, again.Dir, FinalWeights); !reflect.DeepEqual(got, want) {
		t.Error("the weights are others")
	}
}

func TestAScheduleIsReplayedByAnAutomaticFactorOnly(t *testing.T) {
	_, r := newLab(64)
	again := Run{Spec: parseWith(t, r, ofLab, "echo={strategy: example, factor: 2}"), Dir: filepath.Join(t.TempDir(), "run"), Schedule: []echo.Choices{{Fresh: 1}}}
	if _, err := again.Train(t.Context()); err == nil || !strings.Contains(err.Error(), "echo.factor: is 2, and a schedule is to be replayed") {
		t.Errorf("got %v", err)
	}
	if _, err := ReadSchedule(filepath.Join(t.TempDir(), "none.rle")); err == nil {
		t.Error("a schedule that is not there is read")
	}
}

func TestOnlyCopiesBeforeAugmentationShareWhatIsDecoded(t *testing.T) {
	for sets, want := range map[string]bool{
		"echo.strategy=none":                             false,
		"echo={strategy: example, factor: 2}":            true,
		"echo={strategy: example, factor: 1}":            false,
		"echo={strategy: example, factor: auto}":         true,
		"echo={strategy: read, factor: auto}":            false,
		"echo={strategy: augmentation, factor: 3}":       false,
		"echo={strategy: batch, factor: auto, max: 100}": false,
	} {
		_, r := newLab(64)
		s := parseWith(t, r, ofLab, sets)
		if s.sharesDecoded() != want || (&Run{Spec: s}).inPart() == want {
			t.Errorf("%s: copies share what is decoded: %v, pictures are decoded in part: %v", sets, s.sharesDecoded(), (&Run{Spec: s}).inPart())
		}
	}
}
