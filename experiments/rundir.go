package experiments

import (
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
		switch own := slices.Contains(written, name); {
		case isTemporary(name), own && isRun && force:
			earlier = append(earlier, filepath.Join(dir, name))
		case name[0] == '.':
		case own && isRun:
			return nil, fmt.Errorf("run directory: %s holds a run already; want another directory (--out), or --force to replace it", dir)
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

// claim makes dir a directory that a run can write to, and removes what
// claimable returns.
func claim(dir string, force bool) error {
	earlier, err := claimable(dir, force)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("run directory: %w", err)
	}
	probe, err := os.CreateTemp(dir, ".probe")
	if err != nil {
		return fmt.Errorf("run directory: cannot be written to: %w", err)
	}
	for _, path := range append(earlier, probe.Name()) {
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("run directory: %w", err)
		}
	}
	return probe.Close()
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
