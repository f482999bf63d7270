package experiments

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/train/report"
)

const mixing = "input.mix={mixup: {alpha: 0.4}, cutmix: {alpha: 1}}"

// mixedBatches returns the first n batches of a lab with noise.
func mixedBatches(t *testing.T, n int, sets ...string) []data.Batch {
	t.Helper()
	l, r := newLab(64)
	l.noise = 60
	s, d, err := parseWith(t, r, ofLab, sets...).Open()
	if err != nil {
		t.Fatal(err)
	}
	s.Stages.Prefetch = Buffer{Items: 1}
	var out []data.Batch
	for b, err := range s.Pipeline(t.Context(), d.Train, nil, nil, Start{}) {
		if err != nil {
			t.Fatal(err)
		}
		if out = append(out, b.Keep()); len(out) == n {
			return out
		}
	}
	return out
}

func TestCopiesOfABatchAreMixedAlikeOrEachAnew(t *testing.T) {
	alike := mixedBatches(t, 8, mixing, "echo={strategy: batch, factor: 2}")
	anew := mixedBatches(t, 8, mixing, "input.mix.redraw=true", "echo={strategy: batch, factor: 2}")
	for i := 0; i < 8; i += 2 {
		if !reflect.DeepEqual(alike[i].Inputs, alike[i+1].Inputs) || !reflect.DeepEqual(alike[i].Targets, alike[i+1].Targets) {
			t.Errorf("the copies %d and %d differ", i, i+1)
		}
		if reflect.DeepEqual(anew[i].Inputs, anew[i+1].Inputs) {
			t.Errorf("the copies %d and %d are mixed alike, though they are to be drawn anew", i, i+1)
		}
		if !reflect.DeepEqual(alike[i].Inputs, anew[i].Inputs) || !reflect.DeepEqual(alike[i].Targets, anew[i].Targets) {
			t.Errorf("batch %d, as read, is mixed otherwise with redraw", i)
		}
	}
}

func TestWithoutABatchEchoItDoesNotMatterWhetherMixingIsDrawnAnew(t *testing.T) {
	for _, strategy := range []string{"none", "example", "augmentation"} {
		a := mixedBatches(t, 6, mixing, "echo.strategy="+strategy)
		b := mixedBatches(t, 6, mixing, "echo.strategy="+strategy, "input.mix.redraw=true", "pipeline.workers=3", "pipeline.readers=4")
		if !reflect.DeepEqual(a, b) {
			t.Errorf("%s: batches differ", strategy)
		}
	}
}

func TestMixingLeavesEvaluationAndWhichRecordsAreReadAlone(t *testing.T) {
	_, r := newLab(64)
	held := func(sets ...string) []float32 {
		s, d, err := parseWith(t, r, ofLab, sets...).Open()
		if err != nil {
			t.Fatal(err)
		}
		return inputs(t, s.Once(t.Context(), d.Validation, nil))
	}
	if !reflect.DeepEqual(held(), held(mixing)) {
		t.Error("evaluation is mixed")
	}
	for i, b := range mixedBatches(t, 4, mixing) {
		if plain := mixedBatches(t, 4)[i]; !reflect.DeepEqual(plain.Origins, b.Origins) || plain.Reads != b.Reads {
			t.Errorf("batch %d is of other records", i)
		}
	}
}

func TestARunLearnsFromMixedPictures(t *testing.T) {
	_, r := newLab(64)
	spec := parseWith(t, r, ofLab, mixing, "train={label_smoothing: 0.1, rate: {start: 0.1}, accumulate: 2}", "stop.max_steps=150")
	s, dir := trained(t, spec)
	if s.Status != report.Done || *s.FinalValError > 0.1 {
		t.Errorf("got %+v", s)
	}
	if lines := metricsOf(t, dir, report.KindTrain); lines[149].Loss == nil || *lines[149].Loss < 0.2 {
		t.Errorf("the loss of the last step, of soft labels, is %+v", lines[149].Loss)
	}
	var text bytes.Buffer
	if err := spec.Write(&text); err != nil || !reflect.DeepEqual(parseWith(t, r, text.String()), spec) {
		t.Errorf("the spec is not read back (%v):\n%s", err, text.String())
	}
	text.Reset()
	if err := parseWith(t, r, ofLab, mixing, "input.mix.redraw=true", "echo.strategy=batch").Explain(t.Context(), &text); err != nil || !strings.Contains(text.String(), "mixup(alpha 0.4) or cutmix(alpha 1), every copy anew\n") {
		t.Errorf("mixing is not explained (%v):\n%s", err, text.String())
	}
}

func TestMixingForOtherClassesThanTheDataHasIsRefused(t *testing.T) {
	_, r := newLab(64)
	if _, _, err := parseWith(t, r, ofLab, mixing, "input.mix.classes=3").Open(); err == nil || !strings.Contains(err.Error(), "input.mix.classes: is 3, and the data has 2") {
		t.Errorf("got %v", err)
	}
	if _, err := r.Parse("test.yaml", ofLab, "input.mix={redraw: true}"); err == nil || !strings.Contains(err.Error(), "input.mix: mix: neither mixup nor cutmix") {
		t.Errorf("got %v", err)
	}
}
