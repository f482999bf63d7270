package train

import "github.com/reprise-ml/reprise/data"

// Reuse is the Observer that follows how often reads are used and at what
// distance. It remembers the last use of each of the latest Window reads, in
// 8 bytes each; a use that comes later than that counts as a first one.
type Reuse struct {
	Window int // reads, at least 1

	uses Uses
	last []use // ring: of a read at read mod Window
}

// Uses are totals of a [Reuse].
type Uses struct {
	Rows  int64 // trained on
	Reads int64 // used for the first time
	Steps int64 // between each use of a read and the one before; 0 within a batch
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

// Uses returns the totals so far.
func (r *Reuse) Uses() Uses { return r.uses }

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

// Observe implements [Observer].
func (r *Reuse) Observe(p Progress, b data.Batch) error {
	if r.last == nil {
		r.last = make([]use, max(r.Window, 1))
	}
	for _, o := range b.Origins {
		u := &r.last[o.Read%int64(len(r.last))]
		now := use{uint32(o.Read + 1), uint32(p.Steps)}
		r.uses.Rows++
		if u.read == now.read {
			r.uses.Steps += int64(now.step - u.step)
		} else {
			r.uses.Reads++
		}
		*u = now
	}
	return nil
}
