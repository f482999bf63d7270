package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reprise-ml/reprise/train/report"
)

// The test binary is the program itself when this variable is set, so that
// exit codes, streams and signals are tested for real.
const asProgram = "REPRISE_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// program returns the command, to be run in dir.
func program(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), asProgram+"=1")
	return cmd
}

// reprise runs the program and returns what it wrote and its exit code.
func reprise(t *testing.T, dir string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := program(t, dir, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

const spec = `
data: {source: {synth: {classes: 2, size: 8, examples: 64, held: 20}}}
input: {size: 8, augment: [flip], resize: []}
pipeline: {shuffle: 8}
model: {mlp: {hidden: [8]}}
train: {batch: 8, rate: {start: 0.01}}
stop: {max_steps: 12}
`

func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "run.yaml"), []byte(spec), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestExitCodesSayHowARunEnded(t *testing.T) {
	dir := folder(t)
	for _, c := range []struct {
		name   string
		args   []string
		code   int
		stderr string
	}{
		{"done", []string{"train", "-c", "run.yaml", "--out", "done"}, 0, ""},
		{"target reached", []string{"train", "-c", "run.yaml", "--out", "target", "--target", "val_error<=1"}, 0, ""},
		{"budget spent", []string{"train", "-c", "run.yaml", "--out", "budget", "--target", "val_loss<=1e-9"}, 3, ""},
		{"diverged", []string{"train", "-c", "run.yaml", "--out", "diverged", "--set", "train.rate.start=1e15"}, 4, ""},
		{"a used directory", []string{"train", "-c", "run.yaml", "--out", "done"}, 1, "--force"},
		{"no spec", []string{"train"}, 2, "-c FILE"},
		{"a missing spec", []string{"train", "-c", "none.yaml"}, 2, "none.yaml"},
		{"an unknown key", []string{"train", "-c", "run.yaml", "--set", "train.bach=2"}, 2, `did you mean "batch"?`},
		{"an unknown flag", []string{"train", "--quick"}, 2, "--quick"},
		{"an unknown command", []string{"trian"}, 2, "trian"},
		{"an argument too many", []string{"train", "run.yaml", "other.yaml"}, 2, "at most 1 arg"},
		{"no such run", []string{"eval", "none"}, 1, "none"},
		{"no run in a directory", []string{"eval", "."}, 1, "config.yaml"},
		{"a strategy that is not", []string{"compare", "-c", "run.yaml", "--strategies", "loud"}, 2, "loud"},
		{"no seeds", []string{"compare", "-c", "run.yaml", "--seeds", "0"}, 2, "--seeds"},
		{"a step measured", []string{"bench", "step", "--model", "mlp", "--batch", "2", "--seconds", "0.01", "--ops"}, 0, ""},
		{"a model of no name", []string{"bench", "step", "--model", "resnt"}, 2, `did you mean "resnet"?`},
		{"no time", []string{"bench", "step", "--seconds", "0"}, 2, "--seconds is 0"},
		{"a time that is no number", []string{"bench", "step", "--seconds", "NaN"}, 2, "--seconds is NaN"},
		{"more rows than there is memory for", []string{"bench", "step", "--batch", "1000000000000000"}, 2, "want 1 to 1048576"},
		{"a profile", []string{"profile", "run.yaml", "--seconds", "0.1", "--strategy", "example"}, 0, "measuring the stages alone"},
		{"a profile in no time", []string{"profile", "run.yaml", "--seconds", "0"}, 2, "--seconds is 0"},
		{"a profile of no spec", []string{"profile"}, 2, "-c FILE"},
		{"version", []string{"version"}, 0, ""},
		{"help", []string{"--help"}, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, stderr, code := reprise(t, dir, c.args...)
			if code != c.code || !strings.Contains(stderr, c.stderr) {
				t.Errorf("exit code %d, want %d; stderr:\n%s", code, c.code, stderr)
			}
			if strings.Contains(stderr, "goroutine ") {
				t.Errorf("a panic reached the user:\n%s", stderr)
			}
		})
	}
}

