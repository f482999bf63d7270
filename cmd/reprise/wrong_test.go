package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reprise-ml/reprise/train/report"
)

func TestWrongUseEndsWithTwoAndSaysWhatIsWrong(t *testing.T) {
	dir := folder(t)
	for _, c := range []struct {
		args   string
		code   int
		stderr string
	}{
		{"train run.yaml --factor 2", 2, "the factor is 2 and there is no strategy"},
		{"train run.yaml --strategy none --factor 2", 2, "--factor is 2 and nothing is echoed"},
		{"explain run.yaml --factor 2", 2, "the factor is 2 and there is no strategy"},
		{"explain run.yaml --factor 1", 0, ""},
		{"explain run.yaml --set echo.strategy=batch --factor 3", 0, ""},
		{"explain run.yaml --strategy batch --factor 0.5", 2, "the factor is 0.5"},
		{"train -c run.yaml other.yaml", 2, "two specs are named: -c run.yaml and other.yaml"},
		{"compare -c run.yaml other.yaml", 2, "two specs are named"},
		{"explain -c run.yaml other.yaml", 2, "two specs are named"},
		{"config check -c run.yaml other.yaml", 2, "two specs are named"},
		{"config print -c run.yaml other.yaml", 2, "two specs are named"},
		{"config check run.yaml other.yaml", 2, "see reprise config check --help"},
		{"config print run.yaml other.yaml", 2, "see reprise config print --help"},
		{"config init out.yaml", 2, "see reprise config init --help"},
		{"config inti", 2, "inti"},
		{"config check --quick", 2, "--quick"},
		{"bench step mlp", 2, "see reprise bench step --help"},
		{"bench stpe", 2, "stpe"},
		{"eval", 2, "see reprise eval --help"},
		{"eval a b", 2, "see reprise eval --help"},
		{"version now", 2, "see reprise version --help"},
		{"quickstart now", 2, "see reprise quickstart --help"},
		{"eval . -c run.yaml", 2, ". is a run directory, which has its own spec"},
		{"compare run.yaml --factor 0.5", 2, "the factor is 0.5"},
		{"train run.yaml --set storage={upstream_ratio: 4, simulate: {bandwidth: 1000}}", 2, "want one of the two"},
		{"train run.yaml --set model=resnet_cifar", 2, "model.resnet_cifar: "},
		{"train run.yaml --target val_eror<=1", 2, "is no target"},
		{"train run.yaml --seed x", 2, "seed: "},
		{"config", 0, ""},
		{"bench", 0, ""},
	} {
		args := strings.Fields(c.args)
		if at := strings.Index(c.args, "--set storage"); at >= 0 {
			args = append(strings.Fields(c.args[:at]), "--set", c.args[at+len("--set "):])
		}
		_, stderr, code := reprise(t, dir, args...)
		if code != c.code || !strings.Contains(stderr, c.stderr) || c.code == 0 && stderr != "" {
			t.Errorf("reprise %s: exit code %d, want %d; stderr: %s", c.args, code, c.code, stderr)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "runs")); err == nil {
		t.Error("something was run")
	}
}

func TestWeightsBesideAConfigAreEvaluatedByIt(t *testing.T) {
	dir := folder(t)
	if _, stderr, code := reprise(t, dir, "train", "run.yaml", "-q"); code != 0 || strings.Contains(stderr, "of 12 steps") {
		t.Fatalf("exit code %d, %s", code, stderr)
	}
	of, _, code := reprise(t, dir, "eval", "runs/run", "--json")
	if beside, stderr, c := reprise(t, dir, "eval", "runs/run/best.safetensors", "--json"); c != 0 || code != 0 || beside != of {
		t.Errorf("beside config.yaml: exit code %d, %s%s, of the run %s", c, beside, stderr, of)
	}
	text, err := os.ReadFile(filepath.Join(dir, "runs", "run", "final.safetensors"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "alone.safetensors"), text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := reprise(t, dir, "eval", "alone.safetensors"); code != 2 || !strings.Contains(stderr, "want a spec") {
		t.Errorf("weights alone: exit code %d, %s", code, stderr)
	}
	final, _, code := reprise(t, dir, "eval", "runs/run/final.safetensors", "--json")
	if alone, stderr, c := reprise(t, dir, "eval", "alone.safetensors", "-c", "run.yaml", "--json"); c != 0 || code != 0 || alone != final {
		t.Errorf("weights with a spec: exit code %d, %s%s, want %s", c, alone, stderr, final)
	}
	if part, _, code := reprise(t, dir, "eval", "runs/run", "--set", "data.test=none"); code != 0 || strings.Contains(part, "test (") || !strings.Contains(part, "validation (validation): error ") {
		t.Errorf("without test data: exit code %d, %s", code, part)
	}
}

func TestTheFirstWeightsOfARunCanBeGiven(t *testing.T) {
	dir := folder(t)
	if _, stderr, code := reprise(t, dir, "train", "run.yaml", "--out", "a"); code != 0 {
		t.Fatal(stderr)
	}
	if _, stderr, code := reprise(t, dir, "train", "run.yaml", "--out", "b", "--init", "a/final.safetensors", "--set", "train.rate.start=1e-30", "--force"); code != 0 {
		t.Fatal(stderr)
	}
	a, errA := report.ReadSummary(filepath.Join(dir, "a"))
	b, errB := report.ReadSummary(filepath.Join(dir, "b"))
	if errA != nil || errB != nil || *a.FinalValLoss != *b.FinalValLoss {
		t.Errorf("it began with others: %+v, %+v", a, b)
	}
	if _, stderr, code := reprise(t, dir, "train", "run.yaml", "--out", "c", "--init", "none.safetensors"); code != 1 || !strings.Contains(stderr, "none.safetensors") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}

func TestAHangUpEndsARunCleanly(t *testing.T) {
	dir := folder(t)
	cmd := program(t, dir, "train", "-c", "run.yaml", "--set", "stop.max_steps=1e9", "--set", "log.every=1 steps", "--set", "storage.simulate.latency=2ms")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	run := filepath.Join(dir, "runs", "run")
	for begun := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		if lines, _ := report.ReadMetrics(filepath.Join(run, "metrics.jsonl")); len(lines) > 2 {
			break
		}
		if time.Since(begun) > 20*time.Second {
			t.Fatal("the run does not begin")
		}
	}
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	s, err := report.ReadSummary(run)
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted || err != nil || s.Status != report.Interrupted {
		t.Errorf("exit code %d, summary.json holds %+v, %v", code, s, err)
	}
	if _, err := os.Stat(filepath.Join(run, "final.safetensors")); err != nil {
		t.Error(err)
	}
}

func TestARunGoesOnWhereNobodyReadsAlong(t *testing.T) {
	for _, stream := range []string{"stdout", "stderr", "both"} {
		dir := folder(t)
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd := program(t, dir, "train", "-c", "run.yaml", "--set", "log.progress=1ms", "--set", "storage.simulate.latency=1ms")
		if stream != "stderr" {
			cmd.Stdout = write
		}
		if stream != "stdout" {
			cmd.Stderr = write
		}
		read.Close()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		write.Close()
		cmd.Wait()
		s, err := report.ReadSummary(filepath.Join(dir, "runs", "run"))
		if code := cmd.ProcessState.ExitCode(); code != 0 || err != nil || s.Status != report.Done || s.Steps != 12 {
			t.Errorf("%s is closed: exit code %d, summary.json holds %+v, %v", stream, code, s, err)
		}
	}
}
