package experiments

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/data/storage"
	"github.com/reprise-ml/reprise/echo"
	"github.com/reprise-ml/reprise/train"
)

// calibrate sets the bandwidth of the simulated storage so that the upstream
// takes storage.upstream_ratio times as long for a batch as the step. The
// outcome stands in config.yaml, so that every further run, which finds the
// bandwidth set, has the same storage. An upstream that is slower by itself
// is an error that names its ratio.
func (r *Run) calibrate(ctx context.Context) (Spec, error) {
	s := r.Spec
	ratio := s.Storage.UpstreamRatio
	if ratio == 0 || s.Storage.Measured == ratio {
		return s, nil
	}
	if s.Storage.Measured != 0 { // for another ratio
		s.Storage.Simulate.Bandwidth, s.Storage.Measured = 0, 0
	}
	if s.Storage.Simulate.Bandwidth > 0 {
		return s, SpecError{errors.New("storage.upstream_ratio: sets storage.simulate.bandwidth, which is set already; want one of the two")}
	}
	r.Notice(fmt.Sprintf("measuring the step and the pipeline, to make storage slow enough for R = %g", ratio))
	const warm, steps = 2, 8
	batch, up, size, err := r.timeUpstream(ctx, s, steps)
	if err != nil {
		return s, err
	}
	down, err := r.timeStep(batch, warm, steps)
	if err != nil {
		return s, err
	}
	if natural := up.Seconds() / down.Seconds(); natural > ratio {
		return s, SpecError{fmt.Errorf("storage.upstream_ratio: is %g, and this pipeline has R = %.2f already (%v for a batch of fresh data, %v for a step); want more, or a larger model",
			ratio, natural, up.Round(time.Microsecond), down.Round(time.Microsecond))}
	}
	want := ratio * down.Seconds()
	bandwidth := float64(size) / want
	if bandwidth < 1 {
		return s, SpecError{fmt.Errorf("storage.upstream_ratio: is %g, for which storage would deliver less than a byte a second", ratio)}
	}
	s.Storage.Simulate.Bandwidth, s.Storage.Measured = bandwidth, ratio
	r.Notice(fmt.Sprintf("a step takes %v; storage delivers a batch of fresh data in %.4g s: %.4g bytes/s", down.Round(time.Microsecond), want, s.Storage.Simulate.Bandwidth))
	return s, nil
}

// timeUpstream returns a batch, the median time in which the pipeline makes
// one of fresh data as fast as it can, and the bytes read for one.
func (r *Run) timeUpstream(ctx context.Context, s Spec, n int) (batch data.Batch, each time.Duration, size int, err error) {
	s.Echo = echo.Spec{}
	s.Stages.Shuffle = Buffer{Items: 1}
	s.Stages.Prefetch = Buffer{Items: 1}
	sizes := make(chan int, 1)
	sizes <- 0
	reads := 0
	store, err := storage.New(s.Storage.Simulate)
	if err != nil {
		return data.Batch{}, 0, 0, err
	}
	counting := func(read data.Reader) data.Reader {
		read = store.Reader(read)
		return func(ctx context.Context, o data.Origin) (data.Example, error) {
			e, err := read(ctx, o)
			if err == nil {
				total := <-sizes
				reads++
				sizes <- total + e.Input.Size()
			}
			return e, err
		}
	}
	var times []time.Duration
	last := time.Now()
	for b, err := range s.Pipeline(ctx, r.data.Train, counting, s.bearing(r.data.Train), Start{}) {
		if err != nil {
			return data.Batch{}, 0, 0, fmt.Errorf("storage.upstream_ratio: measuring the pipeline: %w", err)
		}
		now := time.Now()
		times = append(times, now.Sub(last))
		last, batch = now, b
		if len(times) == n {
			break
		}
	}
	return batch, median(times), <-sizes * s.Train.Batch / reads, nil
}

// timeStep returns the median time of a step on a batch, and leaves no trace
// of the steps in the model.
func (r *Run) timeStep(b data.Batch, warm, n int) (time.Duration, error) {
	weights := r.learner.Params.Export()
	trained := r.learner.Optimizer
	defer func() { r.learner.Optimizer = trained }()
	r.learner.Optimizer = newOptimizer(r.Spec.Train.Optimizer.Value, r.learner.Build.Pool)
	var times []time.Duration
	for i := range warm + n {
		start := time.Now()
		if _, err := r.learner.Step(b, train.Progress{}); err != nil {
			return 0, fmt.Errorf("storage.upstream_ratio: measuring the step: %w", err)
		}
		if i >= warm {
			times = append(times, time.Since(start))
		}
	}
	return median(times), r.learner.Params.Import(weights)
}
