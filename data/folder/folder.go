// Package folder reads pictures from a directory in which every class has a
// directory of its own, with or without parts:
//
//	path/train/cat/1.jpg        path/cat/1.jpg
//	path/train/dog/a/2.jpeg     path/dog/a/2.jpeg
//	path/test/cat/3.png
//
// The parts are known by their names, such as train, val and test. A path
// without any is one part, which is called all. A picture is a file whose
// name ends in .jpg, .jpeg, .png, .gif or .webp, in capitals or not. Names that begin
// with a dot are passed over.
package folder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reprise-ml/reprise/data"
)

// MaxFile is the size of the largest file that is read, in bytes.
const MaxFile = 256 << 20

const wanted = "want directories of classes, as in PATH/cat/1.jpg, or parts with such, as in PATH/train/cat/1.jpg"

// Source is one part of a data set: a [data.Labelled] and [data.Named] source
// of encoded pictures, in the order of their paths.
type Source struct {
	root    string
	classes []string
	files   []file
}

type file struct {
	name  string // below root, with slashes
	label int32
}

// Bases returns the names of the parts of the data set at path, sorted.
func Bases(path string) ([]string, error) {
	l, err := survey(path)
	return l.Bases(), err
}

// Open lists the files of one part of the data set at path; see
// [Layout.Classes] for what its classes are. A class directory without
// pictures is an error.
//
// Links are followed, but for links to directories within a class. A file
// may go or change after Open: that shows when it is read.
func Open(path, base string) (*Source, error) {
	l, err := survey(path)
	if err != nil {
		return nil, err
	}
	s := &Source{root: path}
	if base != All {
		s.root = filepath.Join(path, base)
	}
	if dir, err := os.Stat(s.root); IsPart(base) && l[base] == nil && err == nil && dir.IsDir() {
		return nil, fmt.Errorf("folder: %s holds no directories; %s", s.root, wanted)
	}
	if s.classes, err = l.Classes(base); err != nil {
		return nil, fmt.Errorf("folder: %s: %w", path, err)
	}
	for _, class := range l[base] {
		label, _ := slices.BinarySearch(s.classes, class)
		before := len(s.files)
		if err := s.list(class, int32(label)); err != nil {
			return nil, fmt.Errorf("folder: %w", err)
		}
		if len(s.files) == before {
			return nil, fmt.Errorf("folder: %s: the class holds no .jpg, .jpeg, .png, .gif or .webp files", filepath.Join(s.root, class))
		}
	}
	slices.SortFunc(s.files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	return s, nil
}

// survey lists the class directories of every part of path.
func survey(path string) (Layout, error) {
	entries, err := os.ReadDir(path)
	switch info, e := os.Stat(path); {
	case errors.Is(e, fs.ErrNotExist):
		return nil, fmt.Errorf("folder: %s does not exist; %s", path, wanted)
	case e == nil && !info.IsDir():
		return nil, fmt.Errorf("folder: %s is a file; %s", path, wanted)
	case err != nil:
		return nil, fmt.Errorf("folder: %w", err)
	}
	top, err := directories(path, entries)
	if err != nil {
		return nil, err
	}
	l := Layout{}
	for _, name := range top {
		if !IsPart(name) {
			continue
		}
		dir := filepath.Join(path, name)
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, fmt.Errorf("folder: %w", err)
		}
		classes, err := directories(dir, entries)
		if err != nil {
			return nil, err
		}
		if len(classes) > 0 {
			l[name] = classes
		}
	}
	if len(l) == 0 && len(top) > 0 {
		l[All] = top
	}
	if len(l) == 0 {
		return nil, fmt.Errorf("folder: %s holds no directories; %s", path, wanted)
	}
	return l, nil
}

// directories returns the names of the visible directories, and links to
// such, among the entries of dir.
func directories(dir string, entries []fs.DirEntry) ([]string, error) {
	var names []string
	for _, e := range entries {
		if IsHidden(e.Name()) {
			continue
		}
		mode := e.Type()
		if mode&fs.ModeSymlink != 0 {
			info, err := os.Stat(filepath.Join(dir, e.Name()))
			if err != nil {
				return nil, fmt.Errorf("folder: following a link: %w", err)
			}
			mode = info.Mode()
		}
		if mode.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// list appends the pictures below dir, which is relative to the root.
func (s *Source) list(dir string, label int32) error {
	entries, err := os.ReadDir(filepath.Join(s.root, filepath.FromSlash(dir)))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if IsHidden(e.Name()) {
			continue
		}
		name := dir + "/" + e.Name()
		if e.IsDir() {
			if err := s.list(name, label); err != nil {
				return err
			}
			continue
		}
		mode, full := e.Type(), filepath.Join(s.root, filepath.FromSlash(name))
		if mode&fs.ModeSymlink != 0 {
			info, err := os.Stat(full)
			if err != nil {
				return fmt.Errorf("following a link: %w", err)
			}
			if mode = info.Mode(); mode.IsDir() {
				return fmt.Errorf("%s is a link to a directory, which is not followed within a class", full)
			}
		}
		if !IsPicture(name) {
			continue
		}
		if !mode.IsRegular() {
			return fmt.Errorf("%s is no regular file", full)
		}
		s.files = append(s.files, file{name, label})
	}
	return nil
}

// Len implements [data.Source].
func (s *Source) Len() int { return len(s.files) }

// Classes implements [data.Labelled].
func (s *Source) Classes() []string { return slices.Clone(s.classes) }

// Label implements [data.Labelled].
func (s *Source) Label(i int) int { return int(s.files[i].label) }

// Name implements [data.Named]: the path of the file.
func (s *Source) Name(i int) string {
	return filepath.Join(s.root, filepath.FromSlash(s.files[i].name))
}

// Read implements [data.Source]. It fails on a file of more than [MaxFile]
// bytes.
func (s *Source) Read(ctx context.Context, i int) (data.Example, error) {
	if err := ctx.Err(); err != nil {
		return data.Example{}, err
	}
	if i < 0 || i >= len(s.files) {
		return data.Example{}, fmt.Errorf("folder: there is no record %d, there are %d", i, len(s.files))
	}
	b, err := readFile(s.Name(i), MaxFile)
	if err != nil {
		return data.Example{}, fmt.Errorf("folder: %w", err)
	}
	return data.Example{Input: data.Picture{Encoded: b}, Target: data.Class(s.files[i].label)}, nil
}

// readFile returns what is in a file, up to limit bytes.
func readFile(name string, limit int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > limit {
		return nil, fmt.Errorf("the file has %d bytes, more than %d", info.Size(), limit)
	}
	b := make([]byte, info.Size())
	if _, err := io.ReadFull(f, b); err != nil {
		return nil, fmt.Errorf("the file is shorter than its %d bytes: %w", info.Size(), err)
	}
	return b, nil
}
