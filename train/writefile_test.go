package train

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func writeText(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

func TestWriteFileReplacesAtomicallyAndLeavesNothingBehind(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "model")
	if err := WriteFile(path, writeText("good")); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	err := WriteFile(path, func(w io.Writer) error {
		io.WriteString(w, "half")
		return broken
	})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), path) {
		t.Errorf("a failure is told as %v", err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "good" {
		t.Errorf("after a failure the file holds %q, %v", text, err)
	}
	occupied := filepath.Join(folder, "occupied")
	if err := os.MkdirAll(filepath.Join(occupied, "x"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(occupied, writeText("")); err == nil { // fails at the rename
		t.Error("a folder was replaced")
	}
	if err := WriteFile(filepath.Join(folder, "missing", "x"), writeText("")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing folder gives %v", err)
	}
	if err := WriteFile(folder+string(filepath.Separator), writeText("")); err == nil {
		t.Error("a path without a file name was accepted")
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if !slices.Equal(names, []string{"model", "occupied"}) {
		t.Errorf("the folder holds %v", names)
	}
}

func TestWriteFilePassesOverAStaleTemporaryFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m")
	stale, err := createBeside(path)
	if err != nil {
		t.Fatal(err)
	}
	stale.Close()
	if err := WriteFile(path, writeText("x")); err != nil {
		t.Error(err)
	}
}
