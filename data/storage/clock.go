package storage

import (
	"context"
	"sync"
	"time"
)

// clock counts the time since it was made, but for pauses.
type clock struct {
	mu      sync.Mutex
	start   time.Time // shifted by the length of each pause that has ended
	pauses  int       // that have begun and not ended
	since   time.Time // when the first of them began
	resumed chan struct{}
}

func newClock() *clock { return &clock{start: time.Now()} }

func (c *clock) now() time.Duration {
	t, _ := c.read()
	return t
}

// read returns the time and, during a pause, a channel that is closed at its
// end.
func (c *clock) read() (time.Duration, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pauses > 0 {
		return c.since.Sub(c.start), c.resumed
	}
	return time.Since(c.start), nil
}

// until returns at a time, or with the error of a context that ends before.
func (c *clock) until(ctx context.Context, t time.Duration) error {
	for {
		now, resumed := c.read()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case resumed != nil:
			select {
			case <-resumed:
			case <-ctx.Done():
			}
		case now >= t:
			return nil
		default:
			timer := time.NewTimer(t - now)
			select {
			case <-timer.C: // too early if there was a pause
			case <-ctx.Done():
				timer.Stop()
			}
		}
	}
}

func (c *clock) pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pauses++; c.pauses == 1 {
		c.since, c.resumed = time.Now(), make(chan struct{})
	}
}

func (c *clock) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pauses == 0 {
		panic("storage: Resume without Pause")
	}
	if c.pauses--; c.pauses == 0 {
		c.start = c.start.Add(time.Since(c.since))
		close(c.resumed)
	}
}
