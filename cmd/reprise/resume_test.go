//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"
)

// resumable is a run that keeps a checkpoint every few steps of some
// milliseconds each.
const resumable = `
data: {source: {synth: {plain: true, classes: 2, size: 8, examples: 64, held: 20}}}
input: {size: 8, augment: [flip, {pad_crop: {pad: 1}}], resize: []}
pipeline: {shuffle: 24, prefetch: 2}
storage: {simulate: {latency: 1ms, jitter: 1ms}}
model: {mlp: {hidden: [96]}}
train: {batch: 8, optimizer: adam, rate: {start: 0.003, schedule: cosine}, ema: {decay: 0.9}}
stop: {max_steps: 48}
evaluate: {every: 33 fresh}
log: {every: 1 steps}
checkpoint: {every: 4 steps}
`

// victim is a run that is killed and resumed, again and again, until it is
// what an unbroken run is.
type victim struct {
	t    *testing.T
	dir  string
	args []string
	r    *rand.Rand

	kills, writing, early int // so far; of them, during a checkpoint's write, and within two steps of the start
}

// start begins the run or goes on with it, with so many workers.
func (v *victim) start(workers int, extra ...string) *exec.Cmd {
	args := append([]string{"train", "run.yaml", "-q", "--out", "broken", "--resume", "auto"}, v.args...)
	args = append(args, "--set", fmt.Sprintf("pipeline.workers=%d", workers), "--set", fmt.Sprintf("pipeline.readers=%d", 1+workers%3),
		"--set", fmt.Sprintf("train.compute_threads=%d", 1+workers%2))
	cmd := program(v.t, v.dir, append(args, extra...)...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		v.t.Fatal(err)
	}
	v.t.Cleanup(func() { cmd.Process.Kill() })
	return cmd
}

// kill starts the run and kills it at the first moment that is seen; the
// process is stopped and looked at before, so that it is that moment. It
// reports false where the run ended first.
func (v *victim) kill(workers int, moment func() bool) bool {
	cmd := v.start(workers)
	dead := make(chan error, 1)
	go func() { dead <- cmd.Wait() }()
	for {
		select {
		case err := <-dead:
			if err != nil {
				v.t.Fatalf("the run ended by itself with %v: %s", err, cmd.Stderr)
			}
			return false
		default:
		}
		if !moment() {
			time.Sleep(100 * time.Microsecond)
			continue
		}
		if cmd.Process.Signal(syscall.SIGSTOP) != nil {
			continue
		}
		if moment() {
			cmd.Process.Kill()
			if err := <-dead; err == nil {
				return false
			}
			v.kills++
			return true
		}
		cmd.Process.Signal(syscall.SIGCONT)
	}
}

// again makes room for another run where this one had ended before it could be
// killed.
func (v *victim) again() {
	v.t.Helper()
	if _, err := os.Stat(filepath.Join(v.dir, "broken", "summary.json")); err != nil {
		return
	}
	same(v.t, v.dir)
	if err := os.RemoveAll(filepath.Join(v.dir, "broken")); err != nil {
		v.t.Fatal(err)
	}
}

// finish lets the run end.
func (v *victim) finish() {
	v.t.Helper()
	cmd := v.start(2)
	if err := cmd.Wait(); err != nil {
		v.t.Fatalf("the last part: %v: %s", err, cmd.Stderr)
	}
	same(v.t, v.dir)
}

// during is the moment of a checkpoint that is being written.
func (v *victim) during() bool {
	left, _ := filepath.Glob(filepath.Join(v.dir, "broken", "checkpoints", ".step-*.tmp"))
	return len(left) > 0
}

// within is the moment after the first step, and not after the second.
func (v *victim) within() bool {
	text, err := os.ReadFile(filepath.Join(v.dir, "broken", "metrics.jsonl"))
	n := bytes.Count(text, []byte("\n"))
	return err == nil && n >= 1 && n <= 2
}

