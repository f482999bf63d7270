package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/reprise-ml/reprise/experiments"
)

func TestAProfileIsPrintedAndIsJSON(t *testing.T) {
	dir := folder(t)
	args := []string{"profile", "-c", "run.yaml", "--seconds", "0.1", "--strategy", "batch", "--factor", "3"}
	stdout, _, code := reprise(t, dir, args...)
	for _, want := range []string{"run: batches of 8 examples", "each stage alone", "batch ×3, a fresh example", "echo at", "is the bottleneck", "what else"} {
		if code != 0 || !strings.Contains(stdout, want) {
			t.Errorf("exit code %d, and without %q:\n%s", code, want, stdout)
		}
	}
	stdout, _, code = reprise(t, dir, append(args, "--json")...)
	var p experiments.Profile
	if err := json.Unmarshal([]byte(stdout), &p); err != nil || code != 0 || p.Batch != 8 || len(p.Places) != 4 || p.Places[0].Down <= 0 || p.Places[0].R <= 0 || len(p.Runs) != 2 || p.Runs[1].Factor != 3 {
		t.Errorf("exit code %d, %v\n%s", code, err, stdout)
	}
	if _, _, code := reprise(t, dir, "train", "run.yaml"); code != 0 {
		t.Error("the profile left a run directory")
	}
}
