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
	"time"

	"github.com/reprise-ml/reprise/internal/kernel"
)

// written are the files that a run writes to its directory.
var written = []string{
	"config.yaml", "meta.json", "metrics.jsonl", "metrics.csv", "summary.json", "errors.jsonl",
	BestWeights, FinalWeights,
}

// claim makes dir a directory that a run can write to. One that holds
// anything is refused; with force the files of an earlier run are removed.
func claim(dir string, force bool) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("run directory: %w", err)
	}
	held, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("run directory: %w", err)
	}
	for _, e := range held {
		if !force || !slices.Contains(written, e.Name()) {
			return fmt.Errorf("run directory: %s holds %s already; want another directory%s", dir, e.Name(),
				map[bool]string{false: " (--out), or --force to replace the run in it", true: ": that is no file of a run, and --force does not remove it"}[force])
		}
	}
	for _, e := range held {
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
			return fmt.Errorf("run directory: %w", err)
		}
	}
	probe, err := os.CreateTemp(dir, ".probe")
	if err != nil {
		return fmt.Errorf("run directory: cannot be written to: %w", err)
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
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
	Kernel   string            `json:"kernel"` // path of the compute kernels
	Modules  map[string]string `json:"modules"`
}

func newMeta(s Spec) Meta {
	m := Meta{
		Started: time.Now().UTC().Truncate(time.Second), Version: Version(), Go: runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH, Cores: runtime.NumCPU(), Threads: s.Train.ComputeThreads.number(),
		Kernel: kernel.ActivePath().String(), Modules: map[string]string{},
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
