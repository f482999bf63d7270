package experiments

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reprise-ml/reprise/echo"
)

func near(got, want, tolerance float64) bool { return math.Abs(got-want) <= tolerance }

func TestSimulatedStorageSlowsTrainingReadsAndNoOthers(t *testing.T) {
	for set, each := range map[string]float64{
		"storage.simulate={latency: 1s}":                                 1,
		"storage.simulate={bandwidth: 96}":                               2, // 192 bytes a picture
		"storage.simulate={bandwidth: 96, latency: 1s}":                  3,
		"storage.simulate={latency: 1s, jitter: 1s}":                     1.5,
		"storage.simulate={bandwidth: 96}\npipeline={readers: 4}":        2,
		"storage.simulate={latency: 1s}\npipeline={readers: 4}":          0.25,
		"data.test=test\nstorage.simulate={latency: 1s}":                 1,
		"evaluate.every=1 steps\nstorage.simulate={latency: 1s}":         1,
		"echo={strategy: batch, factor: 2}\nstorage.simulate.latency=1s": 0.5,
	} {
		synctest.Test(t, func(t *testing.T) {
			_, r := newLab(64)
			begun := time.Now()
			s, _ := trained(t, parseWith(t, r, ofLab, strings.Split(set, "\n")...))
			tolerance := 0.0
			if strings.Contains(set, "jitter") {
				tolerance = 4
			}
			if took := time.Since(begun).Seconds(); !near(took, 32*each, tolerance) {
				t.Errorf("%s: 32 pictures took %g s, want %g", set, took, 32*each)
			}
			first := 8 * each
			if strings.Contains(set, "batch") {
				first *= 2
			}
			if !near(s.FillSeconds, first, tolerance) || !near(s.WaitSeconds, 32*each-first, 2*tolerance) || s.WallSeconds != s.WaitSeconds+s.StepSeconds {
				t.Errorf("%s: the run filled for %g s and waited for %g", set, s.FillSeconds, s.WaitSeconds)
			}
		})
	}
}

func TestSimulatedStorageStandsStillDuringEvaluation(t *testing.T) {
	for _, set := range []string{"latency: 1s", "bandwidth: 192"} {
		synctest.Test(t, func(t *testing.T) {
			l, r := newLab(64)
			l.reads = func(_ context.Context, base string, _ int) error {
				if base == "validation" {
					time.Sleep(time.Second)
				}
				return nil
			}
			s, _ := trained(t, parseWith(t, r, ofLab, "storage.simulate={"+set+"}", "evaluate.every=1 steps"))
			if s.FillSeconds != 8 || s.WaitSeconds != 24 || s.WallSeconds != 24 {
				t.Errorf("%s: the run filled for %g s and waited for %g of %g", set, s.FillSeconds, s.WaitSeconds, s.WallSeconds)
			}
		})
	}
}

// R = 4: reading a batch takes as long as four steps of 10 ms.
func TestEchoingHidesTheTimeOfSlowStorage(t *testing.T) {
	for _, c := range []struct {
		strategy echo.Strategy
		factor   float64
		wall     float64 // of 40 steps, in steps
	}{
		{echo.None, 1, 4 * 40}, {echo.Batch, 2, 2 * 40}, {echo.Batch, 4, 40}, {echo.Batch, 8, 40}, {echo.Example, 2, 2 * 40}, {echo.Example, 4, 40},
	} {
		synctest.Test(t, func(t *testing.T) {
			_, r := newLab(64)
			s, _ := trained(t, parseWith(t, r, ofLab, "storage.upstream_ratio=4", "train.optimizer=slow", "stop.max_steps=40", "pipeline.shuffle=8",
				fmt.Sprintf("echo={strategy: %s, factor: %g}", c.strategy, c.factor)))
			if !near(s.WallSeconds/0.01, c.wall, 10) || !near(s.StepSeconds, 0.4, 1e-6) {
				t.Errorf("%s by %g: 40 steps of 10 ms take %.3f s, of them %.3f s in steps; want about %.2f s", c.strategy, c.factor, s.WallSeconds, s.StepSeconds, c.wall/100)
			}
		})
	}
}

func TestTheMeasuredBandwidthDeliversABatchInRStepsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, r := newLab(64)
		for _, ratio := range []float64{4, 2.5} {
			for _, strategy := range echo.Strategies() {
				var told []string
				run := Run{Spec: parseWith(t, r, ofLab, fmt.Sprint("storage.upstream_ratio=", ratio), "train.optimizer=slow", "echo.strategy="+string(strategy)),
					Dir: filepath.Join(t.TempDir(), "run"), Notice: func(text string) { told = append(told, text) }}
				if _, err := run.Train(context.Background()); err != nil {
					t.Fatal(err)
				}
				kept, err := r.Load(filepath.Join(run.Dir, "config.yaml"))
				if err != nil {
					t.Fatal(err)
				}
				const batch, step = 8 * 192, 0.01
				if got := kept.Storage.Simulate.Bandwidth * ratio * step; !near(got, batch, 1e-6) {
					t.Errorf("%g: in %g steps the storage delivers %g bytes, want %d", ratio, ratio, got, batch)
				}
				if kept.Storage.UpstreamRatio != ratio || kept.Storage.Measured != ratio {
					t.Errorf("config.yaml has %+v", kept.Storage)
				}
				if text := strings.Join(told, "\n"); !strings.Contains(text, fmt.Sprintf("slow enough for R = %g", ratio)) || !strings.Contains(text, fmt.Sprintf("a step takes 10ms; storage delivers a batch of fresh data in %g s", ratio*step)) {
					t.Errorf("the run says\n%s", text)
				}
			}
		}
		l.reads = func(_ context.Context, base string, _ int) error {
			time.Sleep(5 * time.Millisecond)
			return nil
		}
		run := Run{Spec: parseWith(t, r, ofLab, "storage.upstream_ratio=3.9", "train.optimizer=slow", "echo={strategy: example, factor: 2}"), Dir: filepath.Join(t.TempDir(), "run")}
		if _, err := run.Train(context.Background()); err == nil || !strings.Contains(err.Error(), "is 3.9, and this pipeline has R = 4.00 already (40ms for a batch of fresh data, 10ms for a step)") {
			t.Errorf("a pipeline with R = 4 by itself gives %v", err)
		}
		if exists(run.Dir) {
			t.Error("the run directory was made")
		}
	})
}

