package experiments

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strconv"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/optim"
	"github.com/reprise-ml/reprise/train"
	"github.com/reprise-ml/reprise/train/report"
)

// The files of weights in a run directory.
const (
	BestWeights  = "best.safetensors"  // those of the best validation score: the least error, of text the least loss
	FinalWeights = "final.safetensors" // those of the end
)

// note is the observer of every step.
func (r *Run) note(p train.Progress, b data.Batch) error {
	r.losses += p.Last.Loss
	if r.reuse != nil {
		r.reuse.Follow(p.Steps, b)
	}
	if r.ema != nil {
		if err := r.ema.Update(vectors(r.learner)); err != nil {
			return err
		}
	}
	if r.Progress != nil {
		r.Progress.Update(r.position(p), p)
	}
	return nil
}

// position is how far the run is on the way to the limit that Total counts.
func (r *Run) position(p train.Progress) int64 {
	if r.Progress.Unit == string(Steps) {
		return p.Steps
	}
	return p.Fresh
}

// measure sets what the progress is shown as a part of: the limit in steps
// where there is one, and the one in fresh examples elsewhere.
func (r *Run) measure() {
	if r.Progress == nil {
		return
	}
	fresh, steps := r.limits()
	if r.Progress.Total, r.Progress.Unit = steps, string(Steps); steps == math.MaxInt64 {
		r.Progress.Total, r.Progress.Unit = fresh, "fresh examples"
	}
}

// logTraining writes a line of training and begins the next stretch.
func (r *Run) logTraining(p train.Progress, _ data.Batch) error {
	l := r.line(report.KindTrain, p)
	steps := float64(p.Steps - r.since.Steps)
	examples := float64(p.Examples - r.since.Examples)
	l.Loss = pointer(r.losses / steps)
	l.LR = pointer(p.Last.Rate)
	l.GradNorm = pointer(p.Last.GradNorm)
	if fresh := p.Fresh - r.since.Fresh; fresh > 0 {
		l.EchoFactor = pointer(examples / float64(fresh))
	}
	l.DuplicateShare = pointer(float64(p.Duplicates-r.since.Duplicates) / examples)
	now := r.scale.read(p)
	l.Rates = r.rates(r.weighed, now, r.used)
	r.weighed, r.used = now, r.uses()
	r.since, r.losses = p, 0
	return r.metrics.Write(l)
}

// line is a line with the books of p.
func (r *Run) line(kind string, p train.Progress) report.Line {
	l := report.Line{
		Kind: kind, Step: p.Steps, Examples: p.Examples, FreshExamples: p.Fresh, Reads: p.Reads,
		WallSeconds: p.Elapsed.Seconds(), WaitSeconds: p.Wait.Seconds(), StepSeconds: p.Compute.Seconds(), CPUSeconds: p.CPU.Seconds(),
	}
	if n := r.data.Train.Len(); n != data.Endless {
		l.Epoch = pointer(float64(p.Fresh) / float64(n))
	}
	return l
}

func pointer[T any](v T) *T { return &v }

// judge evaluates on the validation data. The simulated storage stands still
// meanwhile.
func (r *Run) judge(ctx context.Context, p train.Progress) error {
	r.storage.Pause()
	defer r.storage.Resume()
	r.meter.Pause()
	defer r.meter.Resume()
	r.judged, r.owed = p.Steps, true
	return r.averaged(func() error {
		found, err := r.evaluate(ctx, "validation", r.data.Validation)
		if err != nil {
			return err
		}
		r.owed = false
		if math.IsNaN(found.Loss) || math.IsInf(found.Loss, 0) {
			return train.Diverged{Step: p.Steps, What: fmt.Sprintf("the loss of the validation data is %g", found.Loss)}
		}
		l := r.line(report.KindEval, p)
		l.ValLoss, l.ValError, l.ValPerplexity = &found.Loss, found.Error, found.Perplexity
		if err := r.metrics.Write(l); err != nil {
			return err
		}
		if r.Progress != nil {
			r.Progress.Evaluated(p, found)
		}
		s := &r.summary
		s.FinalValLoss, s.FinalValError, s.FinalValPerplexity = &found.Loss, found.Error, found.Perplexity
		if s.BestValLoss == nil || found.Loss < *s.BestValLoss {
			s.BestValLoss, s.BestValPerplexity = &found.Loss, found.Perplexity
		}
		if found.Error != nil && (s.BestValError == nil || *found.Error < *s.BestValError) {
			s.BestValError = found.Error
		}
		if s.BestStep == nil || found.Main() < r.best {
			r.best, s.BestStep = found.Main(), pointer(p.Steps)
			if err := r.save(BestWeights, p); err != nil {
				return err
			}
		}
		if !r.reached && r.Spec.Stop.Target.Reached(found) {
			r.reached = true
			s.FreshToTarget, s.ReadsToTarget = pointer(p.Fresh), pointer(p.Reads)
			s.ExamplesToTarget, s.StepsToTarget = pointer(p.Examples), pointer(p.Steps)
			s.WallToTarget, s.CPUToTarget = pointer(p.Elapsed.Seconds()), pointer(p.CPU.Seconds())
		}
		return nil
	})
}

