package main

import (
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/reprise-ml/reprise/train/report"
)

const pictureRun = `
data: {source: {synth: {classes: 2, size: 48, examples: 600, held: 64}}}
input: {size: 64}
pipeline: {shuffle: 3k, workers: 2}
model: {mlp: {hidden: [1536]}}
train: {batch: 64, rate: {start: 0.0001}}
stop: {max_steps: 30}
evaluate: {every: 30 steps, batch: 64}
checkpoint: {every: 10 steps}
`

const textRun = `
data: {source: {text: {path: words.txt, tokenizer: bytes, context: 96}}, train: "all[:90%]", validation: "all[90%:]"}
pipeline: {shuffle: 256}
model: {transformer: {layers: 2, width: 128, heads: 4}}
train: {batch: 48, optimizer: adamw, rate: {start: 0.001}}
stop: {max_steps: 6}
evaluate: {every: 6 steps, batch: 48}
`

func TestARunTakesTheMemoryThatExplainPredicts(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	if info, ok := debug.ReadBuildInfo(); ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		t.Skip("the race detector takes memory of its own")
	}
	for name, spec := range map[string]string{"pictures": pictureRun, "text": textRun} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			words := strings.Repeat("to be or not to be, that is the question\n", 1500)
			for file, text := range map[string]string{"spec.yaml": spec, "words.txt": words} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			told, stderr, code := reprise(t, dir, "explain", "-c", "spec.yaml")
			if code != 0 || !strings.Contains(told, "The process needs ") {
				t.Fatalf("explain ended with %d and wrote\n%s%s", code, told, stderr)
			}
			if _, stderr, code := reprise(t, dir, "train", "-c", "spec.yaml", "--out", "run"); code != 0 {
				t.Fatalf("train ended with %d and wrote\n%s", code, stderr)
			}
			s, err := report.ReadSummary(filepath.Join(dir, "run"))
			if err != nil {
				t.Fatal(err)
			}
			if s.PeakRSS == 0 {
				t.Skip("the system does not tell how much memory a process has")
			}
			if ratio := float64(s.PeakRSS) / float64(s.PredictedRSS); math.Abs(ratio-1) > 0.15 {
				t.Errorf("it took %d MiB, %.2f of the %d MiB predicted", s.PeakRSS>>20, ratio, s.PredictedRSS>>20)
			} else {
				t.Logf("it took %d MiB, %.2f of the %d MiB predicted", s.PeakRSS>>20, ratio, s.PredictedRSS>>20)
			}
		})
	}
}
