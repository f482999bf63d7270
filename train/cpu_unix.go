//go:build unix

package train

import (
	"time"

	"golang.org/x/sys/unix"
)

// CPUTime is the processor time of the process, user and system.
func CPUTime() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
