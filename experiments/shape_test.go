package experiments

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/reprise-ml/reprise/train/report"
)

func TestTargetsAreReachedByTheScoresTheyName(t *testing.T) {
	classes, text := report.OfClasses(2, 0.25), report.OfText(math.Log(30))
	for target, want := range map[string][2]bool{
		"val_error<=0.25":    {true, false},
		"val_error<=0.2":     {false, false},
		"val_accuracy>=75%":  {true, false},
		"val_accuracy>=0.8":  {false, false},
		"val_loss<=3.5":      {true, true},
		"val_loss<=1.5":      {false, false},
		"val_perplexity<=31": {false, true},
		"val_perplexity<=29": {false, false},
	} {
		var v Target
		if err := v.UnmarshalText([]byte(target)); err != nil {
			t.Fatal(err)
		}
		if v.String() != strings.ReplaceAll(target, "75%", "0.75") {
			t.Errorf("%s is written as %s", target, v)
		}
		if got := [2]bool{v.Reached(classes), v.Reached(text)}; got != want {
			t.Errorf("%s: reached by classes and by text %v, want %v", target, got, want)
		}
	}
}

func TestTargetsOfOtherDataAreRefused(t *testing.T) {
	pictures, text := Shape{Size: 8, Classes: 2}, Shape{Classes: 256, Context: 8}
	for target, want := range map[string][2]string{
		"val_error<=0.1":     {"", "want val_loss or val_perplexity"},
		"val_accuracy>=0.1":  {"", "want val_loss or val_perplexity"},
		"val_loss<=1":        {"", ""},
		"val_perplexity<=30": {"want val_error, val_accuracy or val_loss", ""},
		"":                   {"", ""},
	} {
		var v Target
		if err := v.UnmarshalText([]byte(target)); target != "" && err != nil {
			t.Fatal(err)
		}
		for i, of := range []Shape{pictures, text} {
			switch err := v.check(of); {
			case want[i] == "" && err != nil:
				t.Errorf("%s on %+v: %v", target, of, err)
			case want[i] != "" && (err == nil || !strings.Contains(err.Error(), want[i])):
				t.Errorf("%s on %+v: error %v, want one with %q", target, of, err, want[i])
			}
		}
	}
}

func TestModelsForOtherDataAreRefused(t *testing.T) {
	text := Shape{Classes: 256, Context: 8}
	for _, m := range []Model{&MLP{}, &ResNetCIFAR{Depth: 8}, &ResNet{Depth: 18}} {
		if _, err := m.Build(text); err == nil || !strings.Contains(err.Error(), "want transformer") {
			t.Errorf("%T for text: error %v", m, err)
		}
	}
}

func TestNoiseOfTextIsTokens(t *testing.T) {
	b := Shape{Classes: 5, Context: 9}.noise(7)
	for _, a := range []struct {
		shape  []int
		tokens []int32
	}{{b.Inputs[0].Shape, b.Inputs[0].I32}, {b.Targets[0].Shape, b.Targets[0].I32}} {
		if !slices.Equal(a.shape, []int{7, 9}) || len(a.tokens) != 63 || slices.Max(a.tokens) != 4 || slices.Min(a.tokens) != 0 {
			t.Errorf("tokens %v of shape %v", a.tokens, a.shape)
		}
	}
	if len(b.Origins) != 7 || slices.Equal(b.Inputs[0].I32, b.Targets[0].I32) {
		t.Errorf("the batch is %+v", b)
	}
}
