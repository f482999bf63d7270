package experiments

import (
	"io"
	"unicode/utf8"
)

// characters writes bytes on as soon as they are whole characters of UTF-8:
// those of a character that is not complete yet are held back. Bytes that
// can be no part of one are written as they are.
type characters struct {
	to   io.Writer
	held []byte
}

// Write implements [io.Writer].
func (c *characters) Write(p []byte) (int, error) {
	c.held = append(c.held, p...)
	whole := len(c.held)
	for back := 1; back <= min(utf8.UTFMax-1, len(c.held)); back++ {
		if at := len(c.held) - back; utf8.RuneStart(c.held[at]) {
			if !utf8.FullRune(c.held[at:]) {
				whole = at
			}
			break
		}
	}
	return len(p), c.flush(whole)
}

// Close writes what is held back.
func (c *characters) Close() error { return c.flush(len(c.held)) }

func (c *characters) flush(n int) error {
	if n == 0 {
		return nil
	}
	_, err := c.to.Write(c.held[:n])
	c.held = append(c.held[:0], c.held[n:]...)
	return err
}
