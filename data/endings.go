package data

import (
	"slices"
	"sort"
	"sync"
)

// Ending is the end of a stream among those that [Interleave] reads.
type Ending struct {
	Read    int64 `json:"read"`              // reads made before it, of all streams
	Stream  int   `json:"stream"`            // its number
	Records int64 `json:"records"`           // that it gave
	Damaged bool  `json:"damaged,omitempty"` // the read after them met damage, and is the stream's last
}

// Endings takes down the ends of the streams that are read interleaved, in the
// order in which they are met. With them that order follows from origins
// alone. The zero Endings is empty, and so is nil, which takes down nothing; it is
// safe for use by several goroutines.
type Endings struct {
	mu   sync.Mutex
	list []Ending
}

// NewEndings returns Endings that hold those of list that were met before a read.
func NewEndings(list []Ending, read int64) *Endings {
	return &Endings{list: slices.Clone(list[:sort.Search(len(list), func(i int) bool { return list[i].Read >= read })])}
}

// List returns what has been taken down so far.
func (e *Endings) List() []Ending {
	if e == nil {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.list)
}

func (e *Endings) add(end Ending) {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, end)
}
