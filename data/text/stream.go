package text

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/reprise-ml/reprise/data"
)

// Stream reads each of files from its beginning to its end, and holds no more
// of it than a line and what unpacks it. With Lines the Input of an example is
// a [Line], so that decoding encodes it; with Chunks and Packed a chunk is
// encoded as it is read, and those of a file begin anew with each.
func (c Config) Stream(files []string) (*Streams, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, errors.New("text: there are no files")
	}
	for _, path := range files {
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("text: %w", err)
		}
	}
	return &Streams{c, files}, nil
}

// Streams is files of text as [data.Shards].
type Streams struct {
	config Config
	files  []string
}

// Shards implements [data.Shards].
func (s *Streams) Shards() int { return len(s.files) }

// Name is the file and the record of an index, shard<<40 | record.
func (s *Streams) Name(i int) string {
	return fmt.Sprintf("%s: record %d", s.files[i>>40], i&(1<<40-1))
}

// Open implements [data.Shards]. Lines that are blank are no records. One that
// is longer than [MaxLine] cannot be decoded; of chunks it ends the stream with
// an error, as damage to a packed file does.
func (s *Streams) Open(ctx context.Context, shard int, from int64) data.Seq[data.Example] {
	return func(yield func(data.Example, error) bool) {
		if shard < 0 || shard >= len(s.files) || from < 0 {
			yield(data.Example{}, fmt.Errorf("text: there is no record %d of file %d of %d", from, shard, len(s.files)))
			return
		}
		path := s.files[shard]
		f, err := os.Open(path)
		if err != nil {
			yield(data.Example{}, fmt.Errorf("text: %w", err))
			return
		}
		defer f.Close()
		in, err := unpacked(f)
		if err != nil {
			yield(data.Example{}, fmt.Errorf("text: %s: %w", path, err))
			return
		}
		defer in.Close()
		record := int64(0)
		pass := func(make func() data.Example) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			if record++; record > from && !yield(make(), nil) {
				return errLeft
			}
			return nil
		}
		if s.config.Layout == Chunks || s.config.Layout == Packed {
			err = s.chunks(in, path, pass)
		} else {
			err = s.lines(in, path, pass)
		}
		if err != nil && err != errLeft {
			yield(data.Example{}, err)
		}
	}
}

// errLeft ends a stream whose reader has left.
var errLeft = errors.New("text: the reader has left")

// lines passes on a record of each line that is not blank.
func (s *Streams) lines(r io.Reader, path string, pass func(func() data.Example) error) error {
	in := newLiner(r)
	for record := int64(0); ; {
		line, length, err := in.next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return fmt.Errorf("text: %s: record %d, after line %d: %w", path, record, in.number, err)
		case line != nil && isBlank(line):
			continue
		}
		record++
		err = pass(func() data.Example {
			l := Line{config: &s.config}
			if line == nil {
				l.bad = fmt.Errorf("text: %w", tooLong(path, in.number, length))
			} else {
				l.Text = append(l.Text, trim(line)...)
			}
			return data.Example{Input: l}
		})
		if err != nil {
			return err
		}
	}
}

// chunks passes on a record of each whole chunk.
func (s *Streams) chunks(r io.Reader, path string, pass func(func() data.Example) error) error {
	var rest []int32
	t := s.config.Context
	return s.config.encode(r, path, func(tokens []int32) error {
		rest = append(rest, tokens...)
		at := 0
		for ; len(rest)-at > t; at += t {
			err := pass(func() data.Example {
				chunk := make([]int32, t+1)
				copy(chunk, rest[at:])
				return example(chunk)
			})
			if err != nil {
				return err
			}
		}
		rest = append(rest[:0], rest[at:]...)
		return nil
	})
}

// Large reports whether files hold more bytes, as they are stored, than are
// read at random without asking for it: 1 GiB, or 256 MiB packed.
func Large(files []string) (bool, error) {
	size := 0.0
	for _, path := range files {
		info, err := os.Stat(path)
		if err != nil {
			return false, fmt.Errorf("text: %w", err)
		}
		f, err := os.Open(path)
		if err != nil {
			return false, fmt.Errorf("text: %w", err)
		}
		head := make([]byte, len(zstdMagic))
		n, _ := f.ReadAt(head, 0)
		f.Close()
		stored := float64(info.Size())
		if isPacked(head[:n]) {
			stored *= 4 // about as much as they unpack to
		}
		size += stored
	}
	return size > math.Exp2(30), nil
}
