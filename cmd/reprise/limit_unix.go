//go:build unix

package main

import (
	"os/signal"
	"syscall"
)

// ignoreFileLimit makes a write beyond the limit of a file's size (ulimit -f)
// fail as one to a full disk does, rather than end the process.
func ignoreFileLimit() { signal.Ignore(syscall.SIGXFSZ) }
