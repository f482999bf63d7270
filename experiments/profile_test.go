package experiments

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/data/synth"
	"github.com/reprise-ml/reprise/echo"
)

// profiled profiles sleepers.
func profiled(t *testing.T, p pace, e echo.Spec) Profile {
	t.Helper()
	_, r := sleepers(p)
	s := parseWith(t, r, ofLab, p.sets(e)...)
	var out Profile
	synctest.Test(t, func(t *testing.T) {
		var err error
		if out, err = s.Profile(t.Context(), 18*time.Second, func(string) {}); err != nil {
			t.Fatal(err)
		}
	})
	return out
}

func TestAProfileNamesTheBottleneckAndMeasuresEveryStage(t *testing.T) {
	for _, c := range []struct {
		pace
		slowest, words string
	}{
		{pace{pipe: 40, decode: 4, augment: 8}, data.StageRead, "Reading is the bottleneck: it takes 40 ms for a batch, and the step 10 ms. Without an echo the step computes at most 25 %"},
		{pace{latency: 20, decode: 50, augment: 4}, data.StageDecode, "Decoding is the bottleneck: it takes 50 ms"},
		{pace{latency: 2, decode: 4, augment: 80}, data.StageAugment, "An echo at augmentation uses every example up to 8.4 times in the time of one"},
		{pace{latency: 4, decode: 5, augment: 2}, step, "No echo makes training faster"},
	} {
		p := profiled(t, c.pace, echo.Spec{Strategy: echo.Example, Factor: 3})
		if words := strings.Join(p.Findings(), "\n"); p.Slowest != c.slowest || !strings.Contains(words, c.words) {
			t.Errorf("%+v: the bottleneck is %s; it says\n%s\nwant %q", c.pace, p.Slowest, words, c.words)
		}
		for stage, want := range map[string]float64{data.StageRead: max(c.pipe, c.latency+c.pipe/2), data.StageDecode: c.decode, data.StageAugment: c.augment, step: 10} {
			if got := 1000 * p.pace(stage).Seconds; math.Abs(got/want-1) > 0.03 {
				t.Errorf("%+v: %s takes %g ms, want %g", c.pace, stage, got, want)
			}
		}
		for _, place := range p.Places {
			up, down := c.sides(place.Place)
			r, most := up/down, max(1, up/down)
			if fresh, bound := max(up, 3*down)/8000, 3*max(r, 1)/max(r, 3); place.Factor != 3 || math.Abs(place.Fresh/fresh-1) > 0.05 || math.Abs(place.Bound/bound-1) > 0.05 {
				t.Errorf("%+v: at %s %+v, want %g s for an example and a speed-up of %g at most", c.pace, place.Place, place, fresh, bound)
			}
			if math.Abs(place.R/r-1) > 0.05 || place.Shared || place.Limit == nil || math.Abs(*place.Limit/most-1) > 0.05 || math.Abs(place.Most/most-1) > 0.05 || math.Abs(place.Free/most-1) > 0.05 {
				t.Errorf("%+v: at %s %+v, want R %g", c.pace, place.Place, place, r)
			}
		}
		if whole, want := 1000*p.Whole.Seconds, max(c.pipe, c.latency+c.pipe/2, c.decode+c.augment); math.Abs(whole/want-1) > 0.05 {
			t.Errorf("%+v: the pipeline takes %g ms for a batch, want %g", c.pace, whole, want)
		}
		for _, run := range p.Runs {
			up, down := c.sides(run.Strategy)
			want := max(up, run.Factor*down) / 8000
			if math.Abs(run.Predicted/want-1) > 0.05 || math.Abs(run.Measured/want-1) > 0.05 {
				t.Errorf("%+v: %+v, want %g s", c.pace, run, want)
			}
		}
		if len(p.Runs) != 2 {
			t.Errorf("there are %d runs", len(p.Runs))
		}
	}
}

