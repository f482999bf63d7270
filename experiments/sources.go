package experiments

import (
	"fmt"
	"os"

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
