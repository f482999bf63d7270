package experiments

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// lockFile is the file in a run directory that the process which trains there
// has locked. It holds the number of that process, and stays.
const lockFile = "lock"

// lockRun locks a run directory for this process, until the file returned is
// closed or the process ends. Where nothing was ever locked it returns nil,
// unless it is to create the file. A directory that another process trains in
// is an error.
func lockRun(dir string, create bool) (*os.File, error) {
	how := os.O_RDWR
	if create {
		how |= os.O_CREATE
	}
	path := filepath.Join(dir, lockFile)
	f, err := os.OpenFile(path, how, 0o666)
	if !create && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)) {
		return nil, nil // what is wrong with the directory shows when it is to be written to
	}
	if err != nil {
		return nil, fmt.Errorf("run directory: %w", err)
	}
	locked, err := flock(f)
	if err == nil && !locked {
		pid, _ := os.ReadFile(path)
		err = fmt.Errorf("%s is being trained in by process %s", dir, strings.TrimSpace(string(pid)))
	}
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("run directory: %w", err)
	}
	return f, nil
}
