package text

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The parts of a set of text.
const (
	Train   = "train"
	Heldout = "heldout" // the part for validation
	Test    = "test"
	All     = "all" // of a set that names no parts
)

// words gives the part that a word in the name of a file or directory stands
// for.
var words = map[string]string{
	"train": Train, "training": Train,
	"heldout": Heldout, "val": Heldout, "valid": Heldout, "validation": Heldout, "dev": Heldout,
	"test": Test,
}

// partOf returns the part that a name has a word for, or "".
func partOf(name string) string {
	for _, w := range strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return strings.ContainsRune("-._ ", r) }) {
		if p := words[w]; p != "" {
			return p
		}
	}
	return ""
}

// Files returns the files of each part of the set at path, in the order of
// their names. A path is that of a file, of a directory, or a pattern such as
// news/*.gz. In a directory, files below a directory whose name has a word for
// a part are that part, as in the One Billion Word Benchmark,
//
//	training-monolingual.tokenized.shuffled/news.en-00001-of-00100
//	heldout-monolingual.tokenized.shuffled/news.en.heldout-00000-of-00050
//
// as are files whose own name has one, as wiki.train.txt. Where no name has
// one, all files are the part all; where some have, the others are passed
// over, as those are whose names begin with a dot.
func Files(path string) (map[string][]string, error) {
	parts := map[string][]string{}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		names, globErr := filepath.Glob(path)
		if globErr != nil || len(names) == 0 {
			return nil, fmt.Errorf("text: there is no %s; want a file, a directory of them, or a pattern such as news/*.gz", path)
		}
		for _, name := range names {
			if err := add(name, "", parts); err != nil {
				return nil, fmt.Errorf("text: %w", err)
			}
		}
	case err != nil:
		return nil, fmt.Errorf("text: %w", err)
	case !info.IsDir():
		return map[string][]string{All: {path}}, nil
	default:
		if err := below(path, "", parts); err != nil {
			return nil, fmt.Errorf("text: %w", err)
		}
	}
	if unnamed := parts[""]; len(parts) == 1 && unnamed != nil {
		parts[All] = unnamed
	}
	delete(parts, "")
	if len(parts) == 0 {
		return nil, fmt.Errorf("text: %s holds no files", path)
	}
	for _, files := range parts {
		slices.Sort(files)
	}
	return parts, nil
}

// below adds the files in a directory, which is of a part, to their parts.
func below(dir, part string, parts map[string][]string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := add(filepath.Join(dir, e.Name()), part, parts); err != nil {
			return err
		}
	}
	return nil
}

// add adds a file, or those in a directory, to its part: that of the directory
// it is in, where that is of one, and otherwise that of its name.
func add(path, part string, parts map[string][]string) error {
	name := filepath.Base(path)
	if strings.HasPrefix(name, ".") {
		return nil
	}
	if part == "" {
		part = partOf(name)
	}
	info, err := os.Stat(path) // of what a link leads to
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return below(path, part, parts)
	case info.Mode().IsRegular():
		parts[part] = append(parts[part], path)
	}
	return nil
}

// file is a file of text that can be read at random.
type file struct {
	path string
	io.ReaderAt
	size   int64
	closer io.Closer // nil of one that is held in memory
}

// maxHeld is the most bytes that packed files take in memory.
const maxHeld = 1 << 30

// openFile opens a file; a packed one is unpacked to memory, to no more than
// hold bytes.
func openFile(path string, hold int64) (f file, err error) {
	in, err := os.Open(path)
	if err != nil {
		return file{}, fmt.Errorf("text: %w", err)
	}
	defer func() {
		if f.closer == nil {
			in.Close()
		}
	}()
	info, err := in.Stat()
	if err != nil {
		return file{}, fmt.Errorf("text: %w", err)
	}
	head := make([]byte, len(zstdMagic))
	n, err := in.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return file{}, fmt.Errorf("text: %w", err)
	}
	if !isPacked(head[:n]) {
		return file{path, in, info.Size(), in}, nil
	}
	z, err := unpacked(in)
	if err != nil {
		return file{}, fmt.Errorf("text: %s: %w", path, err)
	}
	defer z.Close()
	b, err := io.ReadAll(io.LimitReader(z, hold+1))
	switch {
	case err != nil:
		return file{}, fmt.Errorf("text: %s: unpacking, after %d bytes: %w", path, len(b), err)
	case int64(len(b)) > hold:
		return file{}, fmt.Errorf("text: %s: unpacked, the set takes more than %d bytes of memory; want it read as a stream, or unpacked on disk", path, int64(maxHeld))
	}
	return file{path, bytes.NewReader(b), int64(len(b)), nil}, nil
}

// fileSet is files of text that are read at random.
type fileSet []file

// Close closes them.
func (files fileSet) Close() error {
	var errs []error
	for _, f := range files {
		if f.closer != nil {
			errs = append(errs, f.closer.Close())
		}
	}
	return errors.Join(errs...)
}
