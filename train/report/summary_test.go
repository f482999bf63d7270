package report_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-ml/reprise/train/report"
)

func anySummary(t *rapid.T) report.Summary {
	finite := rapid.Float64().Filter(func(v float64) bool { return !math.IsInf(v, 0) && !math.IsNaN(v) })
	optional := func(name string) *float64 { return rapid.Ptr(finite, true).Draw(t, name) }
	counted := func(name string) *int64 { return rapid.Ptr(rapid.Int64(), true).Draw(t, name) }
	return report.Summary{
		Name: rapid.String().Draw(t, "name"), Status: report.Status(rapid.SampledFrom([]report.Status{report.Done, report.Diverging}).Draw(t, "status")),
		Error: rapid.String().Draw(t, "error"), Factor: finite.Draw(t, "factor"), Seed: rapid.Uint64().Draw(t, "seed"),
		FreshToTarget: counted("fresh to target"), WallToTarget: optional("wall to target"), Steps: rapid.Int64().Draw(t, "steps"),
		FinalLoss: optional("final loss"), BestValError: optional("best error"), BestStep: counted("best step"), TestLoss: optional("test loss"),
	}
}

func TestASummarySurvivesItsFile(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		s := anySummary(t)
		if err := report.WriteSummary(dir, s); err != nil {
			t.Fatal(err)
		}
		if got, err := report.ReadSummary(dir); err != nil || !reflect.DeepEqual(got, s) {
			t.Fatalf("wrote %+v, read %+v, %v", s, got, err)
		}
	})
}

func TestASummaryHasTheFieldsThatApply(t *testing.T) {
	dir := t.TempDir()
	steps := int64(40)
	s := report.Summary{Name: "x", Status: report.TargetMet, Strategy: "example", Factor: 2, Target: "val_error<=0.1", StepsToTarget: &steps, FinalLoss: pointer(0)}
	if err := report.WriteSummary(dir, s); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "summary.json"))
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{
		"status": "target", "strategy": "example", "steps_to_target": 40., "final_loss": 0., "fill_seconds": 0., "reads": 0., "seed": 0.,
		"fresh_to_target": nil, "reads_to_target": nil, "examples_to_target": nil, "wall_to_target": nil, "cpu_to_target": nil,
		"error": nil, "best_val_error": nil, "test_error": nil,
	} {
		if got, there := fields[name]; got != want || there != (want != nil) {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if !strings.HasSuffix(string(text), "}\n") || !strings.Contains(string(text), "\n  \"status\": \"target\",\n") {
		t.Errorf("summary.json is\n%s", text)
	}
}

func TestASummaryOfARunThatDivergedIsWritten(t *testing.T) {
	dir := t.TempDir()
	s := report.Summary{Status: report.Diverging, FinalLoss: pointer(math.NaN()), FinalValLoss: pointer(math.Inf(1)), BestValLoss: pointer(1.5)}
	if err := report.WriteSummary(dir, s); err != nil {
		t.Fatal(err)
	}
	got, err := report.ReadSummary(dir)
	if err != nil || got.FinalLoss != nil || got.FinalValLoss != nil || got.BestValLoss == nil || got.Status != report.Diverging {
		t.Errorf("%+v, %v", got, err)
	}
	if !math.IsNaN(*s.FinalLoss) {
		t.Error("the summary given was written to")
	}
}

func TestASummaryThatCannotBeWrittenLeavesTheLastOne(t *testing.T) {
	dir := t.TempDir()
	if err := report.WriteSummary(dir, report.Summary{Name: "good"}); err != nil {
		t.Fatal(err)
	}
	err := report.WriteSummary(dir, report.Summary{Name: "bad", Factor: math.NaN()})
	if err == nil || !strings.HasPrefix(err.Error(), "report: "+filepath.Join(dir, "summary.json")) {
		t.Errorf("the error is %v", err)
	}
	if s, err := report.ReadSummary(dir); err != nil || s.Name != "good" {
		t.Errorf("the file holds %+v, %v", s, err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("the folder holds %v, %v", files, err)
	}
	if err := report.WriteSummary(filepath.Join(dir, "absent"), report.Summary{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in a folder that is not there: %v", err)
	}
}

func TestReadSummaryNamesTheFolder(t *testing.T) {
	dir := t.TempDir()
	want := "report: " + filepath.Join(dir, "summary.json") + ": "
	if _, err := report.ReadSummary(dir); !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("the error is %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "summary.json"), []byte(`{"status":`), 0o666); err != nil {
		t.Fatal(err)
	}
	if s, err := report.ReadSummary(dir); err == nil || !strings.HasPrefix(err.Error(), want) || !reflect.ValueOf(s).IsZero() {
		t.Errorf("%+v, the error is %v", s, err)
	}
}

func ExampleWriteSummary() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	fresh := int64(64_000)
	s := report.Summary{Name: "first", Status: report.TargetMet, Target: "val_error<=0.09", FreshToTarget: &fresh}
	if err := report.WriteSummary(dir, s); err != nil {
		fmt.Println(err)
		return
	}
	s, err = report.ReadSummary(dir)
	fmt.Println(s.Status, *s.FreshToTarget, s.WallToTarget, err)
	// Output: target 64000 <nil> <nil>
}
