package data

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
)

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
	return Replay{}.Interleave(ctx, s, ordering, seed, faults)
}

// Interleave is [Interleave], but for the reads that need not be made. The
// streams that are open where the replay goes on, and those of which a read is
// held, are read from the first record that is needed; those of which nothing
// is needed are not opened.
func (r Replay) Interleave(ctx context.Context, s Stream, ordering Ordering, seed uint64, faults Faults) Seq[Example] {
	if faults == nil {
		faults = func(o Origin, err error) error { return fmt.Errorf("data: %s: %w", s.Name(o.Index), err) }
	}
	return func(yield func(Example, error) bool) {
		next := Measured(ctx, StageStreams, func(_ context.Context, st *stream) (pulled, error) {
			e, err, ok := st.next()
			st.at++
			return pulled{e, ok}, err
		})
		err := interleave(s, ordering, seed, r.Ends.List(), func(st *stream, o Origin) (turn, error) {
			if r.hollow(o.Read) {
				return taken, nil
			}
			err := st.seek(ctx, s)
			if err != nil {
				return 0, err
			}
			p, err := next(ctx, st)
			switch {
			case ctx.Err() != nil:
				return 0, ctx.Err()
			case !p.ok && o.Read < r.Reads:
				return 0, gone(s, o.Index, errEnded)
			case !p.ok:
				r.Ends.add(st.end(o.Read, false))
				return ended, nil
			case err != nil:
				if err = faults(o, err); err == nil {
					r.Ends.add(st.end(o.Read, true))
				}
				return damaged, err
			}
			p.example.Origin = o
			if !yield(p.example, nil) {
				return left, nil
			}
			return taken, nil
		})
		if err != nil {
			yield(Example{}, err)
		}
	}
}

// InterleavedOrder yields the origins of the examples that [Interleave] yields
// of s where the streams end as ends says, and makes none of these: one that
// ends later is as if it had no end.
func InterleavedOrder(s Stream, ordering Ordering, seed uint64, ends []Ending) Seq[Origin] {
	return func(yield func(Origin, error) bool) {
		err := interleave(s, ordering, seed, ends, func(_ *stream, o Origin) (turn, error) {
			if !yield(o, nil) {
				return left, nil
			}
			return taken, nil
		})
		if err != nil {
			yield(Origin{}, err)
		}
	}
}

// turn is what came of the turn of a stream.
type turn int

const (
	taken   turn = iota // a record
	ended               // nothing: it has no more
	damaged             // a record that cannot be read, after which the stream ends
	left                // nobody wants more
)

// interleave gives the streams of s their turns: take takes the record with
// an origin, until it has left or fails. Ends that are known are taken
// without it.
func interleave(s Stream, ordering Ordering, seed uint64, ends []Ending, take func(*stream, Origin) (turn, error)) error {
	n := s.Shards.Shards()
	if n < 1 || n > math.MaxInt>>recordBits {
		return fmt.Errorf("data: there are %d streams, want 1 to %d", n, math.MaxInt>>recordBits)
	}
	in := interleaving{ends: ends, take: take}
	defer in.close()
	order, stop := iter.Pull2(Order(n, ordering, seed))
	defer stop()
	for {
		before := in.taken
		for i := range n {
			shard, err, _ := order()
			if err != nil {
				return err
			}
			in.streams = append(in.streams, &stream{shard: shard.Index})
			most := max(s.Cycle, 1) - 1 // open ones, before the next is
			if i == n-1 {
				most = 0
			}
			if more, err := in.turns(most); !more || err != nil {
				return err
			}
		}
		if in.taken == before {
			return errors.New("data: the streams hold no records")
		}
	}
}

// interleaving is the state of [interleave].
type interleaving struct {
	ends    []Ending // that are known and to come
	take    func(*stream, Origin) (turn, error)
	streams []*stream // open
	at      int       // whose turn it is
	reads   int64
	taken   int64
}

func (in *interleaving) close() {
	for _, s := range in.streams {
		s.close()
	}
}

// turns gives the streams their turns, one after the other, until no more than
// most are open. It reports whether to go on.
func (in *interleaving) turns(most int) (more bool, err error) {
	for len(in.streams) > most {
		s := in.streams[in.at]
		got, known, err := in.known(s)
		if !known && err == nil {
			got, err = in.take(s, Origin{Index: s.index(), Read: in.reads})
		}
		if err != nil || got == left {
			return false, err
		}
		if got != ended {
			in.reads++
		}
		if got == taken {
			in.taken++
			s.record++
			in.at = (in.at + 1) % len(in.streams)
			continue
		}
		s.close()
		in.streams = append(in.streams[:in.at], in.streams[in.at+1:]...)
		if in.at == len(in.streams) {
			in.at = 0
		}
	}
	return true, nil
}

// known returns what comes of the turn of s where it is known to end.
func (in *interleaving) known(s *stream) (got turn, known bool, err error) {
	if len(in.ends) == 0 || in.ends[0].Read > in.reads {
		return 0, false, nil
	}
	e := in.ends[0]
	in.ends = in.ends[1:]
	if want := s.end(in.reads, e.Damaged); e != want {
		return 0, false, fmt.Errorf("data: after %d reads stream %d ended, of %d records, where it is the turn of record %d of stream %d; the streams are not those that were read before", e.Read, e.Stream, e.Records, want.Records, want.Stream)
	}
	if e.Damaged {
		return damaged, true, nil
	}
	return ended, true, nil
}

// stream is one that is open.
type stream struct {
	shard  int
	record int64 // whose turn it is
	at     int64 // record that next gives
	next   func() (Example, error, bool)
	stop   func()
}

func (s *stream) index() int { return s.shard<<recordBits | int(s.record) }

func (s *stream) end(read int64, damaged bool) Ending {
	return Ending{read, s.shard, s.record, damaged}
}

// seek makes next give the record whose turn it is. One that was taken before
// without being read must be there.
func (s *stream) seek(ctx context.Context, of Stream) error {
	if s.next == nil {
		s.at = max(s.record-1, 0)
		s.next, s.stop = iter.Pull2(Prefetch(of.Open(ctx, s.shard, s.at), ahead))
	}
	for ; s.at < s.record; s.at++ {
		_, err, ok := s.next()
		if !ok {
			err = errEnded
		}
		if err != nil {
			return cmp.Or(ctx.Err(), gone(of, s.shard<<recordBits|int(s.at), err))
		}
	}
	return nil
}

func (s *stream) close() {
	if s.stop != nil {
		s.stop()
	}
}

// pulled is what a stream gave; not ok at its end.
type pulled struct {
	example Example
	ok      bool
}

var errEnded = errors.New("its stream ends before it")

// gone is the error of a record of a stream that was read, and cannot be read
// again.
func gone(s Stream, index int, err error) error {
	return fmt.Errorf("data: %s was good before the run was resumed: %w", s.Name(index), err)
}
