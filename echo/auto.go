package echo

import (
	"errors"
	"fmt"
	"iter"

	"github.com/reprise-ml/reprise/data"
)

// Automatic is a factor that sets itself: an item is used again only where the step would have to wait for
// the next. It yields every fresh item as soon as it is there. Copies are of the items that came last, the
// one that has waited longest first, so that they are spread over those.
type Automatic struct {
	Max    int         // uses of an item at most, itself included, 1 to 1024
	Recent int         // items held for copying, at least 1
	Fill   int         // items before the first copy: those that the shuffle buffer takes in before it gives any
	Ready  *data.Gauge // of what is ready for the step: a copy is made only while it is empty; nil means that who asks is the step
	Replay []Choices   // are made again, whatever is there, before choices are made by what is there
	Record *Schedule   // takes down the choices made, those of Replay included; nil: nobody does
}

// Check reports settings that are out of range.
func (a Automatic) Check() error {
	switch {
	case a.Max < 1 || a.Max > MaxFactor:
		return fmt.Errorf("echo: an automatic factor uses an item %d times at most, want 1 to %d", a.Max, MaxFactor)
	case a.Recent < 1:
		return fmt.Errorf("echo: an automatic factor holds %d items, want at least 1", a.Recent)
	case a.Fill < 0:
		return fmt.Errorf("echo: an automatic factor fills with %d items, want 0 or more", a.Fill)
	}
	return nil
}

// Repeatedly yields the items of in and copies of them as a says.
func Repeatedly[T Item[T]](in data.Seq[T], a Automatic) data.Seq[T] {
	if err := a.Check(); err != nil {
		return data.Fail[T](err)
	}
	return func(yield func(T, error) bool) {
		data.Ahead(in, 1, nil, func(q *data.Queue[T]) {
			c := &chooser[T]{Automatic: a, next: q.Next, nextOr: q.NextOr}
			c.run(yield)
		})
	}
}

// Replayed yields what [Repeatedly] did when it made the choices of a.Replay, and ends with them. It runs no
// goroutine. forget is told of an item that will not be copied any more, after what was
// yielded last.
func Replayed[T Item[T]](in data.Seq[T], a Automatic, forget func(T)) data.Seq[T] {
	return func(yield func(T, error) bool) {
		pull, stop := iter.Pull2(in)
		defer stop()
		next := func() (T, error) {
			x, err, ok := pull()
			if !ok {
				err = data.End
			}
			return x, err
		}
		c := &chooser[T]{Automatic: a, next: next, forget: forget}
		c.run(yield)
	}
}

// errReplay is found where a recorded schedule does not fit the stream.
var errReplay = errors.New("echo: the recorded schedule copies an item where there is none to copy; it is of another pipeline")

// chooser makes the choices between a fresh item and a copy.
type chooser[T Item[T]] struct {
	Automatic
	next   func() (T, error)
	nextOr func(<-chan struct{}) (T, bool, error) // nil where there is nothing but a replay
	forget func(T)                                // nil: nobody asks
	gone   []T                                    // what forget is to be told of, after the item that is yielded
	recent []used[T]                              // the next to be copied first
	fresh  int
	replay Choices // what is left of the first of Replay
}

// used is an item that has been used so many times.
type used[T any] struct {
	item T
	uses int
}

func (c *chooser[T]) run(yield func(T, error) bool) {
	for {
		x, err := c.choose()
		if errors.Is(err, data.End) || !yield(x, err) || err != nil {
			return
		}
		if c.forget != nil {
			for _, g := range c.gone {
				c.forget(g)
			}
			c.gone = c.gone[:0]
		}
	}
}

func (c *chooser[T]) choose() (x T, err error) {
	if fresh, replayed := c.replayed(); replayed {
		if fresh {
			return c.take(c.next())
		}
		if len(c.recent) == 0 {
			return x, errReplay
		}
		return c.copy(), nil
	}
	if c.nextOr == nil {
		return x, data.End
	}
	if c.fresh < c.Fill || len(c.recent) == 0 {
		return c.take(c.next())
	}
	x, there, err := c.nextOr(c.Ready.Empty())
	if !there {
		return c.copy(), nil
	}
	return c.take(x, err)
}

// replayed returns the next choice of Replay, if there is one left.
func (c *chooser[T]) replayed() (fresh, ok bool) {
	for c.replay == (Choices{}) {
		if len(c.Replay) == 0 {
			return false, false
		}
		c.replay, c.Replay = c.Replay[0], c.Replay[1:]
	}
	if c.replay.Fresh > 0 {
		c.replay.Fresh--
		return true, true
	}
	c.replay.Copies--
	return false, true
}

// take passes on a fresh item, and keeps it for copying.
func (c *chooser[T]) take(x T, err error) (T, error) {
	if err != nil {
		return x, err
	}
	c.fresh++
	c.Record.add(Choices{Fresh: 1})
	first := x.Echo(0) // before the item may be let go of
	c.keep(used[T]{x, 1})
	return first, nil
}

// copy makes another copy of the item whose turn it is.
func (c *chooser[T]) copy() T {
	u := c.recent[0]
	c.recent = c.recent[1:]
	x := u.item.Echo(u.uses)
	u.uses++
	c.keep(u)
	c.Record.add(Choices{Copies: 1})
	return x
}

// keep puts an item that may be used again behind the others, and lets go of the first where they are too many.
func (c *chooser[T]) keep(u used[T]) {
	if u.uses >= c.Max {
		c.lose(u.item)
		return
	}
	if len(c.recent) == c.Recent {
		c.lose(c.recent[0].item)
		c.recent[0] = used[T]{}
		c.recent = c.recent[1:]
	}
	c.recent = append(c.recent, u)
}

func (c *chooser[T]) lose(x T) {
	release(x)
	if c.forget != nil {
		c.gone = append(c.gone, x)
	}
}

// release ends the use of an item, but not of the copies made of it, where it
// wants to know.
func release[T any](x T) {
	if r, ok := any(x).(interface{ Release() }); ok {
		r.Release()
	}
}
