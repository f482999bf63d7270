package data

import (
	"context"
	"fmt"
)

// Source is a collection of records that can be read in any order. Read must
// be safe to call from several goroutines; the same i gives the same example.
type Source interface {
	Len() int                                         // number of records, or Endless
	Read(ctx context.Context, i int) (Example, error) // the record with number i; its Origin is not set
}

// Labelled is a Source that knows the class of a record without reading it.
type Labelled interface {
	Source
	Classes() []string // names; class c is Classes()[c]
	Label(i int) int   // class of record i
}

// Named is a Source whose records have names, such as those of files, for
// error messages.
type Named interface {
	Source
	Name(i int) string
}

// Shards is a collection too large or too sequential for random access: a
// number of streams of records.
type Shards interface {
	Shards() int                                                  // number of streams
	Open(ctx context.Context, shard int, from int64) Seq[Example] // records of one stream but for the first from
}

// FromSource returns the Reader of src.
func FromSource(src Source) Reader {
	return func(ctx context.Context, o Origin) (Example, error) { return src.Read(ctx, o.Index) }
}

// RecordName is the name of record i of src where it has one, and its number
// elsewhere.
func RecordName(src Source, i int) string {
	if n, ok := src.(Named); ok {
		return n.Name(i)
	}
	return fmt.Sprintf("record %d", i)
}
