package experiments

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/reprise-ml/reprise/echo"
	"github.com/reprise-ml/reprise/train"
)

// Files of a run with an automatic factor.
const (
	scheduleFile = "schedule.rle" // the choices it made
	replayFile   = "replay.rle"   // those it was told to make first
)

// ReadSchedule reads the choices that an automatic factor made from a
// schedule.rle.
func ReadSchedule(path string) ([]echo.Choices, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("schedule: %w", err)
	}
	defer f.Close()
	choices, err := echo.ReadSchedule(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return choices, nil
}

// writeSchedule writes choices to a file of the run.
func (r *Run) writeSchedule(name string, choices []echo.Choices) error {
	return train.WriteFile(filepath.Join(r.Dir, name), func(w io.Writer) error { return echo.WriteSchedule(w, choices) })
}

// noteSchedule writes down the choices made so far.
func (r *Run) noteSchedule() error {
	if r.Spec.Echo.Factor != echo.Auto {
		return nil
	}
	return r.writeSchedule(scheduleFile, r.schedule.Choices())
}

// plan settles the choices that the automatic factor begins with: those of
// Schedule, or, where the run goes on, those made before.
func (r *Run) plan(made []echo.Choices) (err error) {
	r.choices = made
	if made == nil && r.Schedule != nil {
		r.choices = r.Schedule
		return r.writeSchedule(replayFile, r.Schedule)
	}
	if told := filepath.Join(r.Dir, replayFile); made != nil && exists(told) {
		r.choices, err = ReadSchedule(told)
	}
	return err
}
