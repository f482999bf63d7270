// Package synth is a data set that is drawn while it is read: textured shapes
// over a cluttered ground, as JPEG files, with any number of classes,
// examples and pixels. It needs no download, and decoding costs what it costs
// for photographs of that size.
//
// The class decides the shape and the texture. Place, size, rotation,
// colours, lighting, the ground and the clutter, which is made of small
// shapes of any class, are drawn anew for each example. Neither the shape nor
// the texture nor a colour alone tells the class.
package synth

import (
	"bytes"
	"context"
	"fmt"
	"image/jpeg"
	"math/rand/v2"
	"slices"

	"github.com/reprise-ml/reprise/data"
)

// Config describes a data set. The zero Config has 10 classes of 32×32
// pictures and never ends.
type Config struct {
	Classes  int    `yaml:"classes"`  // 2 to 64; 0 means 10
	Size     int    `yaml:"size"`     // width and height in pixels, 8 to 512; 0 means 32
	Quality  int    `yaml:"quality"`  // of the JPEG files, 1 to 100; 0 means 85
	Plain    bool   `yaml:"plain"`    // large upright shapes without texture on an even ground, up to 8 classes: learnt within a minute
	Examples int    `yaml:"examples"` // of each part; 0 means that it never ends
	Seed     uint64 `yaml:"seed"`     // another seed is another set of the same kind
}

// Bases lists the parts of every data set, which share no example.
func Bases() []string { return []string{"train", "validation", "test"} }

// Open returns a part of the data set. Example i depends on the Config, base
// and i alone. It fails on a base that is not in [Bases] and on a field out
// of range.
func (c Config) Open(base string) (*Source, error) {
	part := slices.Index(Bases(), base)
	if part < 0 {
		return nil, fmt.Errorf("synth: the part is %q, want train, validation or test", base)
	}
	most := shapes * textures
	if c.Plain {
		most = shapes
	}
	for _, f := range []struct {
		name             string
		value            *int
		zero, least, max int
	}{
		{"classes", &c.Classes, min(10, most), 2, most},
		{"size", &c.Size, 32, 8, 512},
		{"quality", &c.Quality, 85, 1, 100},
	} {
		if *f.value == 0 {
			*f.value = f.zero
		} else if *f.value < f.least || *f.value > f.max {
			return nil, fmt.Errorf("synth: %s is %d, want %d to %d", f.name, *f.value, f.least, f.max)
		}
	}
	if c.Examples < 0 {
		return nil, fmt.Errorf("synth: examples is %d, want a number of them, or 0 for no end", c.Examples)
	}
	if c.Examples == 0 {
		c.Examples = data.Endless
	}
	s := &Source{config: c, base: base, part: part, kinds: c.kinds()}
	for _, k := range s.kinds {
		s.classes = append(s.classes, k.String())
	}
	return s, nil
}

// Source is a part of a synthetic data set: a [data.Labelled] and
// [data.Named] source of JPEG files.
type Source struct {
	config  Config
	base    string
	part    int
	kinds   []kind
	classes []string
}

// Len implements [data.Source]; it is [data.Endless] where the Config has no
// number of examples.
func (s *Source) Len() int { return s.config.Examples }

// Classes implements [data.Labelled]; a name is that of the shape and that of
// the texture, as in disc-dots.
func (s *Source) Classes() []string { return slices.Clone(s.classes) }

// Label implements [data.Labelled]. Of every Classes examples in a row,
// counted from 0, each class has one.
func (s *Source) Label(i int) int {
	n := len(s.kinds)
	return s.rand(labels, i/n).Perm(n)[i%n]
}

// Name implements [data.Named].
func (s *Source) Name(i int) string {
	return fmt.Sprintf("synth/%s/%s/%08d.jpg", s.base, s.classes[s.Label(i)], i)
}

// Read implements [data.Source]: it draws and encodes the picture.
func (s *Source) Read(ctx context.Context, i int) (data.Example, error) {
	if err := ctx.Err(); err != nil {
		return data.Example{}, err
	}
	if i < 0 || s.Len() != data.Endless && i >= s.Len() {
		return data.Example{}, fmt.Errorf("synth: there is no record %d, there are %d", i, s.Len())
	}
	label := s.Label(i)
	m := draw(s.kinds[label], s.config.Size, s.config.Plain, s.rand(pictures, i))
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, &jpeg.Options{Quality: s.config.Quality}); err != nil {
		return data.Example{}, fmt.Errorf("synth: %w", err)
	}
	return data.Example{Input: data.Picture{Encoded: b.Bytes()}, Target: data.Class(label)}, nil
}

// What a generator is for.
const (
	labels = iota
	pictures
)

// rand returns the generator of the i-th of what is drawn for use in this
// part. The constant keeps it apart from those that augment read i.
func (s *Source) rand(use, i int) *rand.Rand {
	const synth = 0x53594e5448
	return data.Origin{Read: int64(i), Copy: 2*s.part + use}.Rand(s.config.Seed ^ synth)
}