// after is a moment some time after now.
func after(d time.Duration) func() bool {
	at := time.Now().Add(d)
	return func() bool {
		if left := time.Until(at); left > 0 {
			time.Sleep(min(left, time.Millisecond))
			return false
		}
		return true
	}
}

func TestARunThatIsKilledAtAnyMomentEndsAsIfItWereNot(t *testing.T) {
	strategies := []struct {
		early int // kills within two steps of the start
		args  []string
	}{
		{2, []string{"--strategy", "none"}},
		{0, []string{"--strategy", "read", "--factor", "2.5", "--set", "log.every=3 steps"}},
		{2, []string{"--strategy", "example", "--factor", "2.5"}},
		{0, []string{"--strategy", "augmentation", "--factor", "2", "--set", "log.every=5 steps"}},
		{2, []string{"--strategy", "batch", "--factor", "2.5", "--set", "echo.shuffle_batches=3"}},
	}
	kills, writing := 10, 3 // of each
	if testing.Short() {
		kills, writing = 3, 1
	}
	for i, s := range strategies {
		args := s.args
		t.Run(args[1], func(t *testing.T) {
			t.Parallel()
			v := &victim{t: t, dir: t.TempDir(), args: args, r: rand.New(rand.NewPCG(uint64(i), 0))}
			if err := os.WriteFile(filepath.Join(v.dir, "run.yaml"), []byte(resumable), 0o644); err != nil {
				t.Fatal(err)
			}
			if _, stderr, code := reprise(t, v.dir, append([]string{"train", "run.yaml", "-q", "--out", "whole"}, args...)...); code != 0 {
				t.Fatal(stderr)
			}
			for v.kills < kills {
				workers := 1 + v.r.IntN(6)
				switch {
				case v.early < s.early:
					if v.kill(workers, v.within) {
						v.early++
					}
				case v.writing < writing:
					if v.kill(workers, v.during) {
						v.writing++
					}
				default:
					v.kill(workers, after(time.Duration(v.r.IntN(120))*time.Millisecond))
				}
				v.again()
			}
			v.finish()
			t.Logf("%d kills: %d during the write of a checkpoint, %d within two steps of the start", v.kills, v.writing, v.early)
		})
	}
}

