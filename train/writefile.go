package train

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// WriteFile writes to path what write writes, so that path holds either what it held before or all of it, also after a crash: it goes
// to a temporary file in the same folder, which is flushed to storage and renamed to path, and the folder is flushed. A failure leaves
// no temporary file behind. The folder must exist.
func WriteFile(path string, write func(io.Writer) error) error {
	if err := writeFile(path, write); err != nil {
		return fmt.Errorf("train: writing %s: %w", path, err)
	}
	return nil
}

// writeNew writes a file that is not there yet, and flushes it to storage.
func writeNew(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	if err = write(f); err == nil {
		err = f.Sync()
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	return err
}

func writeFile(path string, write func(io.Writer) error) (err error) {
	temporary, err := createBeside(path)
	if err != nil {
		return err
	}
	renamed := false
	defer func() {
		if !renamed {
			temporary.Close() // closed twice where Close itself failed: harmless
			os.Remove(temporary.Name())
		}
	}()
	if err := write(temporary); err != nil {
		return err
	}
	if err := temporary.Sync(); err != nil {
		return err
	}
	if err := temporary.Close(); err != nil {
		return err
	}
	if err := os.Rename(temporary.Name(), path); err != nil {
		return err
	}
	renamed = true
	return syncFolder(filepath.Dir(path))
}

// createBeside creates a new file in the folder of path, with the permissions a new file has (those of os.CreateTemp are the owner's only).
func createBeside(path string) (*os.File, error) {
	folder, base := filepath.Split(path)
	if base == "" {
		return nil, errors.New("the path names no file")
	}
	for n := 0; ; n++ {
		name := filepath.Join(folder, fmt.Sprintf(".%s.%d-%d.tmp", base, os.Getpid(), n))
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}

// syncFolder makes a rename in the folder permanent, where the system knows how to.
func syncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil // a folder cannot be flushed there
	}
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	defer folder.Close()
	err = folder.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		return nil // some network file systems have no such call
	}
	return err
}
