package experiments

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/echo"
	"github.com/reprise-ml/reprise/internal/kernel"
	"github.com/reprise-ml/reprise/nn"
	"github.com/reprise-ml/reprise/optim"
	"github.com/reprise-ml/reprise/train"
	"github.com/reprise-ml/reprise/train/report"
)

// checkpointsDir is the folder of the checkpoints in a run directory.
const checkpointsDir = "checkpoints"

// state is what a checkpoint keeps beside weights and buffers. There is no
// position of the data in it: the number of batches taken is that of the
// steps, and the rest follows from it and from where streams ended; see
// [Spec.Replay].
type state struct {
	Spec    string `json:"spec"`    // fingerprint of config.yaml
	Kernel  string `json:"kernel"`  // path that the bits are of
	Records int    `json:"records"` // of the training data
	Streams int    `json:"streams,omitempty"`

	Progress   train.Progress   `json:"progress"`
	Since      train.Progress   `json:"since"`  // at the last line of training
	Losses     float64          `json:"losses"` // since then
	Uses       train.Uses       `json:"uses"`   // of reads
	Used       train.Uses       `json:"used"`   // likewise, at the last line of training
	Judged     int64            `json:"judged"` // steps at the last evaluation
	Owed       bool             `json:"owed"`   // that evaluation was broken off, and is to be made again
	Best       float64          `json:"best"`   // main score of the best weights
	Divergence train.Divergence `json:"divergence"`
	Faults     faultState       `json:"faults"`
	Turned     map[int]int64    `json:"turned"`             // pictures that EXIF turns, by number: the read that met it
	Lines      int              `json:"lines"`              // of metrics.jsonl
	Summary    report.Summary   `json:"summary"`            // best values and the target, so far
	Schedule   []echo.Choices   `json:"schedule,omitempty"` // of an automatic factor, up to the step or beyond
	Ends       []data.Ending    `json:"ends,omitempty"`     // of streams, up to the step or beyond
}

func (r *Run) checkpoints() train.Checkpoints {
	return train.Checkpoints{Dir: filepath.Join(r.Dir, checkpointsDir), Keep: r.Spec.Checkpoint.Keep}
}

// keep writes a checkpoint of the moment after the step of p and all that
// follows it. The simulated storage stands still meanwhile.
func (r *Run) keep(p train.Progress) error {
	if r.Spec.Checkpoint.Keep == 0 || p.Steps == r.kept { // at 0 steps there is nothing to keep
		return nil
	}
	r.storage.Pause()
	defer r.storage.Resume()
	r.meter.Pause()
	defer r.meter.Resume()
	if err := r.metrics.Sync(); err != nil {
		return err
	}
	if err := r.noteSchedule(); err != nil {
		return err
	}
	spec, err := r.Spec.fingerprint()
	if err != nil {
		return err
	}
	err = r.checkpoints().Save(train.Checkpoint{
		Step:      p.Steps,
		Model:     r.learner.Params.Export(),
		Optimizer: r.buffers(),
		State: state{
			Spec: spec, Kernel: kernel.ActivePath().String(), Records: r.data.Train.Len(), Streams: countStreams(r.data.Train),
			Progress: p, Since: r.since, Losses: r.losses, Uses: r.uses(), Used: r.used, Judged: r.judged, Owed: r.owed,
			Best: r.best, Divergence: r.divergence, Faults: r.faults.state(), Turned: r.turned.state(), Lines: r.metrics.Lines(), Summary: r.summary, Schedule: r.schedule.Choices(), Ends: r.at.Ends.List(),
		},
	})
	if err == nil {
		r.kept = p.Steps
	}
	return err
}

// The prefixes of the buffers in a checkpoint.
const (
	ofOptimizer = "optimizer."
	ofEMA       = "ema."
)

// buffers returns those of the optimizer and of the average of the weights.
func (r *Run) buffers() []nn.Tensor {
	var out []nn.Tensor
	add := func(prefix string, vectors []optim.Vector) {
		for _, v := range vectors {
			out = append(out, nn.Tensor{Name: prefix + v.Name, Shape: []int{len(v.Data)}, Data: v.Data})
		}
	}
	add(ofOptimizer, r.optimizer().State())
	if r.ema != nil {
		add(ofEMA, r.ema.State())
	}
	return out
}

func (r *Run) optimizer() Optimizer { return r.learner.Optimizer.(Optimizer) }

// restore makes the model, the optimizer and the books those of a checkpoint.
func (r *Run) restore(c train.Checkpoint, s state) error {
	if err := r.learner.Params.Import(c.Model); err != nil {
		return err
	}
	part := func(prefix string) (vectors []optim.Vector) {
		for _, t := range c.Optimizer {
			if name, ok := strings.CutPrefix(t.Name, prefix); ok {
				vectors = append(vectors, optim.Vector{Name: name, Data: t.Data})
			}
		}
		return vectors
	}
	if err := r.optimizer().SetState(part(ofOptimizer)); err != nil {
		return err
	}
	if r.ema != nil {
		if err := r.ema.SetState(part(ofEMA)); err != nil {
			return err
		}
	}
	r.begun, r.since, r.losses, r.judged, r.owed = s.Progress, s.Since, s.Losses, s.Judged, s.Owed
	r.reused, r.used = s.Uses, s.Used
	r.divergence, r.summary, r.kept, r.whole = s.Divergence, s.Summary, c.Step, c.Step
	r.best, r.turned.first = s.Best, s.Turned
	r.reached = s.Summary.StepsToTarget != nil
	return nil
}

// latest returns the latest checkpoint that is good, and tells of those that
// are not; ok is false where there is none.
func (r *Run) latest() (c train.Checkpoint, s state, ok bool, err error) {
	steps, err := r.checkpoints().Steps()
	if err != nil {
		return c, s, false, err
	}
	spec, err := r.Spec.fingerprint()
	if err != nil {
		return c, s, false, err
	}
	for _, step := range steps {
		s = state{}
		c, err := r.checkpoints().Load(step, &s)
		if err == nil {
			err = report.CheckLines(filepath.Join(r.Dir, "metrics.jsonl"), s.Lines)
		}
		if err == nil && s.Summary.BestStep != nil && !exists(filepath.Join(r.Dir, BestWeights)) {
			err = fmt.Errorf("%s is missing", BestWeights)
		}
		if err != nil {
			r.Notice(fmt.Sprintf("the checkpoint of step %d is damaged, and is passed over: %v", step, err))
			continue
		}
		if s.Spec != spec {
			return c, s, false, fmt.Errorf("%s was changed since the checkpoint of step %d; want it as it was", filepath.Join(r.Dir, "config.yaml"), step)
		}
		if n := r.data.Train.Len(); s.Records != n {
			return c, s, false, fmt.Errorf("data.train: has %s, and had %s when the run began", countRecords(n), countRecords(s.Records))
		}
		if n := countStreams(r.data.Train); s.Streams != n {
			return c, s, false, fmt.Errorf("data.train: has %d streams, and had %d when the run began", n, s.Streams)
		}
		return c, s, true, nil
	}
	return c, s, false, nil
}

func countRecords(n int) string {
	if n == data.Endless {
		return "no end"
	}
	return fmt.Sprintf("%d records", n)
}

// countStreams returns the number of streams that src is, or 0.
func countStreams(src data.Source) int {
	if s, ok := src.(data.Stream); ok {
		return s.Shards.Shards()
	}
	return 0
}