// same compares two runs in dir, one of which was broken.
func same(t *testing.T, dir string) {
	t.Helper()
	whole, broken := filepath.Join(dir, "whole"), filepath.Join(dir, "broken")
	for _, name := range []string{"best.safetensors", "final.safetensors", "errors.jsonl"} {
		if a, b := read(t, whole, name), read(t, broken, name); !bytes.Equal(a, b) {
			t.Errorf("%s is another one", name)
		}
	}
	if a, b := lines(t, whole), lines(t, broken); !reflect.DeepEqual(a, b) {
		t.Errorf("the metrics are\n%v\nwant\n%v", b, a)
	}
	if a, b := bytes.Count(read(t, whole, "metrics.csv"), []byte("\n")), bytes.Count(read(t, broken, "metrics.csv"), []byte("\n")); a != b {
		t.Errorf("metrics.csv has %d lines, want %d", b, a)
	}
	a, b := object(t, read(t, whole, "summary.json")), object(t, read(t, broken, "summary.json"))
	for _, key := range []string{"resumes", "resume_reads", "peak_rss_bytes", "predicted_rss_bytes", "worker_cores"} {
		delete(a, key)
		delete(b, key)
	}
	if !reflect.DeepEqual(a, b) {
		t.Errorf("the summary is\n%v\nwant\n%v", b, a)
	}
	left, err := filepath.Glob(filepath.Join(broken, ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("there are left %v, %v", left, err)
	}
}

func read(t *testing.T, dir, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// lines returns those of metrics.jsonl without what is measured by the clock.
func lines(t *testing.T, dir string) (out []map[string]any) {
	t.Helper()
	for _, line := range bytes.Split(bytes.TrimSpace(read(t, dir, "metrics.jsonl")), []byte("\n")) {
		out = append(out, object(t, line))
	}
	return out
}

// object reads JSON without what is measured by the clock.
func object(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	for key := range m {
		if strings.HasSuffix(key, "_seconds") || key == "t_up" || key == "t_down" || key == "r" || key == "utilisation" {
			delete(m, key)
		}
	}
	return m
}

// interrupted starts a run that has no end soon, and ends it by a signal after
// a few lines of metrics. It returns the arguments of the run.
func interrupted(t *testing.T, dir string) []string {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "run.yaml"), []byte(resumable), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{"train", "run.yaml", "-q", "--out", "broken"}
	cmd := program(t, dir, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	wait(t, func() bool {
		text, _ := os.ReadFile(filepath.Join(dir, "broken", "metrics.jsonl"))
		return bytes.Count(text, []byte("\n")) > 5
	})
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
		t.Fatalf("exit code %d", code)
	}
	return args
}

func wait(t *testing.T, until func() bool) {
	t.Helper()
	for begun := time.Now(); !until(); time.Sleep(time.Millisecond) {
		if time.Since(begun) > 20*time.Second {
			t.Fatal("it does not happen")
		}
	}
}

func steps(t *testing.T, dir string) (names []string) {
	t.Helper()
	held, err := filepath.Glob(filepath.Join(dir, "broken", "checkpoints", "step-*"))
	if err != nil || len(held) == 0 {
		t.Fatalf("there are no checkpoints, %v", err)
	}
	return held // sorted
}

func TestAnInterruptedRunGoesOnFromTheStepItGotTo(t *testing.T) {
	dir := t.TempDir()
	args := interrupted(t, dir)
	if _, stderr, code := reprise(t, dir, "train", "run.yaml", "-q", "--out", "whole"); code != 0 {
		t.Fatal(stderr)
	}
	summary := object(t, read(t, filepath.Join(dir, "broken"), "summary.json"))
	held := steps(t, dir)
	if last := held[len(held)-1]; !strings.HasSuffix(last, fmt.Sprintf("-%08.0f", summary["steps"])) {
		t.Errorf("the run got to step %v, the last checkpoint is %s", summary["steps"], last)
	}
	for _, c := range []struct {
		args   []string
		code   int
		stderr string
	}{
		{args, 1, "--resume to go on with it"},
		{[]string{"train", "--resume", "broken", "--set", "train.batch=16"}, 2, "train.batch is 16, and was 8"},
		{[]string{"train", "--resume", "broken", "--seed", "3", "--set", "pipeline.workers=3"}, 2, "of another spec: seed is 3, and was 0\n"},
		{append(args, "--resume", "auto", "--strategy", "example"), 2, "echo.strategy is example, and was none"},
		{append(args, "--resume", "auto", "--force"), 2, "resume"},
		{append(args, "--resume", "broken"), 2, "a spec of its own"},
		{[]string{"train", "--resume", "broken", "--out", "other"}, 2, "no --out"},
		{[]string{"train", "--resume", "whole/checkpoints"}, 1, "no run directory"},
	} {
		if _, stderr, code := reprise(t, dir, c.args...); code != c.code || !strings.Contains(stderr, c.stderr) {
			t.Errorf("%v: exit code %d, want %d; stderr:\n%s", c.args, code, c.code, stderr)
		}
	}
	stdout, stderr, code := reprise(t, dir, "train", "--resume", "broken", "-q", "--set", "pipeline={workers: 3, prefetch: 1}", "--set", "train.compute_threads=1", "--json")
	if code != 0 || !strings.Contains(stderr, "resuming broken after step") {
		t.Fatalf("exit code %d; stderr:\n%s", code, stderr)
	}
	same(t, dir)
	if s := object(t, []byte(stdout)); s["resumes"] != 1.0 || s["resume_reads"].(float64) < 20 || s["resume_reads"].(float64) > 31 { // the buffer of 24, and the batch in hand
		t.Errorf("%v resumes, %v resume_reads", s["resumes"], s["resume_reads"])
	}
	if _, stderr, code := reprise(t, dir, "train", "--resume", "broken"); code != 0 || !strings.Contains(stderr, "finished already") {
		t.Errorf("a finished run is resumed: exit code %d; stderr:\n%s", code, stderr)
	}
}

func TestARunThatMissedItsTargetKeepsItsExitCodeWhenItIsResumed(t *testing.T) {
	dir := folder(t)
	for _, args := range [][]string{
		{"train", "run.yaml", "-q", "--out", "budget", "--target", "val_loss<=1e-9", "--resume", "auto"},
		{"train", "-q", "--resume", "budget"},
	} {
		if _, stderr, code := reprise(t, dir, args...); code != exitBudget {
			t.Errorf("%v: exit code %d; stderr:\n%s", args, code, stderr)
		}
	}
	for _, args := range [][]string{
		{"train", "run.yaml", "-q", "--out", "diverged", "--set", "train.rate.start=1e15"},
		{"train", "-q", "--resume", "diverged"},
	} {
		if _, stderr, code := reprise(t, dir, args...); code != exitDiverged {
			t.Errorf("%v: exit code %d; stderr:\n%s", args, code, stderr)
		}
	}
}

func TestADamagedCheckpointIsPassedOverForTheOneBeforeIt(t *testing.T) {
	dir := t.TempDir()
	interrupted(t, dir)
	if _, stderr, code := reprise(t, dir, "train", "run.yaml", "-q", "--out", "whole"); code != 0 {
		t.Fatal(stderr)
	}
	held := steps(t, dir)
	if len(held) != 2 {
		t.Fatalf("the checkpoints are %v", held)
	}
	model := filepath.Join(held[1], "model.safetensors")
	text, err := os.ReadFile(model)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)-3] ^= 4
	if err := os.WriteFile(model, text, 0o644); err != nil {
		t.Fatal(err)
	}
	_, stderr, code := reprise(t, dir, "train", "-q", "--resume", "broken")
	if code != 0 || !strings.Contains(stderr, "is damaged, and is passed over") || !strings.Contains(stderr, filepath.Base(held[1])) || !strings.Contains(stderr, "checksum") {
		t.Errorf("exit code %d; stderr:\n%s", code, stderr)
	}
	same(t, dir)
}

