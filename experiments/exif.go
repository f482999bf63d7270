package experiments

import (
	"context"
	"maps"
	"sync"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/data/augment"
)

// What becomes of the EXIF orientation of a picture: Input.Exif.
const (
	ExifIgnore = "ignore"
	ExifApply  = "apply"
)

// chosen returns the augmentations of a list, after what the EXIF orientation
// asks for.
func (in Input) chosen(list []Choice[data.Augmentation]) []data.Augmentation {
	if in.Exif == ExifApply {
		return append([]data.Augmentation{augment.Upright{}}, values(list)...)
	}
	return values(list)
}

// turned counts the training pictures whose EXIF orientation is not 1.
type turned struct {
	mu    sync.Mutex
	first map[int]int64 // read at which each was met first, by its number
}

// watch returns a reader that reads as read does, and notes such pictures.
func (t *turned) watch(read data.Reader) data.Reader {
	if t.first == nil {
		t.first = map[int]int64{}
	}
	return func(ctx context.Context, o data.Origin) (data.Example, error) {
		e, err := read(ctx, o)
		if p, ok := e.Input.(data.Picture); err == nil && ok && p.Oriented() != 1 {
			t.mu.Lock()
			defer t.mu.Unlock()
			if met, again := t.first[o.Index]; !again || o.Read < met {
				t.first[o.Index] = o.Read
			}
		}
		return e, err
	}
}

// state returns what a checkpoint keeps: it becomes first of a resumed run.
func (t *turned) state() map[int]int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.first)
}

// among returns how many distinct ones there are among the first reads: a
// number that does not depend on how far the readers are ahead.
func (t *turned) among(reads int64) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for _, first := range t.first {
		if first < reads {
			n++
		}
	}
	return n
}
