package experiments

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/reprise-ml/reprise/data"
)

// TooManyBad is the error of a run that met more distinct damaged records
// than data.max_bad.
type TooManyBad struct {
	Bad, Max int
	Last     error
}

func (e TooManyBad) Error() string {
	return fmt.Sprintf("%d distinct damaged records, more than data.max_bad, %d; the last: %v", e.Bad, e.Max, e.Last)
}

// Unwrap returns what was wrong with the last of them.
func (e TooManyBad) Unwrap() error { return e.Last }

// faultLog skips damaged records, up to a number of distinct ones, and lists
// each once in errors.jsonl.
type faultLog struct {
	max     int
	file    *os.File
	mu      sync.Mutex
	records []metFault         // in the order they were met
	names   map[string]bool    // of those, by part and name
	reads   map[int64]struct{} // training reads that met one
	last    int64              // the last of them
	streak  int                // how many there were in a row
}

// failing ends a run at the first damaged record, and names it.
func failing(src data.Source) data.Faults {
	return func(o data.Origin, err error) error {
		return fmt.Errorf("%s: %w (data.on_error: skip would pass over it)", data.RecordName(src, o.Index), err)
	}
}

// bearing returns what becomes of damaged records where nobody keeps a list:
// they are skipped or fail, as s says.
func (s Spec) bearing(src data.Source) data.Faults {
	if s.Data.OnError == OnErrorSkip {
		return func(data.Origin, error) error { return nil }
	}
	return failing(src)
}

// Fault is a record that cannot be read or decoded: a line of errors.jsonl.
type Fault struct {
	Part   string `json:"part"`   // such as train
	Record int    `json:"record"` // its number in that part
	Name   string `json:"name"`
	Error  string `json:"error"`
}

// metFault is a fault with the training read that met it, or -1.
type metFault struct {
	Fault
	First int64 `json:"first"`
}

// faultState is what a checkpoint keeps of a faultLog.
type faultState struct {
	Records []metFault `json:"records"`
	Reads   []int64    `json:"reads"` // of the training, that met a damaged record
}

func openFaults(dir string, max int) (*faultLog, error) {
	f, err := os.Create(filepath.Join(dir, "errors.jsonl"))
	if err != nil {
		return nil, fmt.Errorf("experiments: %w", err)
	}
	return &faultLog{max: max, file: f, names: map[string]bool{}, reads: map[int64]struct{}{}}, nil
}

// of returns the handler of the faults of one part.
func (l *faultLog) of(part string, src data.Source) data.Faults {
	return func(o data.Origin, err error) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		first := int64(-1)
		if part == "train" {
			first = o.Read
			if _, again := l.reads[o.Read]; !again {
				if l.streak++; o.Read != l.last+1 {
					l.streak = 1
				}
				l.last = o.Read
				l.reads[o.Read] = struct{}{}
			}
			if n := src.Len(); n != data.Endless && l.streak > n {
				return fmt.Errorf("every record of data.train is damaged, %d reads in a row; the last: %s: %w", l.streak, data.RecordName(src, o.Index), err)
			}
		}
		name := data.RecordName(src, o.Index)
		if l.names[part+"/"+name] {
			return nil
		}
		if err := l.list(metFault{Fault{part, o.Index, name, err.Error()}, first}); err != nil {
			return err
		}
		if n := len(l.records); n > l.max {
			return TooManyBad{n, l.max, fmt.Errorf("%s: %w", name, err)}
		}
		return nil
	}
}

// list notes a damaged record that was not met before.
func (l *faultLog) list(f metFault) error {
	l.records, l.names[f.Part+"/"+f.Name] = append(l.records, f), true
	text, _ := json.Marshal(f.Fault)
	if _, err := l.file.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("experiments: %w", err)
	}
	return nil
}

// state returns what is to be kept.
func (l *faultLog) state() faultState {
	l.mu.Lock()
	defer l.mu.Unlock()
	return faultState{slices.Clone(l.records), slices.Sorted(maps.Keys(l.reads))}
}

// skipped returns the reads of the training that met a damaged record.
func (s faultState) skipped() map[int64]struct{} {
	m := make(map[int64]struct{}, len(s.Reads))
	for _, r := range s.Reads {
		m[r] = struct{}{}
	}
	return m
}

// restore makes l what it was when the training had made so many reads; what
// workers had met ahead of those is met again.
func (l *faultLog) restore(s faultState, reads int64) error {
	for _, r := range s.Reads {
		if r >= reads {
			break
		}
		if l.streak++; r != l.last+1 {
			l.streak = 1
		}
		l.last = r
		l.reads[r] = struct{}{}
	}
	for _, f := range s.Records {
		if f.First >= reads {
			continue
		}
		if err := l.list(f); err != nil {
			return err
		}
	}
	return nil
}

// counts returns what the first reads of the training met: how many of them
// were of damaged records, and how many distinct damaged records there were,
// those of evaluation included.
func (l *faultLog) counts(reads int64) (bad int64, records int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for r := range l.reads {
		if r < reads {
			bad++
		}
	}
	for _, f := range l.records {
		if f.First < reads {
			records++
		}
	}
	return bad, records
}

// Close closes errors.jsonl.
func (l *faultLog) Close() error { return l.file.Close() }
