package experiments

import (
	"context"
	"time"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/train"
)

// Pace is how fast something goes.
type Pace struct {
	Seconds float64 `json:"seconds"`     // for a batch
	CPU     float64 `json:"cpu_seconds"` // of the processors, for a batch; 0 where the system does not tell
}

// over is the pace of a batch of so many items.
func (p Pace) over(items int) Pace { return Pace{p.Seconds * float64(items), p.CPU * float64(items)} }

// mostItems are enough to measure anything by.
const mostItems = 10_000

// paceOf runs a stream for a time, and for at least one item after the first
// skip ones, which fill the stages. It returns the pace of an item, and how
// many came.
func paceOf[T any](in data.Seq[T], d time.Duration, skip int) (p Pace, items int, err error) {
	var begun time.Time
	var cpu time.Duration
	for _, err := range in {
		if err != nil {
			return Pace{}, 0, err
		}
		items++
		switch n := items - 1 - skip; {
		case n < 0:
		case n == 0:
			begun, cpu = time.Now(), train.CPUTime()
		case time.Since(begun) >= d || n >= mostItems:
			return Pace{time.Since(begun).Seconds() / float64(n), (train.CPUTime() - cpu).Seconds() / float64(n)}, items, nil
		}
	}
	return Pace{}, items, nil
}

// again yields examples over and over, as a new read each time.
func again(examples []data.Example) data.Seq[data.Example] {
	return func(yield func(data.Example, error) bool) {
		for read := int64(0); ; read++ {
			e := examples[read%int64(len(examples))]
			e.Origin.Read = read
			if !yield(e, nil) {
				return
			}
		}
	}
}

// first yields the first n items of in, over and over.
func first[T any](in data.Seq[T], n int) data.Seq[T] {
	return func(yield func(T, error) bool) {
		for {
			left := n
			for x, err := range in {
				if !yield(x, err) || err != nil {
					return
				}
				if left--; left == 0 {
					break
				}
			}
		}
	}
}

// hold takes up to n examples of in, at least one and no more than memory
// bytes of them.
func hold(in data.Seq[data.Example], n int, memory int) ([]data.Example, error) {
	var held []data.Example
	for e, err := range in {
		if err != nil {
			return nil, err
		}
		held = append(held, e)
		if memory -= e.Size(); len(held) == n || memory <= 0 {
			break
		}
	}
	return held, nil
}

// stepPace is the pace of steps on batches, for a time.
func stepPace(ctx context.Context, l *train.Learner, batches []data.Batch, d time.Duration) (Pace, error) {
	var p train.Progress
	steps := func(yield func(struct{}, error) bool) {
		for {
			err := ctx.Err()
			if err == nil {
				_, err = l.Step(batches[p.Steps%int64(len(batches))], p)
			}
			p.Steps++
			if !yield(struct{}{}, err) {
				return
			}
		}
	}
	pace, _, err := paceOf(steps, d, 2)
	return pace, err
}
