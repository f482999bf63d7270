package text

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// MaxLine is the longest line that is read, in bytes.
const MaxLine = 1 << 20

// The first bytes of packed files.
const (
	gzipMagic = "\x1f\x8b"
	zstdMagic = "\x28\xb5\x2f\xfd"
)

// isPacked reports whether a file that begins with b is packed.
func isPacked(b []byte) bool {
	return bytes.HasPrefix(b, []byte(gzipMagic)) || bytes.HasPrefix(b, []byte(zstdMagic))
}

// unpacked returns the text in a file, whether it is packed or plain. It holds
// no more of it than a decoder needs.
func unpacked(r io.Reader) (io.ReadCloser, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	head, err := in.Peek(len(zstdMagic))
	if err != nil && err != io.EOF {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(head, []byte(gzipMagic)):
		return gzip.NewReader(in)
	case bytes.HasPrefix(head, []byte(zstdMagic)):
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1<<30), zstd.WithDecoderMaxWindow(128<<20))
		if err != nil {
			return nil, err
		}
		return z.IOReadCloser(), nil
	default:
		return io.NopCloser(in), nil
	}
}

// liner cuts a text into lines.
type liner struct {
	in     *bufio.Reader
	number int64 // of the line that next returned last, from 1
	long   []byte
}

func newLiner(r io.Reader) *liner { return &liner{in: bufio.NewReaderSize(r, 64<<10)} }

// next returns the next line with its end, until io.EOF. The line is valid
// until the next call. Of one longer than MaxLine, length is its length, and
// line nil.
func (l *liner) next() (line []byte, length int64, err error) {
	l.long = l.long[:0]
	for {
		piece, err := l.in.ReadSlice('\n')
		length += int64(len(piece))
		if length > 0 && (err == nil || err == io.EOF) {
			l.number++
			switch {
			case length > MaxLine:
				return nil, length, nil
			case len(l.long) == 0:
				return piece, length, nil
			}
			return append(l.long, piece...), length, nil
		}
		if err != bufio.ErrBufferFull {
			return nil, 0, err
		}
		if length <= MaxLine {
			l.long = append(l.long, piece...)
		}
	}
}

// trim is a line without its end.
func trim(line []byte) []byte { return bytes.TrimRight(line, "\r\n") }

// isBlank reports whether a line holds nothing but white space.
func isBlank(line []byte) bool { return len(bytes.TrimSpace(line)) == 0 }

// tooLong is the error of a line longer than MaxLine.
func tooLong(file string, line, length int64) error {
	return fmt.Errorf("%s:%d: the line has %d bytes, want at most %d", file, line, length, MaxLine)
}
