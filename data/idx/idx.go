// Package idx reads data sets in the format of MNIST: images and labels in a
// file each, IDX3 and IDX1 of unsigned bytes, packed with gzip or not.
//
// Fashion-MNIST, KMNIST and others use the same names and format.
package idx

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
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

// MaxBytes is the most that a file may hold, unpacked.
const MaxBytes = 4 << 30

// Source is one part of a data set: a [data.Labelled] and [data.Named] source
// of gray pictures as RGB pixels. It is held in memory.
type Source struct {
	file          string // of the images
	width, height int
	pix           []uint8 // gray, picture by picture
	labels        []uint8
	classes       []string
}

// prefixes maps the parts to how their file names begin.
func prefixes() map[string]string { return map[string]string{"train": "train", "test": "t10k"} }

// Bases returns the names of the parts of which dir has images, sorted.
func Bases(dir string) ([]string, error) {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("idx: %s does not exist; want a directory with train-images-idx3-ubyte or its like", dir)
	case err != nil:
		return nil, fmt.Errorf("idx: %w", err)
	case !info.IsDir():
		return nil, fmt.Errorf("idx: %s is a file; want the directory that holds it", dir)
	}
	var bases []string
	for base, prefix := range prefixes() {
		if _, err := find(dir, prefix, "images", 3); err == nil {
			bases = append(bases, base)
		}
	}
	slices.Sort(bases)
	return bases, nil
}

// Open reads one part of the data set in dir: train, from
// train-images-idx3-ubyte and train-labels-idx1-ubyte, or test, from
// t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte, each with or without
// .gz. The classes are called by their numbers, with leading zeros from ten
// classes up, and are those up to the highest label of either part.
func Open(dir, base string) (*Source, error) {
	bases, err := Bases(dir)
	if err != nil {
		return nil, err
	}
	prefix, ok := prefixes()[base]
	if !ok || len(bases) > 0 && !slices.Contains(bases, base) {
		return nil, fmt.Errorf("idx: %s has no part %q, it has %s", dir, base, strings.Join(bases, ", "))
	}
	s := &Source{}
	if s.file, err = find(dir, prefix, "images", 3); err != nil {
		return nil, err
	}
	shape, pix, err := load(s.file, 3)
	if err != nil {
		return nil, err
	}
	s.pix, s.height, s.width = pix, shape[1], shape[2]
	if s.height < 1 || s.width < 1 {
		return nil, fmt.Errorf("idx: %s: pictures are %d×%d pixels", s.file, s.width, s.height)
	}
	highest := uint8(0)
	for b, p := range prefixes() {
		if !slices.Contains(bases, b) {
			continue
		}
		file, err := find(dir, p, "labels", 1)
		if err != nil {
			return nil, err
		}
		_, labels, err := load(file, 1)
		if err != nil {
			return nil, err
		}
		if len(labels) > 0 {
			highest = max(highest, slices.Max(labels))
		}
		if b != base {
			continue
		}
		if s.labels = labels; len(labels) != shape[0] {
			return nil, fmt.Errorf("idx: %s has %d labels for the %d images of %s", file, len(labels), shape[0], filepath.Base(s.file))
		}
	}
	width := len(fmt.Sprint(highest))
	for c := range int(highest) + 1 {
		s.classes = append(s.classes, fmt.Sprintf("%0*d", width, c))
	}
	return s, nil
}

// find returns the path of the file of a kind.
func find(dir, prefix, kind string, dimensions int) (string, error) {
	name := fmt.Sprintf("%s-%s-idx%d-ubyte", prefix, kind, dimensions)
	for _, n := range []string{name, strings.Replace(name, "-idx", ".idx", 1)} {
		for _, suffix := range []string{"", ".gz"} {
			full := filepath.Join(dir, n+suffix)
			if info, err := os.Stat(full); err == nil && info.Mode().IsRegular() {
				return full, nil
			}
		}
	}
	return "", fmt.Errorf("idx: %s does not hold %s, with or without .gz", dir, name)
}

// load reads a file of so many dimensions.
func load(file string, dimensions int) (shape []int, values []uint8, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, nil, fmt.Errorf("idx: %w", err)
	}
	defer f.Close()
	shape, values, err = parse(f, dimensions, MaxBytes)
	if err != nil {
		return nil, nil, fmt.Errorf("idx: %s: %w", file, err)
	}
	return shape, values, nil
}

// parse reads values of unsigned bytes with their shape, up to limit bytes.
func parse(r io.Reader, dimensions int, limit int64) (shape []int, values []uint8, err error) {
	b := bufio.NewReader(r)
	if magic, _ := b.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, nil, err
		}
		b = bufio.NewReader(z)
	}
	header := make([]byte, 4+4*dimensions)
	if n, err := io.ReadFull(b, header); err != nil {
		return nil, nil, fmt.Errorf("the header is cut off after %d of %d bytes: %w", n, len(header), err)
	}
	if want := []byte{0, 0, 8, byte(dimensions)}; !bytes.Equal(header[:4], want) {
		return nil, nil, fmt.Errorf("it begins with % x, want % x for unsigned bytes in %d dimensions", header[:4], want, dimensions)
	}
	size := int64(1)
	for i := range dimensions {
		n := int64(binary.BigEndian.Uint32(header[4+4*i:]))
		shape = append(shape, int(n))
		if n != 0 && size > limit/n {
			return nil, nil, fmt.Errorf("the header says %s values, more than %d", times(header[4:]), limit)
		}
		size *= n
	}
	// What is there decides how much memory is taken, not the header.
	values, err = io.ReadAll(io.LimitReader(b, size+1))
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("after %d of %s values: %w", len(values), times(header[4:]), err)
	case int64(len(values)) < size:
		return nil, nil, fmt.Errorf("it is cut off after %d of %s values", len(values), times(header[4:]))
	case int64(len(values)) > size:
		return nil, nil, fmt.Errorf("it goes on after the %s values that the header says", times(header[4:]))
	}
	return shape, values, nil
}

// times writes the dimensions in a header.
func times(dimensions []byte) string {
	var s []string
	for ; len(dimensions) >= 4; dimensions = dimensions[4:] {
		s = append(s, fmt.Sprint(binary.BigEndian.Uint32(dimensions)))
	}
	return strings.Join(s, "×")
}

// Len implements [data.Source].
func (s *Source) Len() int { return len(s.labels) }

// Classes implements [data.Labelled].
func (s *Source) Classes() []string { return slices.Clone(s.classes) }

// Label implements [data.Labelled].
func (s *Source) Label(i int) int { return int(s.labels[i]) }

// Name implements [data.Named].
func (s *Source) Name(i int) string { return fmt.Sprintf("image %d of %s", i, s.file) }

// Read implements [data.Source].
func (s *Source) Read(ctx context.Context, i int) (data.Example, error) {
	if err := ctx.Err(); err != nil {
		return data.Example{}, err
	}
	if i < 0 || i >= len(s.labels) {
		return data.Example{}, fmt.Errorf("idx: there is no record %d, there are %d", i, len(s.labels))
	}
	n := s.width * s.height
	rgb := make([]uint8, 0, 3*n)
	for _, v := range s.pix[i*n:][:n] {
		rgb = append(rgb, v, v, v)
	}
	return data.Example{
		Input:  data.Picture{Pix: rgb, Width: s.width, Height: s.height},
		Target: data.Class(s.labels[i]),
	}, nil
}
