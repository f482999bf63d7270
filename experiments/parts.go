package experiments

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/reprise-ml/reprise/data"
)

// Part is a part of a data set: a base, such as train, or a split of one.
type Part struct {
	Name   string
	Source data.Source
}

// Detect returns the data set at path as the first kind of source that can
// read it: folder, shards, cifar or idx.
func (r Registry) Detect(path string) (Choice[Source], error) {
	if _, err := os.Stat(path); err != nil && !strings.ContainsAny(path, "*?[") {
		return Choice[Source]{}, fmt.Errorf("experiments: %w", err)
	}
	at := Path(strings.ReplaceAll(path, "$", "$$"))
	errs := []error{fmt.Errorf("experiments: %s is no data set of a kind that is known", path)}
	for _, c := range []Choice[Source]{{"shards", &Shards{Path: at}}, {"folder", &Folder{Path: at}}, {"cifar", &Cifar{Path: at}}, {"idx", &Idx{Path: at}}} {
		if _, known := r.Sources[c.Name]; !known {
			continue
		}
		bases, err := c.Value.Bases()
		if err == nil && len(bases) > 0 {
			return c, nil
		}
		if err == nil {
			err = errors.New("there are no files of it")
		}
		errs = append(errs, fmt.Errorf("  no %s: %w", c.Name, err))
	}
	return Choice[Source]{}, errors.Join(errs...)
}

// wholeParts opens every part of a source.
func wholeParts(c Choice[Source]) ([]Part, error) {
	bases, err := c.Value.Bases()
	if err != nil {
		return nil, err
	}
	var parts []Part
	for _, base := range bases {
		src, err := c.Value.Open(base)
		if err != nil {
			return nil, err
		}
		if src.Len() == data.Endless {
			return nil, fmt.Errorf("experiments: %s of %s has no end", base, c.Name)
		}
		parts = append(parts, Part{base, src})
	}
	return parts, nil
}

// WholeParts opens every part of the data set at path.
func (r Registry) WholeParts(path string) ([]Part, error) {
	c, err := r.Detect(path)
	if err != nil {
		return nil, err
	}
	return wholeParts(c)
}

// Parts opens the splits of s: train, validation and, where there is one,
// test.
func (s Spec) Parts() ([]Part, error) {
	_, d, err := s.Open()
	if err != nil {
		return nil, SpecError{err}
	}
	parts := []Part{{"train", d.Train}, {"validation", d.Validation}, {"test", d.Test}}
	return slices.DeleteFunc(parts, func(p Part) bool { return p.Source == nil }), nil
}

// records reads the records of src, in its order.
func records(ctx context.Context, src data.Source, faults data.Faults) data.Seq[data.Example] {
	const atOnce = 8
	return data.Read(ctx, data.Once(src.Len()), atOnce, data.FromSource(src), faults)
}