func TestWithoutAGoodCheckpointARunBeginsAnew(t *testing.T) {
	dir := t.TempDir()
	interrupted(t, dir)
	if _, stderr, code := reprise(t, dir, "train", "run.yaml", "-q", "--out", "whole"); code != 0 {
		t.Fatal(stderr)
	}
	for _, folder := range steps(t, dir) {
		if err := os.Truncate(filepath.Join(folder, "state.json"), 100); err != nil {
			t.Fatal(err)
		}
	}
	_, stderr, code := reprise(t, dir, "train", "-q", "--resume", "broken")
	if code != 0 || strings.Count(stderr, "passed over") != 2 || !strings.Contains(stderr, "begins anew") {
		t.Errorf("exit code %d; stderr:\n%s", code, stderr)
	}
	same(t, dir)
}

func TestTwoTrainersCannotShareARunDirectory(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "run.yaml"), []byte(resumable), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{"train", "run.yaml", "-q", "--out", "broken", "--set", "stop.max_steps=1e9"}
	first := program(t, dir, args...)
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	defer first.Process.Kill()
	wait(t, func() bool {
		held, _ := filepath.Glob(filepath.Join(dir, "broken", "checkpoints", "step-*"))
		return len(held) > 0
	})
	for _, more := range [][]string{nil, {"--force"}, {"--resume", "auto"}} {
		_, stderr, code := reprise(t, dir, append(args, more...)...)
		if want := fmt.Sprintf("broken is being trained in by process %d", first.Process.Pid); code != 1 || !strings.Contains(stderr, want) {
			t.Errorf("%v: exit code %d, want %q; stderr:\n%s", more, code, want, stderr)
		}
	}
	first.Process.Kill()
	first.Wait()
	if _, stderr, code := reprise(t, dir, "train", "-q", "run.yaml", "--out", "broken", "--force"); code != 0 {
		t.Errorf("the lock of a dead process holds: exit code %d; stderr:\n%s", code, stderr)
	}
}
