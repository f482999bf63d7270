package experiments

import (
	"context"

	"github.com/reprise-ml/reprise/data"
)

// mix is the stage that mixes the rows of batches, where the Spec asks for it
// on that side of the batch echo: before it copies are equal, after it each
// is drawn anew, of pictures that the copies share.
func (s Spec) mix(ctx context.Context, batches data.Seq[data.Batch], afterEcho bool) data.Seq[data.Batch] {
	if s.Input.Mix.IsZero() || s.Input.Mix.Redraw != afterEcho {
		return batches
	}
	return data.Map(ctx, batches, 1, data.Measured(ctx, data.StageMix, func(_ context.Context, b data.Batch) (data.Batch, error) {
		if b.Hollow() {
			return b, nil
		}
		return s.Input.Mix.Batch(b, b.Rand(s.stage("mix")))
	}))
}

// training makes a batch as training sees it, but for how much is mixed.
func (s Spec) training(group []data.Example) (data.Batch, error) {
	b, err := s.format().Batch(group)
	if err != nil || s.Input.Mix.IsZero() {
		return b, err
	}
	return s.Input.Mix.Batch(b, b.Rand(s.stage("mix")))
}
