package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reprise-ml/reprise/experiments"
)

func TestABatchIsInspectedAsTableAsJSONAndOnASheet(t *testing.T) {
	dir := folder(t)
	args := []string{"inspect", "batch", "2", "-c", "run.yaml", "--strategy", "example", "--factor", "3"}
	stdout, _, code := reprise(t, dir, append(args, "-o", "sheet.png")...)
	if code != 0 || !strings.Contains(stdout, "The batch of step 2: 8 rows") || strings.Count(stdout, "\n") != 14 {
		t.Errorf("exit code %d\n%s", code, stdout)
	}
	if sheet, err := os.ReadFile(filepath.Join(dir, "sheet.png")); err != nil || !strings.HasPrefix(string(sheet), "\x89PNG") {
		t.Errorf("the sheet: %v", err)
	}
	stdout, _, code = reprise(t, dir, append(args, "--json")...)
	var i experiments.Inspection
	if err := json.Unmarshal([]byte(stdout), &i); err != nil || code != 0 || len(i.Rows) != 8 || i.Step != 2 || i.Expected == nil && !strings.Contains(stdout, `"lag":null`) {
		t.Errorf("exit code %d, %v\n%s", code, err, stdout)
	}
	for _, wrong := range []string{"0", "-1", "first"} {
		if _, _, code := reprise(t, dir, "inspect", "batch", "-c", "run.yaml", "--", wrong); code != 2 {
			t.Errorf("batch %s: exit code %d", wrong, code)
		}
	}
}

func TestAComparisonWithControlsIsPlotted(t *testing.T) {
	dir := folder(t)
	if _, stderr, code := reprise(t, dir, "plot", "--figure", "4", "."); code != 1 || !strings.Contains(stderr, "no comparison that has ended") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	stdout, stderr, code := reprise(t, dir, "compare", "-c", "run.yaml", "--strategies", "none,example,minibatch_persistency", "--factor", "2", "--target", "val_error<=1", "--controls", "--out", "c",
		"--set", "storage.simulate.latency=100us")
	for _, want := range []string{"none ", "example ×2", "persistency ×2", "cache", "rate ×2", "Controls, without echo"} {
		if code != 0 || !strings.Contains(stdout, want) {
			t.Fatalf("exit code %d, without %q:\n%s%s", code, want, stdout, stderr)
		}
	}
	stdout, stderr, code = reprise(t, dir, "plot", "--figure", "4", "c")
	if code != 0 || !strings.Contains(stdout, "ms per fresh example") || strings.Contains(stdout, "rate") || strings.Contains(stdout, "persistency") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	if _, err := os.Stat(filepath.Join(dir, "c", "figure4.svg")); err != nil {
		t.Error(err)
	}
	if _, _, code := reprise(t, dir, "plot", "--figure", "3", "c"); code != 2 {
		t.Errorf("figure 3: exit code %d", code)
	}
	if _, _, code := reprise(t, dir, "bench", "echo", "--rounds", "0"); code != 2 {
		t.Errorf("no rounds: exit code %d", code)
	}
}
