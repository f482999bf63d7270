package echo

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Choices is a run of choices of an automatic factor: so many fresh items, then so many copies.
type Choices struct{ Fresh, Copies int64 }

// Schedule takes down the choices that an [Automatic] factor makes. With them it can be replayed, bit for
// bit. The zero Schedule is empty; it is safe for use by several goroutines.
type Schedule struct {
	mu   sync.Mutex
	runs []Choices
}

func (s *Schedule) add(c Choices) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.runs); n > 0 && (c.Fresh == 0 || s.runs[n-1].Copies == 0) {
		s.runs[n-1].Fresh += c.Fresh
		s.runs[n-1].Copies += c.Copies
		return
	}
	s.runs = append(s.runs, c)
}

// Choices returns what has been taken down so far.
func (s *Schedule) Choices() []Choices {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.runs)
}

// WriteSchedule writes runs of choices, one a line: the fresh items and the copies after them.
func WriteSchedule(w io.Writer, runs []Choices) error {
	b := bufio.NewWriter(w)
	for _, r := range runs {
		fmt.Fprintln(b, r.Fresh, r.Copies)
	}
	return b.Flush()
}

// ReadSchedule reads what WriteSchedule wrote. An error names the line.
func ReadSchedule(r io.Reader) ([]Choices, error) {
	var runs []Choices
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		fresh, copies, two := strings.Cut(lines.Text(), " ")
		f, err := strconv.ParseInt(fresh, 10, 64)
		c, other := strconv.ParseInt(copies, 10, 64)
		if !two || err != nil || other != nil || f < 0 || c < 0 {
			return nil, fmt.Errorf("echo: line %d of a schedule is %q, want the number of fresh items and that of copies", n, lines.Text())
		}
		runs = append(runs, Choices{f, c})
	}
	return runs, lines.Err()
}
