// Package cifar reads CIFAR-10 and CIFAR-100 in their binary form, from the
// .tar.gz as it is distributed or from the directory that it unpacks to.
package cifar

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reprise-ml/reprise/data"
)

// Side is the width and height of every picture, in pixels.
const Side = 32

const pixels = Side * Side

// form is one of the two layouts of files.
type form struct {
	name    string
	labels  int // bytes before the pixels of a record, of which the last is the class
	classes int
	parts   map[string]string // patterns of file names
	names   string            // file of class names
}

func forms() []form {
	return []form{
		{"CIFAR-10", 1, 10, map[string]string{"train": "data_batch_*.bin", "test": "test_batch.bin"}, "batches.meta.txt"},
		{"CIFAR-100", 2, 100, map[string]string{"train": "train.bin", "test": "test.bin"}, "fine_label_names.txt"},
	}
}

func (f form) record() int { return f.labels + 3*pixels }

// Source is one part of a data set: a [data.Labelled] and [data.Named] source
// of RGB pixels. It is held in memory.
type Source struct {
	form    form
	files   []batch
	classes []string
	starts  []int // number of the first record of each file, and one past the last
}

// batch is a file of records.
type batch struct {
	name    string
	records []byte
}

// Bases returns the names of the parts of the data set at path, sorted.
func Bases(path string) ([]string, error) {
	names, _, err := load(path, func(string) bool { return false })
	if err != nil {
		return nil, err
	}
	f, err := recognise(path, names)
	return f.bases(names), err
}

// Open reads train or test of the data set at path. Classes are in the order
// of their numbers; their names are those of the file that comes with the
// data (of the fine labels, in CIFAR-100), or the numbers where it is missing.
func Open(path, base string) (*Source, error) {
	names, contents, err := load(path, func(name string) bool {
		return slices.ContainsFunc(forms(), func(f form) bool { return name == f.names || f.holds(base, name) })
	})
	if err != nil {
		return nil, err
	}
	f, err := recognise(path, names)
	if err != nil {
		return nil, err
	}
	files := f.files(names, base)
	if len(files) == 0 {
		return nil, fmt.Errorf("cifar: %s has no part %q, it has %s", path, base, strings.Join(f.bases(names), ", "))
	}
	if err := consecutive(path, files); err != nil {
		return nil, err
	}
	s := &Source{form: f, starts: []int{0}}
	for _, name := range files {
		b := batch{filepath.Join(path, name), contents[name]}
		if err := f.verify(b); err != nil {
			return nil, err
		}
		s.files = append(s.files, b)
		s.starts = append(s.starts, s.Len()+len(b.records)/f.record())
	}
	s.classes, err = f.classNames(filepath.Join(path, f.names), contents[f.names])
	return s, err
}

// recognise tells which data set the files are of.
func recognise(path string, names []string) (form, error) {
	var found []form
	for _, f := range forms() {
		if len(f.bases(names)) > 0 {
			found = append(found, f)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return form{}, fmt.Errorf("cifar: %s holds neither data_batch_1.bin … test_batch.bin (CIFAR-10) nor train.bin and test.bin (CIFAR-100)", path)
	default:
		return form{}, fmt.Errorf("cifar: %s holds files of both CIFAR-10 and CIFAR-100; give each a directory of its own", path)
	}
}

// bases returns the parts of which there are files.
func (f form) bases(names []string) []string {
	var bases []string
	for base := range f.parts {
		if len(f.files(names, base)) > 0 {
			bases = append(bases, base)
		}
	}
	slices.Sort(bases)
	return bases
}

// holds reports whether a part is in files of that name.
func (f form) holds(base, name string) bool {
	ok, err := filepath.Match(f.parts[base], name)
	return ok && err == nil
}

// files returns the names of the files of a part, sorted.
func (f form) files(names []string, base string) []string {
	var of []string
	for _, name := range names {
		if f.holds(base, name) {
			of = append(of, name)
		}
	}
	slices.Sort(of)
	return of
}

// consecutive fails where one of data_batch_1.bin, data_batch_2.bin, … is
// missing before the last.
func consecutive(path string, files []string) error {
	for i := range files {
		want := fmt.Sprintf("data_batch_%d.bin", i+1)
		if strings.HasPrefix(files[0], "data_batch_") && !slices.Contains(files, want) {
			return fmt.Errorf("cifar: %s has %s but not %s", path, strings.Join(files, ", "), want)
		}
	}
	return nil
}

// verify checks the length of a file and its labels.
func (f form) verify(b batch) error {
	n := len(b.records) / f.record()
	if n == 0 || n*f.record() != len(b.records) {
		return fmt.Errorf("cifar: %s has %d bytes, want a multiple of the %d of a %s record; it is cut off or another file",
			b.name, len(b.records), f.record(), f.name)
	}
	for i := range n {
		if label := b.records[i*f.record()+f.labels-1]; int(label) >= f.classes {
			return fmt.Errorf("cifar: record %d of %s has the label %d, %s has labels below %d", i, b.name, label, f.name, f.classes)
		}
	}
	return nil
}

// classNames reads a file of one name a line; a nil text means numbers.
func (f form) classNames(file string, text []byte) ([]string, error) {
	var names []string
	if text == nil {
		width := len(fmt.Sprint(f.classes - 1))
		for c := range f.classes {
			names = append(names, fmt.Sprintf("%0*d", width, c))
		}
		return names, nil
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" {
			names = append(names, line)
		}
	}
	if len(names) != f.classes {
		return nil, fmt.Errorf("cifar: %s has %d names, want the %d of %s", file, len(names), f.classes, f.name)
	}
	if sorted := slices.Sorted(slices.Values(names)); len(slices.Compact(sorted)) != f.classes {
		return nil, fmt.Errorf("cifar: %s has a name twice", file)
	}
	return names, nil
}

// Len implements [data.Source].
func (s *Source) Len() int { return s.starts[len(s.starts)-1] }

// Classes implements [data.Labelled].
func (s *Source) Classes() []string { return slices.Clone(s.classes) }

// at returns the file of record i and its number in there.
func (s *Source) at(i int) (batch, int) {
	k, ok := slices.BinarySearch(s.starts, i)
	if !ok {
		k--
	}
	return s.files[k], i - s.starts[k]
}

// Label implements [data.Labelled].
func (s *Source) Label(i int) int {
	b, k := s.at(i)
	return int(b.records[k*s.form.record()+s.form.labels-1])
}

// Name implements [data.Named].
func (s *Source) Name(i int) string {
	b, k := s.at(i)
	return fmt.Sprintf("record %d of %s", k, b.name)
}

// Read implements [data.Source].
func (s *Source) Read(ctx context.Context, i int) (data.Example, error) {
	if err := ctx.Err(); err != nil {
		return data.Example{}, err
	}
	if i < 0 || i >= s.Len() {
		return data.Example{}, fmt.Errorf("cifar: there is no record %d, there are %d", i, s.Len())
	}
	b, k := s.at(i)
	record := b.records[k*s.form.record():][:s.form.record()]
	label, planes := record[s.form.labels-1], record[s.form.labels:]
	rgb := make([]uint8, 0, 3*pixels)
	for j := range pixels {
		rgb = append(rgb, planes[j], planes[pixels+j], planes[2*pixels+j])
	}
	return data.Example{Input: data.Picture{Pix: rgb, Width: Side, Height: Side}, Target: data.Class(label)}, nil
}
