package experiments

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/reprise-ml/reprise/internal/kernel"
	"github.com/reprise-ml/reprise/train"
)

// written are the files that a run writes to its directory.
var written = []string{
	"config.yaml", "meta.json", "metrics.jsonl", "metrics.csv", "summary.json", "errors.jsonl",
	BestWeights, FinalWeights,
}

// claimable reports what keeps a run from being written to dir: anything in
// it, but for hidden files of others. With force, the files of an earlier run
// do not count; they are returned.
func claimable(dir string, force bool) (earlier []string, err error) {
	held, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("run directory: %w", err)
	}
	isRun := slices.ContainsFunc(held, func(e fs.DirEntry) bool { return e.Name() == "meta.json" })
	for _, e := range held {
		name := e.Name()
		own := slices.Contains(written, name) || name == checkpointsDir
		switch {
		case isTemporary(name), own && isRun && force:
			earlier = append(earlier, filepath.Join(dir, name))
		case name[0] == '.', name == lockFile:
		case own && isRun:
			return nil, fmt.Errorf("run directory: %s holds a run already; want another directory (--out), --force to replace it, or --resume to go on with it", dir)
		default:
			return nil, fmt.Errorf("run directory: %s holds %s, which is no file of a run and is not removed; want another directory (--out)", dir, name)
		}
	}
	return earlier, nil
}

// isTemporary reports whether a file is one that a killed run left half
// written: see train.WriteFile.
func isTemporary(name string) bool {
	for _, w := range written {
		if strings.HasPrefix(name, "."+w+".") && strings.HasSuffix(name, ".tmp") {
			return true
		}
	}
	return strings.HasPrefix(name, ".probe")
}

// claim makes dir a directory that a run can write to, locked for this
// process, and removes what claimable returns. lock is the lock on it, where
// this process has it already.
func claim(dir string, force bool, lock *os.File) (*os.File, error) {
	if _, err := claimable(dir, force); err != nil {
		return lock, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return lock, fmt.Errorf("run directory: %w", err)
	}
	probe, err := os.CreateTemp(dir, ".probe")
	if err != nil {
		return lock, fmt.Errorf("run directory: cannot be written to: %w", err)
	}
	probe.Close()
	if lock == nil {
		if lock, err = lockRun(dir, true); err != nil {
			os.Remove(probe.Name())
			return nil, err
		}
	}
	earlier, err := claimable(dir, force) // again: now nobody else writes
	if err != nil {
		return lock, err
	}
	slices.SortStableFunc(earlier, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
	for _, path := range earlier {
		if filepath.Base(path) == checkpointsDir {
			err = removeCheckpoints(path)
		} else {
			err = os.Remove(path)
		}
		if err != nil {
			return lock, fmt.Errorf("run directory: %w", err)
		}
	}
	return lock, nil
}

// rank is 1 for meta.json and 0 for what is removed before it: without it, what
// is left would be nobody's.
func rank(path string) int {
	if filepath.Base(path) == "meta.json" {
		return 1
	}
	return 0
}

// removeCheckpoints removes a folder of checkpoints, in which nothing else may
// be.
func removeCheckpoints(dir string) error {
	held, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range held {
		if !(train.Checkpoints{}).Owns(e.Name()) {
			return fmt.Errorf("%s holds %s, which is no checkpoint and is not removed; want another directory (--out)", dir, e.Name())
		}
	}
	return os.RemoveAll(dir)
}

// exists reports whether there is a file at path.
func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// Meta is the content of meta.json: what a run was made with. Equal bits are
// promised for an equal Kernel only.
type Meta struct {
	Started  time.Time         `json:"started"`
	Version  string            `json:"version"` // of Reprise
	Go       string            `json:"go"`
	Platform string            `json:"platform"`
	Cores    int               `json:"cores"`
	Threads  int               `json:"compute_threads"`
	Kernel   string            `json:"kernel"`  // path of the compute kernels
	Classes  []string          `json:"classes"` // in the order of the outputs
	Modules  map[string]string `json:"modules"`
	Resumes  []Resume          `json:"resumes,omitempty"`
}

func newMeta(s Spec, classes []string) Meta {
	m := Meta{
		Started: time.Now().UTC().Truncate(time.Second), Version: Version(), Go: runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH, Cores: runtime.NumCPU(), Threads: s.Train.ComputeThreads.number(),
		Kernel: kernel.ActivePath().String(), Classes: classes, Modules: map[string]string{},
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if slices.Contains([]string{"gorgonia.org/gorgonia", "gorgonia.org/tensor"}, d.Path) {
				m.Modules[d.Path] = d.Version
			}
		}
	}
	return m
}

// Version is the version of Reprise, with the commit where the build knows
// it.
func Version() string {
	const release = "0.1.0"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return release
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return release + "+" + s.Value[:12]
		}
	}
	return release
}
