// Package shards reads pictures from tar archives, one or many, packed with
// gzip or not. They hold either directories of classes, by the rules of
// package folder below whatever directory all pictures share,
//
//	cifar10/train/cat/1.jpg
//	cifar10/test/cat/1.jpg
//
// or pairs of a picture and the number of its class as text, as WebDataset
// has them:
//
//	000001.jpg 000001.cls
//	000002.jpg 000002.cls
//
// The part is the directory of that name, such as train; where there is none,
// the word in the archive's name, as in imagenet-train-000.tar; and otherwise
// all. Other members, and those whose path has a name that begins with a dot,
// are passed over.
//
// Archives are indexed once and read at random. One that is packed is
// unpacked to a cache first.
package shards

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/data/folder"
)

// Config says how archives are read. The zero Config does for most.
type Config struct {
	CacheDir string `yaml:"cache_dir"` // where archives are unpacked; "" means reprise/shards in the user's cache directory
	InMemory bool   `yaml:"in_memory"` // unpack to memory instead, as is done where no cache can be written
	Memory   int64  `yaml:"memory"`    // the most bytes that are unpacked to memory; 0 means 512 MiB
	Names    string `yaml:"names"`     // of pairs: a file with a class name a line, in the order of the numbers; "" means that classes are called by their numbers
}

// Open opens one part of the data set at path as the zero Config does.
func Open(path, base string) (*Source, error) { return Config{}.Open(path, base) }

// Open opens one part of the data set at path; see [Config.Load]. Closing
// the source closes the archives.
func (c Config) Open(path, base string) (*Source, error) {
	a, err := c.Load(path)
	if err != nil {
		return nil, err
	}
	s, err := a.Open(base)
	if err != nil {
		a.Close()
	}
	return s, err
}

// Archive is an indexed data set.
type Archive struct {
	path   string
	shards []*shard
	layout folder.Layout
	parts  map[string][]record
	names  []string // that the classes of records are numbers in
	pairs  bool
}

// record is a picture and its class.
type record struct {
	member
	class int32
}

// Load indexes the data set at path: an archive, a directory of archives
// (.tar, .tar.gz, .tgz), or a pattern such as data/train-*.tar. Archives that
// are damaged or cut off, links to what is not there, pictures of more than
// [folder.MaxFile] bytes, and pairs without a partner are errors.
//
// An archive in the cache is known by its path, size and time of change; a
// new version takes the place of an old one. Several processes may load one
// at the same time.
func (c Config) Load(path string) (*Archive, error) {
	files, err := expand(path)
	if err != nil {
		return nil, err
	}
	a := &Archive{path: path}
	u := &unpacker{Config: c}
	var members []member
	for i, file := range files {
		s, ms, err := u.open(file)
		if err != nil {
			a.Close()
			return nil, fmt.Errorf("shards: %s: %w", file, err)
		}
		a.shards = append(a.shards, s)
		for _, m := range ms {
			m.shard = int32(i)
			members = append(members, m)
		}
	}
	if err := a.arrange(members, c.Names); err != nil {
		a.Close()
		return nil, fmt.Errorf("shards: %s: %w", path, err)
	}
	return a, nil
}

// expand returns the archives that path stands for, sorted.
func expand(path string) ([]string, error) {
	info, err := os.Stat(path)
	switch {
	case err == nil && !info.IsDir():
		return []string{path}, nil
	case err == nil:
		entries, err := os.ReadDir(path)
		if err != nil {
			return nil, fmt.Errorf("shards: %w", err)
		}
		var files []string
		for _, e := range entries {
			name := strings.ToLower(e.Name())
			if !folder.IsHidden(name) && slices.ContainsFunc([]string{".tar", ".tar.gz", ".tgz"}, func(suffix string) bool {
				return strings.HasSuffix(name, suffix)
			}) {
				files = append(files, filepath.Join(path, e.Name()))
			}
		}
		if len(files) == 0 {
			return nil, fmt.Errorf("shards: %s holds no .tar, .tar.gz or .tgz files", path)
		}
		return files, nil
	case errors.Is(err, fs.ErrNotExist):
		files, err := filepath.Glob(path)
		if err != nil {
			return nil, fmt.Errorf("shards: the pattern %s: %w", path, err)
		}
		if len(files) == 0 {
			return nil, fmt.Errorf("shards: there is no %s; want a .tar or .tar.gz file, a directory of them, or a pattern such as data/*.tar", path)
		}
		return files, nil
	default:
		return nil, fmt.Errorf("shards: %w", err)
	}
}

// Bases returns the names of the parts, sorted.
func (a *Archive) Bases() []string { return a.layout.Bases() }

// Open returns one part. Pictures in directories are in the order of their
// paths, as package folder has them; pairs are in the order of the archive.
// Parts of one Archive share its files.
func (a *Archive) Open(base string) (*Source, error) {
	s := &Source{archive: a}
	err := a.layout.Find(base)
	if s.classes = a.names; err == nil && !a.pairs {
		s.classes, err = a.layout.Classes(base)
	}
	if err != nil {
		return nil, fmt.Errorf("shards: %s: %w", a.path, err)
	}
	s.records = slices.Clone(a.parts[base])
	if !a.pairs {
		labels := make([]int32, len(a.names))
		for i, name := range a.names {
			label, _ := slices.BinarySearch(s.classes, name)
			labels[i] = int32(label)
		}
		for i := range s.records {
			s.records[i].class = labels[s.records[i].class]
		}
	}
	return s, nil
}

// Files returns the paths of the archives.
func (a *Archive) Files() []string {
	files := make([]string, len(a.shards))
	for i, s := range a.shards {
		files[i] = s.path
	}
	return files
}

// Close closes the files. Sources of a cannot be read from then on.
func (a *Archive) Close() error {
	var errs []error
	for _, s := range a.shards {
		errs = append(errs, s.close())
	}
	return errors.Join(errs...)
}

// Source is one part of a data set: a [data.Labelled] and [data.Named] source
// of encoded pictures.
type Source struct {
	archive *Archive
	classes []string
	records []record
}

// Close closes the archives.
func (s *Source) Close() error { return s.archive.Close() }

// Len implements [data.Source].
func (s *Source) Len() int { return len(s.records) }

// Classes implements [data.Labelled].
func (s *Source) Classes() []string { return slices.Clone(s.classes) }

// Label implements [data.Labelled].
func (s *Source) Label(i int) int { return int(s.records[i].class) }

// Name implements [data.Named]: the path of the archive and, after a colon,
// that of the member.
func (s *Source) Name(i int) string {
	r := s.records[i]
	return s.archive.shards[r.shard].path + ":" + r.name
}

// Read implements [data.Source].
func (s *Source) Read(ctx context.Context, i int) (data.Example, error) {
	if err := ctx.Err(); err != nil {
		return data.Example{}, err
	}
	if i < 0 || i >= len(s.records) {
		return data.Example{}, fmt.Errorf("shards: there is no record %d, there are %d", i, len(s.records))
	}
	r := s.records[i]
	b, err := s.archive.shards[r.shard].read(r.member)
	if err != nil {
		return data.Example{}, fmt.Errorf("shards: %w", err)
	}
	return data.Example{Input: data.Picture{Encoded: b}, Target: data.Class(r.class)}, nil
}
