package report

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/reprise-ml/reprise/train"
)

// CutLines makes a file end after its first n lines, at once or not at all. It
// is an error if the file has fewer whole lines.
func CutLines(path string, n int) error {
	end, size, err := endOf(path, n)
	if err != nil || end == size {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	defer f.Close()
	return train.WriteFile(path, func(w io.Writer) error {
		_, err := io.CopyN(w, f, end)
		return err
	})
}

// endOf returns where the first n lines of a file end, and where the file does.
func endOf(path string, n int) (end, size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, 0, fmt.Errorf("report: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, 0, fmt.Errorf("report: %w", err)
	}
	r := bufio.NewReader(f)
	for line := 0; line < n; {
		part, err := r.ReadSlice('\n')
		end += int64(len(part))
		switch {
		case errors.Is(err, bufio.ErrBufferFull): // the line goes on
		case errors.Is(err, io.EOF):
			return 0, 0, fmt.Errorf("report: %s has %d lines, want %d", path, line, n)
		case err != nil:
			return 0, 0, fmt.Errorf("report: %w", err)
		default:
			line++
		}
	}
	return end, info.Size(), nil
}

// CheckLines reports, as an error, that a file has fewer than n whole lines.
func CheckLines(path string, n int) error {
	_, _, err := endOf(path, n)
	return err
}
