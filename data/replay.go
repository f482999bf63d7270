package data

import (
	"fmt"
	"iter"
	"slices"
)

// Replay is how far a pipeline had got when a number of batches had been
// taken from it. Streams hide their state, so a pipeline goes on from there by
// running again, with little to do: what it read before passes as hollow
// examples, which have an Origin and nothing else, but for the reads of which
// a use is still to come, which are made again. The order comes out as it was,
// for it depends on origins alone.
//
// The zero Replay is that of a pipeline nothing was taken from: all its
// methods leave their stream as it is.
type Replay struct {
	Batches int64              // taken from the pipeline
	Reads   int64              // 1 + the highest Origin.Read that had got to the shuffle buffer
	Held    map[int64]struct{} // reads, by Origin.Read below Reads, of which a use was to come
	Skipped map[int64]struct{} // reads of damaged records, which got nowhere
	Ends    *Endings           // of the streams, where these are read: the ends before Reads, to which later ones are added; nil: nobody keeps them
}

// Missing yields the reads of order that have to be made: those held, and
// those from Reads on.
func (r Replay) Missing(order Seq[Origin]) Seq[Origin] {
	if r.Reads == 0 {
		return order
	}
	return func(yield func(Origin, error) bool) {
		for o, err := range order {
			if err == nil && r.hollow(o.Read) {
				continue
			}
			if !yield(o, err) {
				return
			}
		}
	}
}

// Strict is faults for the reads from Reads on. A record that was good when it
// was read before, and is not when it is read again, ends the stream.
func (r Replay) Strict(faults Faults) Faults {
	if r.Reads == 0 {
		return faults
	}
	return func(o Origin, err error) error {
		if o.Read < r.Reads {
			return fmt.Errorf("data: record %d was good before the run was resumed: %w", o.Index, err)
		}
		if faults == nil {
			return fmt.Errorf("data: record %d: %w", o.Index, err)
		}
		return faults(o, err)
	}
}

// Hollow yields the hollow examples, in the order of their reads. Their
// Origin has no Index.
func (r Replay) Hollow() Seq[Example] {
	return func(yield func(Example, error) bool) {
		for read := range r.Reads {
			if _, skipped := r.Skipped[read]; skipped || !r.hollow(read) {
				continue
			}
			if !yield(Example{Origin: Origin{Read: read}}, nil) {
				return
			}
		}
	}
}

// Refill puts the hollow examples in their places among those that were made;
// both have been echoed.
func (r Replay) Refill(made, hollow Seq[Example]) Seq[Example] {
	if r.Reads == 0 {
		return made
	}
	return func(yield func(Example, error) bool) {
		next, stop := iter.Pull2(hollow)
		defer stop()
		h, herr, more := next()
		for e, err := range made {
			for err == nil && more && (herr != nil || h.Origin.Read < e.Origin.Read) {
				if !yield(h, herr) || herr != nil {
					return
				}
				h, herr, more = next()
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// Form is form, but of groups with hollow examples it makes batches that have
// nothing but their origins.
func (r Replay) Form(form func(group []Example) (Batch, error)) func(group []Example) (Batch, error) {
	if r.Reads == 0 {
		return form
	}
	return func(group []Example) (Batch, error) {
		if !slices.ContainsFunc(group, func(e Example) bool { return r.hollow(e.Origin.Read) }) {
			return form(group)
		}
		b := Batch{Origins: make([]Origin, len(group))}
		for i, e := range group {
			b.Origins[i] = e.Origin
			b.Reads = max(b.Reads, e.Reads)
		}
		return b, nil
	}
}

// Hollow reports whether b has nothing but its origins; see [Replay].
func (b Batch) Hollow() bool { return len(b.Inputs) == 0 }

// From yields what follows the batches that were taken.
func (r Replay) From(batches Seq[Batch]) Seq[Batch] {
	if r.Batches == 0 {
		return batches
	}
	return func(yield func(Batch, error) bool) {
		taken := int64(0)
		for b, err := range batches {
			if taken++; err == nil && taken <= r.Batches {
				continue
			}
			if !yield(b, err) {
				return
			}
		}
	}
}

// hollow reports whether nothing of a read is used any more.
func (r Replay) hollow(read int64) bool {
	if read >= r.Reads {
		return false
	}
	_, held := r.Held[read]
	return !held
}
