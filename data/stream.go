package data

import (
	"context"
	"fmt"
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
