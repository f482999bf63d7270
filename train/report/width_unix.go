//go:build unix

package report

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// width is the number of columns of a terminal.
func width(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ); err == nil && size.Col > 0 {
			return int(size.Col)
		}
	}
	return lineWidth
}
