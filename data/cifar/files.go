package cifar

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// maxFile is the most that one file is taken to hold, in bytes: ten times the
// largest, train.bin.
const maxFile = 2 << 30

// root returns the directory with the files, or the archive.
func root(p string) (dir string, archive bool, err error) {
	info, err := os.Stat(p)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", false, fmt.Errorf("cifar: %s does not exist; want cifar-10-binary.tar.gz, cifar-100-binary.tar.gz or the directory of one", p)
	case err != nil:
		return "", false, fmt.Errorf("cifar: %w", err)
	case !info.IsDir():
		return p, true, nil
	}
	for _, sub := range []string{"cifar-10-batches-bin", "cifar-100-binary"} {
		if info, err := os.Stat(filepath.Join(p, sub)); err == nil && info.IsDir() {
			return filepath.Join(p, sub), false, nil
		}
	}
	return p, false, nil
}

// load returns the names of the files at p, without directories, and what is
// in those that are wanted.
func load(p string, wanted func(name string) bool) (names []string, contents map[string][]byte, err error) {
	dir, archive, err := root(p)
	if err != nil {
		return nil, nil, err
	}
	contents = map[string][]byte{}
	if archive {
		err = members(dir, func(name string, r io.Reader) (err error) {
			names = append(names, name)
			if wanted(name) {
				contents[name], err = read(r)
			}
			return err
		})
		return names, contents, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("cifar: %w", err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
		if !wanted(e.Name()) {
			continue
		}
		f, err := os.Open(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, nil, fmt.Errorf("cifar: %w", err)
		}
		contents[e.Name()], err = read(f)
		f.Close()
		if err != nil {
			return nil, nil, fmt.Errorf("cifar: %s: %w", filepath.Join(dir, e.Name()), err)
		}
	}
	return names, contents, nil
}

func read(r io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err == nil && len(b) > maxFile {
		err = fmt.Errorf("it has more than %d bytes", maxFile)
	}
	return b, err
}

// members calls f for each file of a tar archive, packed with gzip or not.
func members(archive string, f func(name string, r io.Reader) error) error {
	file, err := os.Open(archive)
	if err != nil {
		return fmt.Errorf("cifar: %w", err)
	}
	defer file.Close()
	b := bufio.NewReader(file)
	var r io.Reader = b
	if magic, _ := b.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		if r, err = gzip.NewReader(b); err != nil {
			return fmt.Errorf("cifar: %s: %w", archive, err)
		}
	}
	in, last := tar.NewReader(r), "the beginning"
	for {
		h, err := in.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("cifar: %s: no tar archive, or damaged after %s: %w", archive, last, err)
		}
		last = h.Name
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if err := f(path.Base(h.Name), in); err != nil {
			return fmt.Errorf("cifar: %s: %s: %w", archive, h.Name, err)
		}
	}
}
