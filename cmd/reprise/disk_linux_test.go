package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A limit on the size of files fails writes in their middle, as a full disk
// does, and can be set for a process that runs: here weights have room, and the
// buffers of the optimizer have not.
func TestAFullDiskEndsARunWithItsLastGoodCheckpointIntact(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "run.yaml"), []byte(resumable), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := reprise(t, dir, "train", "run.yaml", "-q", "--out", "whole"); code != 0 {
		t.Fatal(stderr)
	}
	cmd := program(t, dir, "train", "run.yaml", "-q", "--out", "broken")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	wait(t, func() bool {
		held, _ := filepath.Glob(filepath.Join(dir, "broken", "checkpoints", "step-*"))
		return len(held) > 0
	})
	if err := unix.Prlimit(cmd.Process.Pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 100_000, Max: unix.RLIM_INFINITY}, nil); err != nil {
		t.Skipf("no limit can be set: %v", err)
	}
	cmd.Wait()
	if code, text := cmd.ProcessState.ExitCode(), errs.String(); code != exitError || !strings.Contains(text, "checkpoint of step ") || !strings.Contains(text, "optimizer.safetensors: file too large") || strings.Count(text, "file too large") != 1 || strings.Contains(text, "goroutine ") {
		t.Errorf("exit code %d; stderr:\n%s", code, text)
	}
	held, err := os.ReadDir(filepath.Join(dir, "broken", "checkpoints"))
	if err != nil || len(held) == 0 || slices.ContainsFunc(held, func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), ".") }) {
		t.Errorf("the checkpoints are %v, %v", held, err)
	}
	if _, stderr, code := reprise(t, dir, "train", "-q", "--resume", "broken"); code != 0 || strings.Contains(stderr, "passed over") || !strings.Contains(stderr, "resuming broken after step") {
		t.Errorf("with room again: exit code %d; stderr:\n%s", code, stderr)
	}
	same(t, dir)
}
