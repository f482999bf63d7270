package train

import "github.com/reprise-ml/reprise/data"

// Reuse follows how often reads are used and at what distance. It remembers the last use of each of the latest Window reads, in
// 8 bytes each; a use that comes later than that counts as a first one.
type Reuse struct {
	Window int  // reads, at least 1
	Total  Uses // so far

	last []use // ring: of a read at read mod Window
}

// Uses are totals of a [Reuse].
type Uses struct {
	Rows  int64 `json:"rows"`  // trained on
	Reads int64 `json:"reads"` // used for the first time
	Steps int64 `json:"steps"` // between each use of a read and the one before; 0 within a batch
}

// use is the last one of a read. The lowest bits tell reads of one place in
// the ring apart.
type use struct {
	read uint32 // plus 1; 0 means none
	step uint32
}

// Window is how many reads are worth following where copies are spread by a
// buffer of rows, each read is used factor times, and there are batch rows in
// a step. A row leaves the buffer after rows steps of one row on average, and
// after eight times as many with a probability of 99.97 %.
func Window(buffer, batch int, factor float64) int {
	return int(8*float64(buffer)/factor) + 4*batch
}

// Repeats is the mean number of uses of a read since an earlier moment; 0
// where no read was used for the first time.
func (u Uses) Repeats(since Uses) float64 {
	if u.Reads == since.Reads {
		return 0
	}
	return float64(u.Rows-since.Rows) / float64(u.Reads-since.Reads)
}

// Lag is the mean number of steps between a use of a read and the one before
// since an earlier moment; ok is false where nothing was used again.
func (u Uses) Lag(since Uses) (steps float64, ok bool) {
	again := u.Rows - since.Rows - (u.Reads - since.Reads)
	if again == 0 {
		return 0, false
	}
	return float64(u.Steps-since.Steps) / float64(again), true
}

// Follow counts the rows of the batch of a step.
func (r *Reuse) Follow(step int64, b data.Batch) {
	if r.last == nil {
		r.last = make([]use, max(r.Window, 1))
	}
	for _, o := range b.Origins {
		u := &r.last[o.Read%int64(len(r.last))]
		now := use{uint32(o.Read + 1), uint32(step)}
		r.Total.Rows++
		if u.read == now.read {
			r.Total.Steps += int64(now.step - u.step)
		} else {
			r.Total.Reads++
		}
		*u = now
	}
}

// Remember is Follow without counting, for steps that Total has already.
func (r *Reuse) Remember(step int64, b data.Batch) {
	total := r.Total
	r.Follow(step, b)
	r.Total = total
}
