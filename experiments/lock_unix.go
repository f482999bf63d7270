//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package experiments

import (
	"os"

	"golang.org/x/sys/unix"
)

// flock locks an open file for this process alone, until it is closed or the
// process ends in whatever way. It reports whether it could.
func flock(f *os.File) (locked bool, err error) {
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == unix.EWOULDBLOCK {
		return false, nil
	}
	return err == nil, err
}
