package experiments

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reprise-ml/reprise/data/synth"
)

// synthFolder writes a small synthetic data set and returns its directory.
func synthFolder(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "shapes")
	s := Synth{Config: synth.Config{Classes: 2, Size: 16, Examples: 12}, Held: 4}
	if n, err := s.WriteFolder(t.Context(), dir); err != nil || n != 20 {
		t.Fatalf("wrote %d files: %v", n, err)
	}
	return dir
}

func detect(t *testing.T, path string) Choice[Source] {
	t.Helper()
	c, err := DefaultRegistry().Detect(path)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func clean(t *testing.T, path string) bool {
	t.Helper()
	m, err := markOf(detect(t, path))
	if err != nil {
		t.Fatal(err)
	}
	return m != nil
}

func TestADataSetIsCleanFromItsVerificationUntilAFileChanges(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := synthFolder(t)
	if clean(t, dir) {
		t.Error("it is clean before it was verified")
	}
	verify := func(bad int) Verified {
		t.Helper()
		v, err := Verify(t.Context(), detect(t, dir), nil)
		if err != nil || len(v.Bad) != bad {
			t.Fatalf("got %+v, %v, want %d damaged records", v, err, bad)
		}
		if (v.Mark != "") != (bad == 0) {
			t.Errorf("with %d damaged records the mark is %q", bad, v.Mark)
		}
		return v
	}
	if v := verify(0); v.Source != "folder" || v.Records != 20 || v.Parts["train"] != 12 || filepath.Dir(v.Mark) != dir {
		t.Errorf("got %+v", v)
	}
	some, err := filepath.Glob(filepath.Join(dir, "train", "*", "00000005.jpg"))
	if err != nil || len(some) != 1 {
		t.Fatal(some, err)
	}
	good, err := os.ReadFile(some[0])
	if err != nil {
		t.Fatal(err)
	}
	added := filepath.Join(filepath.Dir(some[0]), "new.jpg")
	for _, c := range []struct {
		name   string
		change func() error
	}{
		{"another time", func() error { return os.Chtimes(some[0], time.Time{}, time.Unix(1e9, 0)) }},
		{"a new file", func() error { return os.WriteFile(added, good, 0o644) }},
		{"a missing file", func() error { return os.Remove(added) }},
		{"another name", func() error { return os.Rename(some[0], added) }},
		{"the name of before", func() error { return os.Rename(added, some[0]) }},
	} {
		if verify(0); !clean(t, dir) {
			t.Fatal("it is not clean after it was verified")
		}
		if err := c.change(); err != nil {
			t.Fatal(err)
		}
		if clean(t, dir) {
			t.Errorf("%s: it is clean still", c.name)
		}
	}
	if err := os.WriteFile(some[0], good[:len(good)/2], 0o644); err != nil {
		t.Fatal(err)
	}
	if v := verify(1); v.Bad[0].Name != some[0] || v.Bad[0].Part != "train" || v.Bad[0].Error == "" {
		t.Errorf("got %+v", v.Bad)
	}
	if clean(t, dir) || exists(filepath.Join(dir, markName)) {
		t.Error("a damaged data set is marked as clean")
	}
}

func TestTheMarkMovesWithTheDirectory(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := synthFolder(t)
	if _, err := Verify(t.Context(), detect(t, dir), nil); err != nil {
		t.Fatal(err)
	}
	moved := filepath.Join(t.TempDir(), "elsewhere")
	if err := os.Rename(dir, moved); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Dir(moved))
	for _, path := range []string{moved, "elsewhere", "./elsewhere", "elsewhere/"} {
		if !clean(t, path) {
			t.Errorf("a data set that was moved to %s is no longer clean", path)
		}
	}
}

func TestTheMarkOfAnArchiveIsInTheCache(t *testing.T) {
	root := os.Getenv("REPRISE_DATA")
	if root == "" {
		t.Skip("REPRISE_DATA names no directory of test data")
	}
	path := filepath.Join(root, "odd-jpeg.tar.gz")
	if _, err := os.Stat(path); err != nil {
		t.Skip(err)
	}
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	v, err := Verify(t.Context(), detect(t, path), nil)
	if err != nil || v.Source != "shards" || v.Records != 30 || len(v.Bad) != 17 || v.Mark != "" {
		t.Errorf("got %+v, %v", v, err)
	}
	c, err := coverage(detect(t, path))
	if err != nil {
		t.Fatal(err)
	}
	if places := marksOf(c.root); len(places) != 1 || !strings.HasPrefix(places[0], cache) {
		t.Errorf("the mark is written to %q", places)
	}
	mark, err := c.write(v.Parts, nil)
	if err != nil || !strings.HasPrefix(mark, cache) || !clean(t, path) {
		t.Errorf("the mark is %s, %v", mark, err)
	}
	if err := c.remove(); err != nil || clean(t, path) {
		t.Errorf("the mark is not removed: %v", err)
	}
}

func TestWhatIsNoDataSetIsRefusedWithEveryReason(t *testing.T) {
	_, err := DefaultRegistry().Detect(t.TempDir())
	for _, want := range []string{"is no data set", "no shards: ", "no folder: ", "no cifar: ", "no idx: "} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want one with %q", err, want)
		}
	}
	if _, err := DefaultRegistry().Detect(filepath.Join(t.TempDir(), "nowhere")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error is %v", err)
	}
	s := Synth{}
	if _, err := s.WriteFolder(t.Context(), t.TempDir()); err == nil {
		t.Error("an endless data set is written")
	}
	s.Examples = 5
	if _, err := s.WriteFolder(t.Context(), synthFolder(t)); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("error is %v", err)
	}
}

func TestAnEndlessDataSetIsNotVerified(t *testing.T) {
	c := Choice[Source]{"synth", &Synth{}}
	if _, err := Verify(t.Context(), c, nil); err == nil || !strings.Contains(err.Error(), "has no end") {
		t.Errorf("error is %v", err)
	}
	c = Choice[Source]{"synth", &Synth{Config: synth.Config{Examples: 8, Size: 8}, Held: 2}}
	told := 0
	v, err := Verify(t.Context(), c, func(done, total int) {
		if told++; done != told || total != 12 {
			t.Errorf("told %d of %d after %d", done, total, told)
		}
	})
	if err != nil || v.Records != 12 || v.Mark != "" || told != 12 {
		t.Errorf("got %+v, %v, told %d times", v, err, told)
	}
}
