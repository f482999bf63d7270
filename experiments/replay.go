package experiments

import (
	"context"
	"slices"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/echo"
)

// Replay finds out how far [Spec.Pipeline] has got when the first k batches
// have been taken from it. It runs the stages that make the order over
// origins, without a record, some three million reads a second: n and s are
// those of the pipeline, skipped are its damaged reads, and nothing else is needed to
// know what the buffers hold.
func (s Spec) Replay(ctx context.Context, n int, k int64, skipped map[int64]struct{}) (data.Replay, error) {
	at := data.Replay{Batches: k, Held: map[int64]struct{}{}, Skipped: skipped}
	taken := int64(0)
	uses := map[int64]int{}    // of a read, to come
	copies := map[int64]int{}  // of a batch, to come, by its Ordinal
	release := func(r int64) { // ends a use of a read
		if uses[r]--; uses[r] == 0 {
			delete(uses, r)
		}
	}

	// A read counts as used while it is being echoed. The batch after the last
	// is asked for too, up to the point where that takes a further read: then
	// every stage is done with what it can be done with.
	reads := func(yield func(data.Origin, error) bool) {
		for o, err := range data.Order(n, s.Data.Order, s.stage("order")) {
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
			release(o.Read)
		}
	}
	entering := func(yield func(data.Origin, error) bool) {
		for o, err := range echoed(s, reads) {
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
		copies[formed] = s.Echo.At(echo.Batch).Times(b.Rand(s.stage("echo")))
		formed++
		return b, ctx.Err()
	}
	origins := data.Shuffle(entering, s.Stages.Shuffle.Items, s.stage("shuffle"))
	batches := data.Batches(origins, s.Train.Batch, form)
	batches = echo.Repeat(batches, s.Echo.At(echo.Batch), s.stage("echo"))
	for b, err := range data.Shuffle(batches, s.Echo.ShuffleBatches, s.stage("shuffle batches")) {
		if err != nil {
			return data.Replay{}, err
		}
		if taken == k {
			continue
		}
		taken++
		if copies[b.Ordinal]--; copies[b.Ordinal] > 0 {
			continue
		}
		delete(copies, b.Ordinal)
		for _, o := range b.Origins {
			release(o.Read)
		}
	}
	for r := range uses {
		at.Held[r] = struct{}{}
	}
	return at, nil
}

// echoed is in after all the echoes before the shuffle.
func echoed[T echo.Item[T]](s Spec, in data.Seq[T]) data.Seq[T] {
	for _, place := range []echo.Strategy{echo.Read, echo.Example, echo.Augmentation} {
		in = echo.Repeat(in, s.Echo.At(place), s.stage("echo"))
	}
	return in
}