func TestWhatElseHelpsIsMeasured(t *testing.T) {
	p := profiled(t, pace{latency: 40, decode: 60, augment: 2}, echo.Spec{})
	i := slices.IndexFunc(p.Helps, func(h Help) bool { return h.What == "pipeline.workers 1 instead of 2" })
	if i < 0 {
		t.Fatalf("there are %+v", p.Helps)
	}
	if h := p.Helps[i]; math.Abs(h.Before/0.062-1) > 0.03 || math.Abs(h.After/0.124-1) > 0.03 || math.Abs(h.FreshBefore/0.00775-1) > 0.03 || math.Abs(h.FreshAfter/0.0155-1) > 0.03 {
		t.Errorf("one worker: %+v", h)
	}
	p = profiled(t, pace{latency: 60, decode: 40, augment: 2}, echo.Spec{})
	i = slices.IndexFunc(p.Helps, func(h Help) bool { return h.What == "pipeline.readers 4 instead of 2" })
	if h := p.Helps[i]; math.Abs(h.After/0.03-1) > 0.03 || math.Abs(h.FreshAfter/0.00525-1) > 0.03 {
		t.Errorf("twice the readers: %+v", h)
	}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil || !strings.Contains(strings.ReplaceAll(b.String(), "\n", " "), "What helps most is pipeline.readers 4 instead of 2: a fresh example takes 30 % less time.") {
		t.Errorf("%s%v", b.String(), err)
	}
}

func TestSharedCoresAreFound(t *testing.T) {
	p := Profile{Batch: 10, Cores: 2, Stages: []StagePace{
		{data.StageDecode, 2, Pace{0.03, 0.06}, work{stage: data.StageDecode, before: echo.Example}},
		{step, 2, Pace{0.02, 0.04}, work{stage: step, before: echo.None}},
	}}
	p.conclude(2)
	for _, place := range p.Places {
		if place.Place == echo.Read {
			continue
		}
		if !place.Shared || math.Abs(place.R-1.5) > 1e-9 || math.Abs(place.Free-1) > 1e-9 || place.Limit != nil || math.Abs(place.Speedup(2)-10./7) > 1e-9 {
			t.Errorf("%+v", place)
		}
	}
	if words := strings.Join(p.Findings(), " "); !strings.Contains(words, "The cores are shared: pipeline and step need 100 ms of processor time for a batch of fresh data, on 2 cores") ||
		!strings.Contains(words, "costs 20 ms, so that factor 2 speeds training up by 1.43 times at most") {
		t.Error(words)
	}
}

func TestAProfileOfFilesAndOfTextFitsIn80Columns(t *testing.T) {
	dir := t.TempDir()
	drawn := &Synth{Config: synth.Config{Examples: 60}, Held: 20}
	if _, err := drawn.WriteFolder(context.Background(), filepath.Join(dir, "pictures")); err != nil {
		t.Fatal(err)
	}
	rhyme := filepath.Join(dir, "rhyme.txt")
	if err := os.WriteFile(rhyme, []byte(strings.Repeat("one two\nbuckle my shoe\n", 50)), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"pictures": fmt.Sprintf("data: {source: {folder: {path: %q}}}\ninput: {size: 16}\nmodel: {mlp: {hidden: [4]}}\necho: {strategy: augmentation, factor: 2.5}\n", filepath.Join(dir, "pictures")),
		"text":     fmt.Sprintf("data: {source: {text: {path: %q, context: 16}}}\nmodel: {transformer: {layers: 1, width: 16, heads: 2}}\necho: {strategy: example, factor: 2}\n", rhyme),
	} {
		s := parse(t, text+"pipeline: {shuffle: 16}\ntrain: {batch: 8, rate: {start: 0.01}}\nstop: {max_steps: 4}\n")
		p, err := s.Profile(context.Background(), 200*time.Millisecond, func(string) {})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, stage := range p.Stages {
			if stage.Seconds <= 0 {
				t.Errorf("%s: %+v", name, stage)
			}
		}
		packed := slices.ContainsFunc(p.Helps, func(h Help) bool { return strings.Contains(h.What, "packed") && h.After > 0 })
		verified := slices.ContainsFunc(p.Helps, func(h Help) bool { return h.What == "reprise data verify" && h.After > 0 })
		if isText := name == "text"; packed == isText || verified == isText {
			t.Errorf("%s: what helps is %+v", name, p.Helps)
		}
		if strings.Contains(fmt.Sprint(p.Places), string(echo.Augmentation)) == (name == "text") {
			t.Errorf("%s: the places are %+v", name, p.Places)
		}
		if p.Cold == nil && len(p.Notes) == 0 {
			t.Errorf("%s: cold reading was neither measured nor said to be impossible", name)
		}
		var b bytes.Buffer
		if err := p.Write(&b); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
				t.Errorf("%s: %d columns: %s", name, n, line)
			}
		}
		encoded, err := json.Marshal(p)
		var fields map[string]any
		if err != nil || json.Unmarshal(encoded, &fields) != nil || fields["bottleneck"] == "" {
			t.Errorf("%s: %s, %v", name, encoded, err)
		}
	}
}