// averaged calls f while the model holds the average of its weights, where
// there is one.
func (r *Run) averaged(f func() error) error {
	if r.ema == nil {
		return f()
	}
	if err := r.ema.Swap(vectors(r.learner)); err != nil {
		return err
	}
	err := f()
	return errors.Join(err, r.ema.Swap(vectors(r.learner)))
}

// vectors returns weights and running statistics as package optim takes them.
func vectors(l *train.Learner) []optim.Vector {
	var v []optim.Vector
	for p := range l.Params.All() {
		v = append(v, optim.Vector{Name: p.Name, Data: p.Value.Float32s()})
	}
	return v
}

func (r *Run) evaluate(ctx context.Context, part string, src data.Source) (report.Scores, error) {
	e, err := r.learner.Evaluate(ctx, r.Spec.Once(ctx, src, r.handler(part, src)), nil)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("evaluating on data.%s: %w", part, err)
	}
	return r.scores(e), err
}

// scores are those that count for the data of r.
func (r *Run) scores(e train.Evaluation) report.Scores {
	if r.shape.Text() {
		return report.OfText(e.Loss)
	}
	return report.OfClasses(e.Loss, e.Metrics[train.ErrorName])
}

func (r *Run) save(name string, p train.Progress) error {
	return train.Save(filepath.Join(r.Dir, name), &r.learner.Params, map[string]string{
		"format": "pt",
		"run":    r.Spec.Name,
		"step":   strconv.FormatInt(p.Steps, 10),
	})
}

// end writes what is written at the end of a run that got to p and ended
// with err.
func (r *Run) end(ctx context.Context, p train.Progress, err error) (report.Summary, error) {
	errs := []error{err} // in one list, so that a caller sees whether there is more than the end itself
	if ctx.Err() != nil && (r.whole == p.Steps || r.owed) {
		errs = append(errs, r.keep(p)) // of the moment before the lines below
	}
	if p.Steps > r.since.Steps {
		errs = append(errs, r.logTraining(p, data.Batch{}))
	}
	errs = append(errs, r.noteSchedule(), r.averaged(func() error { return r.save(FinalWeights, p) }))
	if errors.Join(errs...) == nil {
		errs = append(errs, r.test(ctx, p))
	}
	err = errors.Join(errs...)
	s := &r.summary
	s.Status = r.status(ctx, err)
	if err != nil && s.Status != report.Interrupted {
		s.Error = err.Error()
	}
	s.Steps, s.Examples, s.FreshExamples, s.Reads = p.Steps, p.Examples, p.Fresh, p.Reads
	if p.Fresh > 0 {
		s.EchoFactor = float64(p.Examples) / float64(p.Fresh)
	}
	s.FillSeconds, s.WallSeconds, s.WaitSeconds = p.Fill.Seconds(), p.Elapsed.Seconds(), p.Wait.Seconds()
	s.StepSeconds, s.CPUSeconds = p.Compute.Seconds(), p.CPU.Seconds()
	s.Rates = r.rates(r.opening, r.scale.read(p), train.Uses{})
	if p.Steps > 0 {
		s.FinalLoss = &p.Last.Loss
	}
	s.PeakRSS = peakRSS()
	s.BadReads, s.BadRecords = r.faults.counts(p.Reads)
	s.Turned = r.turned.among(p.Reads)
	return *s, errors.Join(append(errs, report.WriteSummary(r.Dir, *s))...)
}

// status says how a run ended that ended with err.
func (r *Run) status(ctx context.Context, err error) report.Status {
	var diverged train.Diverged
	switch {
	case errors.As(err, &diverged):
		return report.Diverging
	case err != nil && ctx.Err() != nil:
		return report.Interrupted
	case err != nil:
		return report.Failed
	case r.reached:
		return report.TargetMet
	case r.Spec.Stop.Target.IsZero():
		return report.Done
	}
	return report.Budget
}

// test evaluates the best weights on the test data. The model holds them
// from then on.
func (r *Run) test(ctx context.Context, p train.Progress) error {
	if r.data.Test == nil {
		return nil
	}
	if err := train.Load(filepath.Join(r.Dir, BestWeights), &r.learner.Params); err != nil {
		return err
	}
	found, err := r.evaluate(ctx, "test", r.data.Test)
	if err != nil {
		return err
	}
	s, l := &r.summary, r.line(report.KindTest, p)
	s.TestLoss, s.TestError, s.TestPerplexity = &found.Loss, found.Error, found.Perplexity
	l.TestLoss, l.TestError, l.TestPerplexity = &found.Loss, found.Error, found.Perplexity
	return r.metrics.Write(l)
}
