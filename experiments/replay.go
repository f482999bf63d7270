package experiments

import (
	"context"
	"fmt"
	"slices"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/echo"
)

// Start is where a pipeline begins.
type Start struct {
	data.Replay
	Choices []echo.Choices // of an automatic factor, that are made again before it makes its own
	Record  *echo.Schedule // takes down the choices of an automatic factor; nil: nobody does

	Passed func(step int64, b data.Batch) // is told of the batches that were taken before; nil: nobody is
}

// tell passes on batches, of which the first ones were taken before.
func (at Start) tell(batches data.Seq[data.Batch]) data.Seq[data.Batch] {
	if at.Batches == 0 || at.Passed == nil {
		return batches
	}
	return func(yield func(data.Batch, error) bool) {
		step := int64(0)
		for b, err := range batches {
			if step++; err == nil && step <= at.Batches {
				at.Passed(step, b)
			}
			if !yield(b, err) {
				return
			}
		}
	}
}

// Replay finds out how far [Spec.Pipeline] has got when the first k batches
// have been taken from it; choices are those of an automatic factor up to then, or beyond. It runs the stages that make the order over
// origins, without a record, some three million reads a second: src and s are
// those of the pipeline, skipped are its damaged reads, ends those of its streams up to then, or beyond,
// and nothing else is needed to know what the buffers hold.
func (s Spec) Replay(ctx context.Context, src data.Source, k int64, skipped map[int64]struct{}, choices []echo.Choices, ends []data.Ending) (data.Replay, error) {
	at := data.Replay{Batches: k, Held: map[int64]struct{}{}, Skipped: skipped}
	taken := int64(0)
	uses := map[int64]int{}    // of a read, to come
	copies := map[int64]int{}  // of a batch, to come, by its Ordinal
	release := func(r int64) { // ends a use of a read
		if uses[r]--; uses[r] == 0 {
			delete(uses, r)
		}
	}
	finish := func(b data.Batch) { // ends a use of a batch
		if copies[b.Ordinal]--; copies[b.Ordinal] > 0 {
			return
		}
		delete(copies, b.Ordinal)
		for _, o := range b.Origins {
			release(o.Read)
		}
	}
	e := s.echoes(Start{Choices: choices}, nil)
	auto := s.Echo.Factor == echo.Auto

	// A read counts as used while it is being echoed. The batch after the last
	// is asked for too, up to the point where that takes a further read: then
	// every stage is done with what it can be done with.
	reads := func(yield func(data.Origin, error) bool) {
		for o, err := range s.order(src, ends) {
			if err != nil {
				yield(o, err)
				return
			}
			if _, damaged := skipped[o.Read]; damaged {
				continue
			}
			if taken == k {
				return
			}
			at.Reads = o.Read + 1
			uses[o.Read]++
			if !yield(o, nil) {
				return
			}
			if !auto || s.Echo.Strategy == echo.Batch {
				release(o.Read)
			}
		}
	}
	entering := func(yield func(data.Origin, error) bool) {
		for o, err := range inReplay(reads, e, func(o data.Origin) { release(o.Read) }, echo.Read, echo.Example, echo.Augmentation) {
			if err == nil {
				uses[o.Read]++
			}
			if !yield(o, err) {
				return
			}
		}
	}
	formed := int64(0)
	form := func(group []data.Origin) (data.Batch, error) {
		b := data.Batch{Origins: slices.Clone(group)}
		copies[formed] = 1 // until it is echoed, by an automatic factor
		if f := s.Echo.At(echo.Batch); f != echo.Auto {
			copies[formed] = f.Times(b.Rand(e.Seed))
		}
		formed++
		return b, ctx.Err()
	}
	origins := data.Shuffle(entering, s.Stages.Shuffle.Items, s.stage("shuffle"))
	formedBatches := data.Batches(origins, s.Train.Batch, form)
	batches := func(yield func(data.Batch, error) bool) {
		for b, err := range inReplay(formedBatches, e, finish, echo.Batch) {
			if auto && err == nil && s.Echo.Strategy == echo.Batch {
				copies[b.Ordinal]++
			}
			if !yield(b, err) {
				return
			}
		}
	}
	for b, err := range data.Shuffle(batches, s.Echo.ShuffleBatches, s.stage("shuffle batches")) {
		if err != nil {
			return data.Replay{}, err
		}
		if taken == k {
			if auto { // what it does next, time will tell
				break
			}
			continue
		}
		taken++
		finish(b)
	}
	if taken < k {
		return data.Replay{}, fmt.Errorf("the schedule of the automatic factor ends after %d of %d batches", taken, k)
	}
	for r := range uses {
		at.Held[r] = struct{}{}
	}
	at.Ends = data.NewEndings(ends, at.Reads)
	return at, nil
}

// inReplay is in, echoed at those of the places that are the Spec's, where the choices of an automatic factor
// are known; forget is told of an item that such a factor lets go of.
func inReplay[T echo.Item[T]](in data.Seq[T], e echoes, forget func(T), places ...echo.Strategy) data.Seq[T] {
	for _, place := range places {
		switch f := e.Spec.At(place); f {
		case echo.Auto:
			a := e.Automatic
			a.Max = e.Max
			in = echo.Replayed(in, a, forget)
		default:
			in = echo.Repeat(in, f, e.Seed)
		}
	}
	return in
}
