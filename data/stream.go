package data

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
)

// recordBits is how many bits of the Index of an [Origin] number the record
// within its stream; those above number the stream.
const recordBits = 40

// Stream is Shards that are read interleaved, as a [Source] without end. Its
// Read finds a record by reading the stream that holds it from there on: it is
// for a sample and for the few records that somebody has to see again.
// Training reads by [Interleave].
type Stream struct {
	Shards
	Cycle int // streams that are read at once, and in turn; below 1 means 1
}

// Len implements [Source].
func (s Stream) Len() int { return Endless }

// Read implements [Source]: i is shard<<40 | record.
func (s Stream) Read(ctx context.Context, i int) (Example, error) {
	shard, record := i>>recordBits, int64(i&(1<<recordBits-1))
	if i < 0 || shard >= s.Shards.Shards() {
		return Example{}, fmt.Errorf("data: there is no stream %d of %d", shard, s.Shards.Shards())
	}
	for e, err := range s.Open(ctx, shard, record) {
		return e, err
	}
	return Example{}, fmt.Errorf("data: there is no record %d in stream %d", record, shard)
}

// Name implements [Named].
func (s Stream) Name(i int) string {
	if n, ok := s.Shards.(interface{ Name(i int) string }); ok {
		return n.Name(i)
	}
	return fmt.Sprintf("record %d of stream %d", i&(1<<recordBits-1), i>>recordBits)
}

// ahead is how many records of each stream are made before they are asked
// for.
const ahead = 16

// Interleave yields the records of all streams of s, pass after pass without
// end: of s.Cycle streams at once it yields a record each in turn; one that
// ends makes room for the next. Every pass has each record once, and the
// streams in an order that depends on seed and the pass, or in that of s where
// ordering is Sequential. Neither the machine nor its load changes the order.
//
// Each stream that is open is read on a goroutine of its own, a few records
// ahead. What follows a fault in a stream is lost to the pass, where faults
// bears it.
func Interleave(ctx context.Context, s Stream, ordering Ordering, seed uint64, faults Faults) Seq[Example] {
	n := s.Shards.Shards()
	if n < 1 || n > math.MaxInt>>recordBits {
		return Fail[Example](fmt.Errorf("data: there are %d streams, want 1 to %d", n, math.MaxInt>>recordBits))
	}
	if faults == nil {
		faults = func(o Origin, err error) error { return fmt.Errorf("data: %s: %w", s.Name(o.Index), err) }
	}
	return func(yield func(Example, error) bool) {
		in := interleaving{ctx: ctx, s: s, faults: faults}
		defer in.close()
		order, stop := iter.Pull2(Order(n, ordering, seed))
		defer stop()
		for {
			before := in.yielded
			for range n {
				shard, err, ok := order()
				if !ok || err != nil {
					yield(Example{}, errors.Join(err, ctx.Err()))
					return
				}
				in.open(shard.Index)
				if len(in.streams) >= max(s.Cycle, 1) && !in.turn(max(s.Cycle, 1)-1, yield) {
					return
				}
			}
			if !in.turn(0, yield) {
				return
			}
			if in.yielded == before {
				yield(Example{}, errors.New("data: the streams hold no records"))
				return
			}
		}
	}
}

// interleaving is the state of [Interleave].
type interleaving struct {
	ctx     context.Context
	s       Stream
	faults  Faults
	streams []*stream // open
	at      int       // whose turn it is
	reads   int64
	yielded int64
}

// stream is one that is open.
type stream struct {
	index int // of its next record
	next  func() (Example, error, bool)
	stop  func()
}

func (in *interleaving) open(shard int) {
	next, stop := iter.Pull2(Prefetch(in.s.Open(in.ctx, shard, 0), ahead))
	in.streams = append(in.streams, &stream{shard << recordBits, next, stop})
}

func (in *interleaving) close() {
	for _, s := range in.streams {
		s.stop()
	}
	in.streams = nil
}

// turn yields records, one stream after the other, until no more than left
// streams are open. It reports whether to go on.
func (in *interleaving) turn(left int, yield func(Example, error) bool) bool {
	meter := meterOf(in.ctx)
	for len(in.streams) > left {
		s := in.streams[in.at]
		end := meter.time(StageRead)
		e, err, ok := s.next()
		end()
		if !ok {
			in.drop()
			continue
		}
		o := Origin{Index: s.index, Read: in.reads}
		in.reads++
		s.index++
		if err != nil {
			in.drop()
			if in.ctx.Err() != nil {
				err = in.ctx.Err()
			} else {
				err = in.faults(o, err)
			}
			if err != nil {
				yield(Example{}, err)
				return false
			}
			continue
		}
		e.Origin = o
		in.yielded++
		in.at = (in.at + 1) % len(in.streams)
		if !yield(e, nil) {
			return false
		}
	}
	return true
}

// drop closes the stream whose turn it is; the next has the turn then.
func (in *interleaving) drop() {
	in.streams[in.at].stop()
	in.streams = append(in.streams[:in.at], in.streams[in.at+1:]...)
	if in.at >= len(in.streams) {
		in.at = 0
	}
}
