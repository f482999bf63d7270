package text

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/reprise-ml/reprise/data"
)

// marked is the distance of records whose line numbers are kept.
const marked = 1024

// lines is the source of layout Lines: an index of all lines that are not
// blank.
type lines struct {
	config Config
	files  fileSet
	first  []int   // record that each file begins with
	starts []int64 // of each record, in its file
	marks  []int64 // line numbers of the records marked·k
}

// newLines finds the lines of files. It reads them through once.
func newLines(c Config, files fileSet) (*lines, error) {
	s := &lines{config: c, files: files}
	for _, f := range files {
		s.first = append(s.first, len(s.starts))
		in := newLiner(io.NewSectionReader(f, 0, f.size))
		for at := int64(0); ; {
			line, length, err := in.next()
			if err == io.EOF {
				break
			}
			if err != nil {
				return nil, fmt.Errorf("text: %s: %w", f.path, err)
			}
			if line == nil || !isBlank(line) {
				if len(s.starts)%marked == 0 {
					s.marks = append(s.marks, in.number)
				}
				s.starts = append(s.starts, at)
			}
			at += length
		}
	}
	return s, nil
}

// Len implements [data.Source].
func (s *lines) Len() int { return len(s.starts) }

// Close closes the files.
func (s *lines) Close() error { return s.files.Close() }

// find returns the number of the file of record i, and where the record ends
// at the latest.
func (s *lines) find(i int) (n int, end int64) {
	n, found := slices.BinarySearch(s.first, i)
	if !found {
		n--
	}
	for n+1 < len(s.first) && s.first[n+1] == i { // files without records
		n++
	}
	end = s.files[n].size
	if i+1 < len(s.starts) && (n+1 == len(s.first) || i+1 < s.first[n+1]) {
		end = s.starts[i+1]
	}
	return n, end
}

// Read implements [data.Source]: the Input is a [Line].
func (s *lines) Read(ctx context.Context, i int) (data.Example, error) {
	if i < 0 || i >= len(s.starts) {
		return data.Example{}, fmt.Errorf("text: there is no line %d of %d", i, len(s.starts))
	}
	if err := ctx.Err(); err != nil {
		return data.Example{}, err
	}
	n, end := s.find(i)
	size := min(end-s.starts[i], MaxLine+1)
	b := make([]byte, size)
	if got, err := s.files[n].ReadAt(b, s.starts[i]); got < len(b) {
		return data.Example{}, fmt.Errorf("text: %s: %w", s.Name(i), err)
	}
	if cut := bytes.IndexByte(b, '\n'); cut >= 0 {
		b = b[: cut+1 : cut+1]
	}
	if len(b) > MaxLine {
		return data.Example{}, fmt.Errorf("text: %s: the line is longer than %d bytes", s.Name(i), MaxLine)
	}
	return data.Example{Input: Line{Text: trim(b), config: &s.config}}, nil
}

// Name implements [data.Named]: file:line.
func (s *lines) Name(i int) string {
	n, _ := s.find(i)
	f := s.files[n]
	from := max(i/marked*marked, s.first[n])
	number, at := int64(1), int64(0)
	if from == i/marked*marked {
		number, at = s.marks[i/marked], s.starts[from]
	}
	b := make([]byte, 64<<10)
	for at < s.starts[i] {
		part := b[:min(int64(len(b)), s.starts[i]-at)]
		got, err := f.ReadAt(part, at)
		number += int64(bytes.Count(part[:got], []byte("\n")))
		if at += int64(got); err != nil {
			break
		}
	}
	return fmt.Sprintf("%s:%d", f.path, number)
}
