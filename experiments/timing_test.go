package experiments

import (
	"context"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/echo"
	"github.com/reprise-ml/reprise/train"
)

// sleeper is a step that takes a time and does nothing.
type sleeper time.Duration

func (s sleeper) Step(data.Batch, train.Progress) (train.Stats, error) {
	time.Sleep(time.Duration(s))
	return train.Stats{}, nil
}

// The paper's equation 1: with stages that overlap, a batch of fresh data takes max(t_upstream, e·t_downstream), e
// being the factor that came about. What waits in the buffers when the watch is started and stopped blurs it by a
// batch, however long the time between.
func TestTimePerFreshExampleIsThatOfTheSlowerSide(t *testing.T) {
	const batch, step, from, to = 8, 10 * time.Millisecond, 64, 320
	for _, strategy := range []echo.Strategy{echo.Read, echo.Example, echo.Augmentation, echo.Batch} {
		for _, ratio := range []float64{0.5, 1, 2, 4, 8} {
			for _, factor := range []echo.Factor{1, 1.5, 2, 4, 8} {
				t.Run(fmt.Sprintf("%s ×%v at R %g", strategy, factor, ratio), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						l, r := newLab(512)
						each := time.Duration(ratio * float64(step) / batch)
						l.reads = func(context.Context, string, int) error { time.Sleep(each); return nil }
						s := parseWith(t, r, ofLab, "pipeline.shuffle=32", "pipeline.prefetch=1")
						s.Echo = echo.Spec{Strategy: strategy, Factor: factor}
						s, d, err := s.Open()
						if err != nil {
							t.Fatal(err)
						}
						var before train.Progress
						note := func(p train.Progress, _ data.Batch) error {
							if p.Steps == from {
								before = p
							}
							return nil
						}
						after, err := train.Run(t.Context(), train.Progress{}, sleeper(step), s.Pipeline(t.Context(), d.Train, nil, nil, Start{}),
							func(p train.Progress) bool { return p.Steps == to }, train.ObserverFunc(note))
						if err != nil {
							t.Fatal(err)
						}
						took := after.Elapsed - before.Elapsed
						upstream := time.Duration(after.Reads-before.Reads) * each
						downstream := time.Duration(after.Steps-before.Steps) * step
						slack := max(step, batch*each)
						if model := max(upstream, downstream); took < downstream || math.Abs(float64(took-model)) > float64(slack) {
							t.Errorf("%v, want %v: %d reads and %d steps", took, model, after.Reads-before.Reads, after.Steps-before.Steps)
						}
						if e := float64(after.Examples-before.Examples) / float64(after.Reads-before.Reads); math.Abs(e/float64(factor)-1) > 0.1 {
							t.Errorf("the factor came out as %g", e)
						}
					})
				})
			}
		}
	}
}
