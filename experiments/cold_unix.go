//go:build linux || freebsd

package experiments

import (
	"os"

	"golang.org/x/sys/unix"
)

// dropCached asks the system to forget what it holds of files in memory, so
// that the next read comes from the storage. It needs no privilege, and does
// not touch pages that were not written back yet, or that are mapped.
func dropCached(paths []string) error {
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		err = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
		f.Close()
		if err != nil {
			return &os.PathError{Op: "fadvise", Path: path, Err: err}
		}
	}
	return nil
}

// fetched is how many bytes the process has had from storage devices.
func fetched() int64 {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return 512 * int64(u.Inblock)
}
