package experiments

import (
	"cmp"
	"context"
	"slices"
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
func paceOf[T any](in data.Seq[T], d time.Duration, skip int) (Pace, int, error) {
	paces, items, err := pacesOf(in, d, skip, 1)
	if len(paces) == 0 {
		return Pace{}, items, err
	}
	return paces[0], items, err
}

// bestPace is the fastest of a few stretches of paceOf: of what only computes,
// the one that other processes disturb the least.
func bestPace[T any](in data.Seq[T], d time.Duration, skip int) (Pace, error) {
	const stretches = 5
	paces, _, err := pacesOf(in, d, skip, stretches)
	if err != nil {
		return Pace{}, err
	}
	return slices.MinFunc(paces, func(a, b Pace) int { return cmp.Compare(a.Seconds, b.Seconds) }), nil
}

// pacesOf is the pace of each of so many stretches of equal time; there are
// fewer where the stream ends.
func pacesOf[T any](in data.Seq[T], d time.Duration, skip, stretches int) (paces []Pace, items int, err error) {
	var begun time.Time
	var cpu time.Duration
	n := -1 - skip // of the stretch
	for _, err := range in {
		if err != nil {
			return nil, items, err
		}
		items++
		if n++; n < 0 || n > 0 && n < mostItems/stretches && time.Since(begun) < d/time.Duration(stretches) {
			continue
		}
		if n > 0 {
			paces = append(paces, Pace{time.Since(begun).Seconds() / float64(n), (train.CPUTime() - cpu).Seconds() / float64(n)})
		}
		if len(paces) == stretches {
			break
		}
		begun, cpu, n = time.Now(), train.CPUTime(), 0
	}
	return paces, items, nil
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
	return bestPace(steps, d, 2)
}
