package experiments

import (
	"context"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/echo"
)

func TestACacheReadsEachRecordOnceAndChangesNoBit(t *testing.T) {
	train := func(cache string) (dir string, reads int64) {
		l, r := newLab(20)
		l.noise = 60
		var made atomic.Int64
		l.reads = func(_ context.Context, base string, _ int) error {
			if base == "train" {
				made.Add(1)
			}
			return nil
		}
		dir = filepath.Join(t.TempDir(), "run")
		run := Run{Spec: parseWith(t, r, ofLab, "data.source.lab.records=20", "stop.max_steps=20", "train.batch=8", "pipeline.prefetch=1", "pipeline.cache="+cache), Dir: dir}
		if _, err := run.Train(t.Context()); err != nil {
			t.Fatal(err)
		}
		return dir, made.Load()
	}
	plain, without := train("0")
	cached, all := train("1MiB")
	_, half := train("3300") // ten of the 20 pictures, of 192 and their examples of 132 bytes
	const tried = 20         // at most, to see what the data is like
	if without < 160 || all < 20 || all > 20+tried || half < 85 || half > without-60 {
		t.Errorf("%d reads without, %d with a cache for all, %d with one for half", without, all, half)
	}
	if !sameFile(t, filepath.Join(plain, FinalWeights), filepath.Join(cached, FinalWeights)) {
		t.Error("the weights differ")
	}
}

func TestACacheKeepsRecordsDecoded(t *testing.T) {
	s := parse(t, minimal, "pipeline.cache=1MiB")
	_, d, err := s.Open()
	if err != nil {
		t.Fatal(err)
	}
	reads := 0
	through := data.FromSource(d.Train)
	read := s.cached(func(ctx context.Context, o data.Origin) (data.Example, error) { reads++; return through(ctx, o) })
	for range 2 {
		e, err := read(t.Context(), data.Origin{Index: 3})
		if p := e.Input.(data.Picture); err != nil || p.Encoded != nil || p.Image == nil {
			t.Errorf("the picture is not decoded: %v", err)
		}
	}
	if reads != 1 {
		t.Errorf("%d reads of one record", reads)
	}
}

func TestACacheOfJPEGsChangesNoBit(t *testing.T) {
	batches := func(cache string) (all []float32) {
		s, d, err := parse(t, minimal, "data.source={synth: {examples: 40}}", "train.batch=16", "pipeline.shuffle=8", "pipeline.prefetch=1", "pipeline.cache="+cache).Open()
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for b, err := range s.Pipeline(t.Context(), d.Train, nil, nil, Start{}) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, b.Inputs[0].F32...)
			if n++; n == 8 { // more than three epochs
				return all
			}
		}
		return nil
	}
	if plain, cached := batches("0"), batches("10MiB"); len(plain) == 0 || !slices.Equal(plain, cached) {
		t.Error("the pixels differ")
	}
}

func TestControlsAreRowsWithoutEcho(t *testing.T) {
	_, r := newLab(64)
	var told []string
	c := Comparison{
		Spec:       parseWith(t, r, ofLab, "stop={target: val_error<=0.9, max_steps: 20}", "evaluate.every=16 fresh"),
		Strategies: []echo.Strategy{echo.None, echo.Example, echo.Strategy(echo.AugmentationMultiplicity), echo.Strategy(echo.PartialAugmentation)},
		Factors:    []echo.Factor{2, 4}, Controls: true, Dir: t.TempDir(), Notice: func(text string) { told = append(told, text) },
	}
	table, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, row := range table.Rows {
		names = append(names, row.Arm.String())
		if row.Control != "" && (row.Runs[0].EchoFactor != 1 || row.Runs[0].Strategy != "none") {
			t.Errorf("%v echoes: %+v", row.Arm, row.Runs[0])
		}
	}
	if got := strings.Join(names, ", "); got != "none, example ×2, example ×4, multiplicity ×2, multiplicity ×4, cache, rate ×2, rate ×4" {
		t.Errorf("the rows are %s", got)
	}
	if all := strings.Join(told, "\n"); !strings.Contains(all, "partial ×2 is left out: input.augment_after") {
		t.Errorf("told: %s", all)
	}
	for dir, want := range map[string]float64{"none-1-seed-0": 0.01, "rate-4-seed-0": 0.04, "cache-seed-0": 0.01} {
		s, err := r.LoadConfig(filepath.Join(c.Dir, dir))
		if err != nil || s.Train.Rate.Start != want || (s.Stages.Cache > 0) != strings.HasPrefix(dir, "cache") {
			t.Errorf("%s: the rate is %g and the cache %v, %v", dir, s.Train.Rate.Start, s.Stages.Cache, err)
		}
	}
	none, _ := weightsOf(t, filepath.Join(c.Dir, "none-1-seed-0"), FinalWeights)
	if cache, _ := weightsOf(t, filepath.Join(c.Dir, "cache-seed-0"), FinalWeights); !reflect.DeepEqual(cache, none) {
		t.Error("cache does not train as none does")
	}
	var b strings.Builder
	if err := table.Write(&b); err != nil || !strings.Contains(b.String(), "Controls, without echo") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

func TestACacheThatDoesNotFitIsNoControl(t *testing.T) {
	for records, want := range map[string]string{"64": "takes about", "0": "has no end"} {
		_, r := newLab(64)
		c := Comparison{
			Spec:       parseWith(t, r, ofLab, "pipeline.cache=1KiB", "data.source.lab.records="+records),
			Strategies: []echo.Strategy{echo.None}, Controls: true,
		}
		var told string
		c.Notice = func(text string) { told += text }
		arms, _, err := c.Arms()
		if err != nil {
			t.Fatal(err)
		}
		if arms, err = c.fitting(t.Context(), arms); err != nil || len(arms) != 1 || !strings.Contains(told, "cache is left out: ") || !strings.Contains(told, want) {
			t.Errorf("%s records: %v, %v, told %q", records, arms, err, told)
		}
	}
}
