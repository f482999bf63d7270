package experiments

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/nn"
	"github.com/reprise-ml/reprise/train/report"
)

// inputs returns the pixels of the first batch.
func inputs(t *testing.T, batches data.Seq[data.Batch]) []float32 {
	t.Helper()
	for b, err := range batches {
		if err != nil {
			t.Fatal(err)
		}
		return b.Inputs[0].F32
	}
	t.Fatal("there is no batch")
	return nil
}

func TestAugmentationIsDrawnBySeedAndNotInEvaluation(t *testing.T) {
	l, r := newLab(64)
	l.noise = 60
	batch := func(sets ...string) (training, evaluation []float32) {
		s, d, err := parseWith(t, r, ofLab, append(sets, "data.order=sequential")...).Open()
		if err != nil {
			t.Fatal(err)
		}
		s.Stages.Prefetch = Buffer{Items: 1}
		training = inputs(t, s.Pipeline(t.Context(), d.Train, nil, nil, Start{}))
		return training, inputs(t, s.Once(t.Context(), d.Validation, nil))
	}
	plain, held := batch()
	if again, _ := batch(); !reflect.DeepEqual(again, plain) {
		t.Error("the same seed augments otherwise")
	}
	other, same := batch("seed=1")
	if reflect.DeepEqual(other, plain) {
		t.Error("another seed augments alike")
	}
	if !reflect.DeepEqual(same, held) {
		t.Error("evaluation depends on the seed")
	}
	none, same := batch("input.augment=[]")
	if reflect.DeepEqual(none, plain) || !reflect.DeepEqual(same, held) {
		t.Error("the augmentation is not that of training alone")
	}
	left, cut := batch("input.resize=[{cutout: {size: 4}}]")
	if !reflect.DeepEqual(left, plain) || reflect.DeepEqual(cut, held) {
		t.Error("what resizes is not that of evaluation alone")
	}
}

func TestAnEpochThatIsNoWholeNumberOfExamplesIsRoundedUp(t *testing.T) {
	_, r := newLab(64)
	if s, _ := trained(t, parseWith(t, r, ofLab, "stop={max_steps: 0, max_epochs: 0.51}")); s.FreshExamples != 40 { // 32.64
		t.Errorf("0.51 epochs of 64 in batches of 8 are %d fresh examples", s.FreshExamples)
	}
}

func TestARecordThatIsDamagedInEveryEpochDoesNotEndTheRun(t *testing.T) {
	l, r := newLab(16)
	l.reads = func(_ context.Context, base string, record int) error {
		if base == "train" && record == 5 {
			return errors.New("damaged")
		}
		return nil
	}
	s, _ := trained(t, parseWith(t, r, ofLab, "data.source.lab.records=16", "data.on_error=skip", "stop.max_steps=60"))
	if s.Status != report.Done || s.BadRecords != 1 || s.BadReads < 30 || s.BadReads > 32 {
		t.Errorf("got %+v", s)
	}
}

// wide is a model whose kernel is larger than the pictures.
type wide struct{}

func (*wide) Build(Shape) (nn.Model, error) { return nn.Single(nn.Conv{Out: 2, Kernel: 9}), nil }

func TestAModelThatDoesNotFitThePicturesIsAnErrorOfTheSpec(t *testing.T) {
	_, r := newLab(64)
	r.Models["wide"] = func() Model { return new(wide) }
	run := Run{Spec: parseWith(t, r, ofLab, "model=wide"), Dir: filepath.Join(t.TempDir(), "run")}
	var spec SpecError
	if _, err := run.Train(t.Context()); !errors.As(err, &spec) || !strings.Contains(err.Error(), "model.wide: ") || exists(run.Dir) {
		t.Errorf("got %v", err)
	}
}
