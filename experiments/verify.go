package experiments

import (
	"context"
	"runtime"

	"github.com/reprise-ml/reprise/data"
)

// Verified is what Verify found.
type Verified struct {
	Source  string         `json:"source"` // kind of the data set
	Parts   map[string]int `json:"parts"`  // records of each part
	Records int            `json:"records"`
	Bad     []Fault        `json:"bad"`            // in the order of parts and records
	Mark    string         `json:"mark,omitempty"` // file of the clean mark; "" where none was written
}

// Verify reads and decodes every record of every part of a data set, and
// lists those that cannot be. A data set of files without any is marked as
// clean, until one of its files changes; the mark of another one is removed.
// Where it is not nil, progress is told now and then how many of how many
// records are done.
func Verify(ctx context.Context, c Choice[Source], progress func(done, total int)) (Verified, error) {
	v := Verified{Source: c.Name, Parts: map[string]int{}, Bad: []Fault{}}
	before, err := coverage(c)
	if err != nil {
		return v, err
	}
	parts, err := wholeParts(c)
	if err != nil {
		return v, err
	}
	for _, p := range parts {
		v.Parts[p.Name] = p.Source.Len()
		v.Records += p.Source.Len()
	}
	var strict []string
	done := 0
	tell := func() {
		if done++; progress != nil {
			progress(done, v.Records)
		}
	}
	for _, p := range parts {
		faults := func(o data.Origin, err error) error {
			tell()
			v.Bad = append(v.Bad, Fault{p.Name, o.Index, data.RecordName(p.Source, o.Index), err.Error()})
			return nil
		}
		for e, err := range data.Decode(ctx, records(ctx, p.Source, faults), runtime.GOMAXPROCS(0), faults) {
			if err != nil {
				return v, err
			}
			if picture, ok := e.Input.(data.Picture); ok && picture.Indivisible() {
				strict = append(strict, data.RecordName(p.Source, e.Origin.Index))
			}
			tell()
		}
	}
	if before == nil {
		return v, nil
	}
	if len(v.Bad) > 0 {
		return v, before.remove()
	}
	after, err := coverage(c)
	if err == nil && *after == *before { // nothing changed meanwhile
		v.Mark, err = before.write(v.Parts, strict)
	}
	return v, err
}
