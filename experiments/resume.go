package experiments

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/reprise-ml/reprise/internal/kernel"
	"github.com/reprise-ml/reprise/train"
	"github.com/reprise-ml/reprise/train/report"
)

// resumption is what a run goes on from: a checkpoint.
type resumption struct {
	checkpoint train.Checkpoint
	state      state
}

// Resume is one continuation of a run, as meta.json lists them.
type Resume struct {
	Time    time.Time `json:"time"`
	Step    int64     `json:"step"`  // of the checkpoint
	Reads   int       `json:"reads"` // of records that had been read before, to fill the buffers again
	Version string    `json:"version"`
	Kernel  string    `json:"kernel"`
	Threads int       `json:"compute_threads"`
}

// LoadConfig reads the Spec of a run directory.
func (r Registry) LoadConfig(dir string, sets ...string) (Spec, error) {
	config := filepath.Join(dir, "config.yaml")
	if !exists(config) {
		return Spec{}, fmt.Errorf("%s is no run directory: it has no config.yaml", dir)
	}
	s, err := r.Load(config, sets...)
	if err != nil {
		return s, SpecError{err}
	}
	return s, nil
}

// adopt makes sure that the Spec makes the run that Dir holds, if it holds
// one, and takes from it what was measured when it began.
func (r *Run) adopt() error {
	path := filepath.Join(r.Dir, "config.yaml")
	before, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("resuming: %w", err)
	}
	if r.Spec.Storage, err = r.Spec.Storage.measuredAs(before); err != nil {
		return fmt.Errorf("resuming: %s: %w", path, err)
	}
	now, err := r.Spec.text()
	if err != nil {
		return err
	}
	if err := sameRun(now, before); err != nil {
		return SpecError{fmt.Errorf("resuming %s: it is a run of another spec: %w", r.Dir, err)}
	}
	return nil
}

// measuredAs returns s with the bandwidth that another Spec, given as YAML,
// has for the same ratio.
func (s StorageSpec) measuredAs(text []byte) (StorageSpec, error) {
	var earlier struct {
		Storage StorageSpec `yaml:"storage"`
	}
	if err := yaml.Unmarshal(text, &earlier); err != nil {
		return s, err
	}
	if s.UpstreamRatio > 0 && s.UpstreamRatio == earlier.Storage.Measured && s.Measured == 0 {
		s = earlier.Storage
	}
	return s, nil
}

// find looks for what the run can go on from. Without a checkpoint it begins
// anew, in place of what it had written.
func (r *Run) find() error {
	if !exists(filepath.Join(r.Dir, "meta.json")) { // the first file of a run, and the last that is removed
		return nil
	}
	c, s, ok, err := r.latest()
	if err != nil {
		return fmt.Errorf("resuming: %w", err)
	}
	if !ok {
		r.Notice(fmt.Sprintf("%s holds no checkpoint to go on from: the run begins anew", r.Dir))
		r.Force = true
		return nil
	}
	if now := kernel.ActivePath().String(); s.Kernel != now {
		r.Notice(fmt.Sprintf("the run was made by the %s kernels, and goes on with the %s ones: its last bits will be others", s.Kernel, now))
	}
	r.Notice(fmt.Sprintf("resuming %s after step %d", r.Dir, c.Step))
	r.from = &resumption{c, s}
	return nil
}

// proceed opens the files of the run, and makes them and everything else what
// they were at the checkpoint.
func (r *Run) proceed(ctx context.Context) (err error) {
	s := r.from.state
	if r.at, err = r.Spec.Replay(ctx, r.data.Train, s.Progress.Steps, s.Faults.skipped(), s.Schedule, s.Ends); err != nil {
		return fmt.Errorf("resuming: %w", err)
	}
	if err := r.restore(r.from.checkpoint, s); err != nil {
		return fmt.Errorf("resuming: %w", err)
	}
	if err := r.plan(s.Schedule); err != nil {
		return fmt.Errorf("resuming: %w", err)
	}
	if err := cleaned(r.Dir); err != nil {
		return fmt.Errorf("resuming: %w", err)
	}
	if err := r.noteResume(); err != nil {
		return fmt.Errorf("resuming: %w", err)
	}
	if r.faults, err = openFaults(r.Dir, r.Spec.Data.MaxBad); err != nil {
		return err
	}
	if err = r.faults.restore(s.Faults, r.at.Reads); err == nil {
		r.metrics, err = report.ContinueMetrics(r.Dir, s.Lines)
	}
	if err != nil {
		r.faults.Close()
	}
	r.from = nil // its tensors are not needed any more
	return err
}

// cleaned removes from a run directory what a killed process left half
// written, and the summary: the run has not ended.
func cleaned(dir string) error {
	held, err := os.ReadDir(dir)
	for _, e := range held {
		if isTemporary(e.Name()) || e.Name() == "summary.json" {
			err = errors.Join(err, os.Remove(filepath.Join(dir, e.Name())))
		}
	}
	return err
}

// noteResume adds this continuation to meta.json, and counts them all in the
// summary.
func (r *Run) noteResume() error {
	path := filepath.Join(r.Dir, "meta.json")
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var m Meta
	if err := json.Unmarshal(text, &m); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	m.Resumes = append(m.Resumes, Resume{
		Time: time.Now().UTC().Truncate(time.Second), Step: r.from.checkpoint.Step, Reads: len(r.at.Held),
		Version: Version(), Kernel: kernel.ActivePath().String(), Threads: r.Spec.Train.ComputeThreads.number(),
	})
	r.summary.Resumes, r.summary.ResumeReads = len(m.Resumes), 0
	for _, one := range m.Resumes {
		r.summary.ResumeReads += int64(one.Reads)
	}
	return report.WriteJSON(path, m)
}