func TestMeasuringTheStorageLeavesNoTraceInTheRun(t *testing.T) {
	sets := []string{"model={resnet_cifar: {depth: 8}}", "train={optimizer: {adam: {}}, accumulate: 2, clip_norm: 1, ema: {decay: 0.5}}", "evaluate.every=2 steps", "stop.max_steps=5"}
	_, measured := trained(t, parse(t, small, append(sets, "storage.upstream_ratio=30")...))
	given, dir := trained(t, parse(t, small, append(sets, "storage.simulate.bandwidth=1e9")...))
	for _, name := range []string{FinalWeights, BestWeights} {
		if !sameFile(t, filepath.Join(measured, name), filepath.Join(dir, name)) {
			t.Errorf("%s of a run that measured its storage is not that of a run that did not", name)
		}
	}
	for i, l := range metricsOf(t, measured, "train") {
		if *l.Loss != *metricsOf(t, dir, "train")[i].Loss {
			t.Errorf("step %d: the loss is %g", l.Step, *l.Loss)
		}
	}
	if given.Steps != 5 {
		t.Errorf("got %+v", given)
	}
}

func TestABandwidthIsMeasuredOnceForEveryArmAndRun(t *testing.T) {
	_, r := newLab(64)
	dir := t.TempDir()
	measured := 0
	c := Comparison{
		Spec:       parseWith(t, r, ofLab, "storage.upstream_ratio=50", "pipeline.readers=8", "stop.max_steps=2"),
		Strategies: []echo.Strategy{echo.None, echo.Batch}, Factors: []echo.Factor{2}, Seeds: 2, Dir: dir,
		Notice: func(text string) {
			if strings.Contains(text, "measuring") {
				measured++
			}
		},
	}
	storages := func() map[StorageSpec]bool {
		if _, err := c.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		found := map[StorageSpec]bool{}
		for _, name := range []string{"compare.yaml", "none-1-seed-0/config.yaml", "none-1-seed-1/config.yaml", "batch-2-seed-0/config.yaml", "batch-2-seed-1/config.yaml"} {
			s, err := r.Load(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			found[s.Storage] = true
		}
		return found
	}
	first := storages()
	if len(first) != 1 || measured != 1 || first[StorageSpec{}] {
		t.Errorf("storage was measured %d times, and is %v", measured, first)
	}
	if err := os.Remove(filepath.Join(dir, "batch-2-seed-1", "summary.json")); err != nil {
		t.Fatal(err)
	}
	again := storages()
	for s := range again {
		if len(again) != 1 || !first[s] || measured != 1 {
			t.Errorf("a second comparison has %v, not %v", again, first)
		}
	}
	c.Spec.Storage.UpstreamRatio = 51
	if _, err := c.Run(context.Background()); err == nil || !strings.Contains(err.Error(), "another spec") {
		t.Errorf("another ratio in the directory gives %v", err)
	}
}

func TestARatioOtherThanTheMeasuredOneIsMeasuredAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, r := newLab(64)
		_, dir := trained(t, parseWith(t, r, ofLab, "storage.upstream_ratio=4", "train.optimizer=slow"))
		kept, err := r.Load(filepath.Join(dir, "config.yaml"), "storage.upstream_ratio=8")
		if err != nil {
			t.Fatal(err)
		}
		_, dir = trained(t, kept)
		if kept, err = r.Load(filepath.Join(dir, "config.yaml")); err != nil || !near(kept.Storage.Simulate.Bandwidth, 19200, 1e-6) || kept.Storage.Measured != 8 {
			t.Errorf("twice the ratio gives %+v, %v", kept.Storage, err)
		}
	})
}

func TestABandwidthAndARatioAreOneTooMany(t *testing.T) {
	_, r := newLab(64)
	run := Run{Spec: parseWith(t, r, ofLab, "storage={upstream_ratio: 4, simulate: {bandwidth: 1000}}"), Dir: filepath.Join(t.TempDir(), "run")}
	if _, err := run.Train(context.Background()); err == nil || !strings.Contains(err.Error(), "storage.upstream_ratio: sets storage.simulate.bandwidth, which is set already") || exists(run.Dir) {
		t.Errorf("got %v", err)
	}
}