func TestAKernelThatIsNotThereIsAWrongUse(t *testing.T) {
	dir := folder(t)
	t.Setenv("REPRISE_KERNEL", "sse")
	for _, args := range [][]string{
		{"train", "-c", "run.yaml"}, {"compare", "-c", "run.yaml"}, {"explain", "-c", "run.yaml"}, {"bench", "step"}, {"quickstart"},
	} {
		_, stderr, code := reprise(t, dir, args...)
		if code != 2 || !strings.Contains(stderr, "REPRISE_KERNEL=sse is not a path") || strings.Contains(stderr, "goroutine ") {
			t.Errorf("%v: exit code %d, want 2; stderr:\n%s", args, code, stderr)
		}
	}
}

func TestTooManyDamagedRecordsEndWithFive(t *testing.T) {
	dir := folder(t)
	var good bytes.Buffer
	if err := jpeg.Encode(&good, image.NewRGBA(image.Rect(0, 0, 8, 8)), nil); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"train/a", "train/b", "val/a", "val/b"} {
		path := filepath.Join(dir, "pictures", part)
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
		for i := range 8 {
			content := good.Bytes()
			if i >= 4 && strings.HasPrefix(part, "train") {
				content = []byte("<html>")
			}
			if err := os.WriteFile(filepath.Join(path, fmt.Sprintf("%d.jpg", i)), content, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	set := "data={source: {folder: {path: pictures}}, on_error: skip, max_bad: "
	if stdout, stderr, code := reprise(t, dir, "train", "-c", "run.yaml", "--out", "borne", "--set", set+"8}"); code != 0 || !strings.Contains(stdout, "8 damaged records skipped") {
		t.Errorf("eight damaged records of at most eight: exit code %d\n%s%s", code, stdout, stderr)
	}
	if _, stderr, code := reprise(t, dir, "train", "-c", "run.yaml", "--out", "much", "--set", set+"7}"); code != exitBadRecords || !strings.Contains(stderr, "8 distinct damaged records") {
		t.Errorf("eight damaged records of at most seven: exit code %d\n%s", code, stderr)
	}
	if _, stderr, code := reprise(t, dir, "train", "-c", "run.yaml", "--out", "none", "--set", "data={source: {folder: {path: pictures}}}"); code != exitError || !strings.Contains(stderr, "pictures/train/") {
		t.Errorf("a damaged record without on_error: exit code %d\n%s", code, stderr)
	}
}

func TestResultsGoToStdoutAndProgressToStderr(t *testing.T) {
	dir := folder(t)
	stdout, stderr, code := reprise(t, dir, "train", "-c", "run.yaml", "--json")
	var s report.Summary
	if err := json.Unmarshal([]byte(stdout), &s); err != nil || code != 0 || s.Steps != 12 {
		t.Errorf("exit code %d, stdout %s, %v", code, stdout, err)
	}
	if !strings.Contains(stderr, "of 12 steps") || strings.Contains(stderr, "\x1b") {
		t.Errorf("stderr is %q", stderr)
	}
	for _, line := range strings.Split(stderr, "\n") {
		if len([]rune(line)) > 80 {
			t.Errorf("a line of %d columns: %s", len([]rune(line)), line)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "runs", "run", "summary.json")); err != nil {
		t.Errorf("the run is not in runs/NAME: %v", err)
	}

	stdout, _, code = reprise(t, dir, "eval", "runs/run", "--json")
	var parts []struct {
		Part    string
		Error   float64
		Classes []struct{ Class string }
	}
	if err := json.Unmarshal([]byte(stdout), &parts); err != nil || code != 0 || len(parts) != 2 || parts[0].Error != *s.BestValError || len(parts[0].Classes) != 2 {
		t.Errorf("eval: exit code %d, stdout %s, %v", code, stdout, err)
	}
	same, _, code := reprise(t, dir, "eval", "runs/run/best.safetensors", "-c", "run.yaml", "--json")
	if code != 0 || same != stdout {
		t.Errorf("the file of weights evaluates as %s, the run as %s", same, stdout)
	}
	if text, _, code := reprise(t, dir, "eval", "runs/run"); code != 0 || !strings.Contains(text, "most often taken for") {
		t.Errorf("eval prints %s", text)
	}

	stdout, _, code = reprise(t, dir, "compare", "-c", "run.yaml", "--strategies", "none,example", "--factor", "2,3.5", "--target", "val_error<=1", "--json")
	var table struct {
		Rows []struct{ Runs []report.Summary }
	}
	if err := json.Unmarshal([]byte(stdout), &table); err != nil || code != 0 || len(table.Rows) != 3 {
		t.Errorf("compare: exit code %d, stdout %s, %v", code, stdout, err)
	}
	if text, _, code := reprise(t, dir, "compare", "-c", "run.yaml", "--strategies", "none,example", "--factor", "2,3.5", "--target", "val_error<=1"); code != 0 || !strings.Contains(text, "fresh examples") {
		t.Errorf("compare prints %s", text)
	}
	if text, _, code := reprise(t, dir, "explain", "run.yaml", "--strategy", "batch"); code != 0 || !strings.Contains(text, "═══ echo ×2") {
		t.Errorf("explain prints %s", text)
	}
}

func TestASpecIsWrittenCheckedAndPrinted(t *testing.T) {
	dir := folder(t)
	if out, stderr, code := reprise(t, dir, "config", "init", "-o", "new.yaml"); code != 0 || !strings.Contains(out, "new.yaml") {
		t.Errorf("config init: %d, %s, %s", code, out, stderr)
	}
	if _, stderr, code := reprise(t, dir, "config", "init", "-o", "new.yaml"); code != 1 || !strings.Contains(stderr, "exists already") {
		t.Errorf("config init over a file: %d, %s", code, stderr)
	}
	if _, stderr, code := reprise(t, dir, "config", "check", "new.yaml"); code != 2 || !strings.Contains(stderr, "photos") {
		t.Errorf("config check of a spec whose pictures are missing: %d, %s", code, stderr)
	}
	if out, stderr, code := reprise(t, dir, "config", "check", "run.yaml"); code != 0 || !strings.Contains(out, "good") {
		t.Errorf("config check: %d, %s, %s", code, out, stderr)
	}
	printed, _, code := reprise(t, dir, "config", "print", "run.yaml", "--seed", "5")
	if code != 0 || !strings.Contains(printed, "seed: 5") {
		t.Errorf("config print: %d, %s", code, printed)
	}
	if err := os.WriteFile(filepath.Join(dir, "printed.yaml"), []byte(printed), 0o644); err != nil {
		t.Fatal(err)
	}
	if again, stderr, code := reprise(t, dir, "config", "print", "printed.yaml"); code != 0 || again != printed {
		t.Errorf("a printed spec prints as %s, %s", again, stderr)
	}
}

func TestSignalsEndARunCleanly(t *testing.T) {
	for _, signal := range []os.Signal{syscall.SIGINT, syscall.SIGTERM} {
		dir := folder(t)
		cmd := program(t, dir, "train", "-c", "run.yaml", "--set", "stop.max_steps=1e9", "--set", "log.every=1 steps", "--set", "storage.simulate.latency=2ms")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		metrics := filepath.Join(dir, "runs", "run", "metrics.jsonl")
		for begun := time.Now(); ; time.Sleep(5 * time.Millisecond) {
			if lines, _ := report.ReadMetrics(metrics); len(lines) > 2 {
				break
			}
			if time.Since(begun) > 20*time.Second {
				t.Fatal("the run does not begin")
			}
		}
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
			t.Errorf("%v: exit code %d", signal, code)
		}
		if s, err := report.ReadSummary(filepath.Dir(metrics)); err != nil || s.Status != report.Interrupted {
			t.Errorf("%v: summary.json holds %+v, %v", signal, s, err)
		}
	}
}
