package experiments

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/data/cifar"
	"github.com/reprise-ml/reprise/data/folder"
	"github.com/reprise-ml/reprise/data/idx"
	"github.com/reprise-ml/reprise/data/shards"
	"github.com/reprise-ml/reprise/data/synth"
)

// Path is a path in a Spec. ${NAME} in it stands for an environment variable,
// so that a Spec need not name a place on one machine, and $$ for $.
type Path string

// Expand returns the path with the variables replaced, each of which must be
// set.
func (p Path) Expand() (string, error) {
	if p == "" {
		return "", fmt.Errorf("path: is missing")
	}
	var missing string
	text := os.Expand(string(p), func(name string) string {
		if name == "$" {
			return name
		}
		v, ok := os.LookupEnv(name)
		if !ok {
			missing = name
		}
		return v
	})
	if missing != "" {
		return "", fmt.Errorf("path: %s names the environment variable %s, which is not set", p, missing)
	}
	return text, nil
}

// Folder is pictures in directories, one a class: package folder.
type Folder struct {
	Path Path `yaml:"path"`
}

// Bases implements [Source].
func (f *Folder) Bases() ([]string, error) {
	path, err := f.Path.Expand()
	if err != nil {
		return nil, err
	}
	return folder.Bases(path)
}

// Open implements [Source].
func (f *Folder) Open(base string) (data.Source, error) {
	path, err := f.Path.Expand()
	if err != nil {
		return nil, err
	}
	return folder.Open(path, base)
}

// Root implements [Filed].
func (f *Folder) Root() (string, error) { return f.Path.Expand() }

// Files implements [Filed].
func (f *Folder) Files() ([]string, error) {
	bases, err := f.Bases()
	if err != nil {
		return nil, err
	}
	var files []string
	for _, base := range bases {
		src, err := f.Open(base)
		if err != nil {
			return nil, err
		}
		for i := range src.Len() {
			files = append(files, data.RecordName(src, i))
		}
	}
	return files, nil
}

// Shards is pictures in tar archives: package shards. They are indexed once
// and stay open.
type Shards struct {
	Path          Path `yaml:"path"` // a .tar or .tar.gz, a pattern of such names, or a directory of them
	shards.Config `yaml:",inline"`

	archive *shards.Archive
}

func (s *Shards) load() (err error) {
	if s.archive != nil {
		return nil
	}
	path, err := s.Path.Expand()
	if err == nil {
		s.archive, err = s.Load(path)
	}
	return err
}

// Bases implements [Source].
func (s *Shards) Bases() ([]string, error) {
	if err := s.load(); err != nil {
		return nil, err
	}
	return s.archive.Bases(), nil
}

// Open implements [Source].
func (s *Shards) Open(base string) (data.Source, error) {
	if err := s.load(); err != nil {
		return nil, err
	}
	return s.archive.Open(base)
}

// Root implements [Filed].
func (s *Shards) Root() (string, error) { return s.Path.Expand() }

// Files implements [Filed].
func (s *Shards) Files() ([]string, error) {
	if err := s.load(); err != nil {
		return nil, err
	}
	files := s.archive.Files()
	if s.Names != "" {
		files = append(files, s.Names)
	}
	return files, nil
}

// Cifar is the binary files of CIFAR-10 or CIFAR-100: package cifar.
type Cifar struct {
	Path Path `yaml:"path"` // of their directory, or of the .tar.gz
}

// Bases implements [Source].
func (c *Cifar) Bases() ([]string, error) {
	path, err := c.Path.Expand()
	if err != nil {
		return nil, err
	}
	return cifar.Bases(path)
}

// Open implements [Source].
func (c *Cifar) Open(base string) (data.Source, error) {
	path, err := c.Path.Expand()
	if err != nil {
		return nil, err
	}
	return cifar.Open(path, base)
}

// Root implements [Filed].
func (c *Cifar) Root() (string, error) { return c.Path.Expand() }

// Files implements [Filed].
func (c *Cifar) Files() ([]string, error) { return filesAt(c.Path) }

// Idx is the files of MNIST and its like: package idx.
type Idx struct {
	Path Path `yaml:"path"` // of their directory
}

// Bases implements [Source].
func (c *Idx) Bases() ([]string, error) {
	path, err := c.Path.Expand()
	if err != nil {
		return nil, err
	}
	return idx.Bases(path)
}

// Open implements [Source].
func (c *Idx) Open(base string) (data.Source, error) {
	path, err := c.Path.Expand()
	if err != nil {
		return nil, err
	}
	return idx.Open(path, base)
}

// Root implements [Filed].
func (c *Idx) Root() (string, error) { return c.Path.Expand() }

// Files implements [Filed].
func (c *Idx) Files() ([]string, error) { return filesAt(c.Path) }

// filesAt returns the file at a path, or the visible files in the directory
// there.
func filesAt(p Path) ([]string, error) {
	path, err := p.Expand()
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return []string{path}, err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		if !e.IsDir() && !folder.IsHidden(e.Name()) {
			files = append(files, filepath.Join(path, e.Name()))
		}
	}
	return files, nil
}

// Synth is pictures that are drawn while they are read: package synth.
type Synth struct {
	synth.Config `yaml:",inline"` // Examples is for the training part
	Held         int              `yaml:"held"` // examples of the parts validation and test, each; default 1000
}

// Bases implements [Source].
func (*Synth) Bases() ([]string, error) { return synth.Bases(), nil }

// Open implements [Source].
func (s *Synth) Open(base string) (data.Source, error) {
	c := s.Config
	if base != "train" {
		if c.Examples = s.Held; c.Examples == 0 {
			c.Examples = 1000
		}
	}
	return c.Open(base)
}
