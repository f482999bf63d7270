package experiments

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/data/text"
)

// Source is a data set as a Spec names it. Its parts, called bases, are for
// example train and test.
type Source interface {
	Bases() ([]string, error)              // names of the parts there are
	Open(base string) (data.Source, error) // one of them; a data.Labelled one for classification
}

// NoTest is the Data.Test of a run that shall not use the test data there is.
const NoTest = "none"

// Dataset is the data of a run, split.
type Dataset struct {
	Train      data.Source // read with echoes
	Validation data.Source // judges the target
	Test       data.Source // nil where there is none
	Classes    []string    // none of text
	Vocabulary int         // tokens that there are; 0 but of text
}

// Open opens the data of s, and returns s with the defaults filled in that
// depend on the data: the splits, and how often to evaluate.
func (s Spec) Open() (Spec, *Dataset, error) {
	s, err := s.nameSplits()
	if err != nil {
		return s, nil, err
	}
	opened := map[string]data.Source{}
	cut := func(key, split string) (data.Slice, data.Source, error) {
		slice, err := data.ParseSlice(split)
		if err != nil {
			return slice, nil, fmt.Errorf("data.%s: %w", key, err)
		}
		src, ok := opened[slice.Base]
		if !ok {
			if src, err = s.Data.Source.Value.Open(slice.Base); err != nil {
				return slice, nil, fmt.Errorf("data.%s: %w", key, err)
			}
			opened[slice.Base] = src
		}
		part, err := data.Subset(src, slice, s.Data.SplitSeed)
		if err != nil {
			return slice, nil, fmt.Errorf("data.%s: %w", key, err)
		}
		return slice, part, nil
	}
	var d Dataset
	var taken []data.Slice
	for _, part := range []struct {
		key, split string
		to         *data.Source
	}{{"train", s.Data.Train, &d.Train}, {"validation", s.Data.Validation, &d.Validation}, {"test", s.Data.Test, &d.Test}} {
		if part.split == "" || part.split == NoTest {
			continue
		}
		slice, src, err := cut(part.key, part.split)
		if err != nil {
			return s, nil, err
		}
		for _, other := range taken {
			if err := data.Disjoint(other, slice, opened[slice.Base].Len()); err != nil {
				return s, nil, err
			}
		}
		taken = append(taken, slice)
		*part.to = src
	}
	if s.Evaluate.Every.IsZero() {
		if s.Evaluate.Every = (Span{1, Epochs}); d.Train.Len() == data.Endless {
			s.Evaluate.Every = Span{10_000, Fresh}
		}
	}
	if err := d.check(s); err != nil {
		return s, nil, err
	}
	if m := &s.Input.Mix; !m.IsZero() {
		set(&m.Classes, len(d.Classes))
		if m.Classes != len(d.Classes) {
			return s, nil, fmt.Errorf("input.mix.classes: is %d, and the data has %d", m.Classes, len(d.Classes))
		}
	}
	return s, &d, nil
}

// nameSplits fills in the splits that s does not name.
func (s Spec) nameSplits() (Spec, error) {
	bases, err := s.Data.Source.Value.Bases()
	if err != nil {
		return s, fmt.Errorf("data.source: %w", err)
	}
	first := func(names ...string) string {
		for _, n := range names {
			if slices.Contains(bases, n) {
				return n
			}
		}
		return ""
	}
	d := &s.Data
	val := first("val", "validation", "valid", text.Heldout)
	switch {
	case d.Train == "" && d.Validation == "" && val == "":
		base := first("train", "all")
		if base == "" {
			return s, fmt.Errorf("data.train: is missing; the source has %s", strings.Join(bases, ", "))
		}
		d.Train, d.Validation = base+"[:90%]", base+"[90%:]"
	case d.Train == "":
		d.Train = first("train", "all")
	}
	if d.Validation == "" {
		d.Validation = val
	}
	if d.Train == "" || d.Validation == "" {
		return s, fmt.Errorf("data: want train and validation, such as train: train[:90%%] and validation: train[90%%:]; the source has %s", strings.Join(bases, ", "))
	}
	if d.Test == "" {
		d.Test = first("test")
		for _, taken := range []string{d.Train, d.Validation} {
			if slice, err := data.ParseSlice(taken); err == nil && slice.Base == d.Test {
				d.Test = ""
			}
		}
	}
	return s, nil
}

// check reports what keeps d from being trained on as s says.
func (d *Dataset) check(s Spec) error {
	parts := []data.Source{d.Train, d.Validation}
	if d.Test != nil {
		parts = append(parts, d.Test)
	}
	written, isText := s.textual()
	if isText {
		var err error
		if d.Vocabulary, err = written.Vocabulary(); err != nil {
			return fmt.Errorf("data.source: %w", err)
		}
	}
	for i, part := range parts {
		name := []string{"train", "validation", "test"}[i]
		l, ok := part.(data.Labelled)
		if !isText && !ok {
			return fmt.Errorf("data.%s: its records have no classes", name)
		}
		switch {
		case isText:
		case i == 0:
			d.Classes = l.Classes()
		case !slices.Equal(l.Classes(), d.Classes):
			return fmt.Errorf("data.%s: its classes %q are not those of train, %q", name, l.Classes(), d.Classes)
		}
		if n := part.Len(); n == 0 || i > 0 && n == data.Endless {
			return fmt.Errorf("data.%s: has %s records, want a number of them", name, map[int]string{0: "no", data.Endless: "endless"}[n])
		}
	}
	if d.Train.Len() == data.Endless {
		if s.Stop.MaxEpochs > 0 {
			return errors.New("stop.max_epochs: the training data has no end; want max_fresh or max_steps")
		}
		for _, span := range []struct {
			key  string
			unit Unit
		}{{"evaluate.every", s.Evaluate.Every.Unit}, {"log.every", s.Log.Every.Unit}, {"checkpoint.every", s.Checkpoint.Every.Unit}, {"train.rate.horizon", s.Train.Rate.Horizon.Unit}} {
			if span.unit == Epochs {
				return fmt.Errorf("%s: is in epochs, and the training data has no end", span.key)
			}
		}
	}
	if !isText && len(d.Classes) < 2 {
		return fmt.Errorf("data.train: has %d class, want at least 2", len(d.Classes))
	}
	if n := d.Train.Len(); n != data.Endless && n < s.Train.Batch {
		return fmt.Errorf("train.batch: is %d, more than the %d records of data.train (%s)", s.Train.Batch, n, s.Data.Train)
	}
	return nil
}

// shape is what d asks of a model.
func (d *Dataset) shape(s Spec) Shape {
	if t, ok := s.textual(); ok {
		return Shape{Classes: d.Vocabulary, Context: t.Length()}
	}
	return Shape{Size: s.Input.Size, Classes: len(d.Classes)}
}

// errNoPicture is found where the records tried are all damaged.
var errNoPicture = errors.New("none of the first records can be decoded")

// probe prepares a record of each part as training and evaluation will, so
// that a wrong size or an unreadable data set is found before the first step.
// It returns that of the training data, and what it was stored as.
func (d *Dataset) probe(ctx context.Context, s Spec) (sample data.Example, raw stored, err error) {
	for _, part := range []struct {
		name string
		src  data.Source
		augs []data.Augmentation
	}{
		{"train", d.Train, s.Input.chosen(slices.Concat(s.Input.Augment, s.Input.AugmentAfter))},
		{"validation", d.Validation, s.Input.chosen(s.Input.Resize)},
		{"test", d.Test, s.Input.chosen(s.Input.Resize)},
	} {
		if part.src == nil {
			continue
		}
		var size stored
		e, err := s.firstGood(ctx, part.src, size.watch(data.FromSource(part.src)), part.augs)
		if err != nil {
			return sample, raw, fmt.Errorf("data.%s: %w", part.name, err)
		}
		if part.name == "train" {
			sample, raw = s.fullest(e), size
		}
		if p, ok := e.Input.(data.Picture); ok && (p.Width != s.Input.Size || p.Height != s.Input.Size) {
			key := "input.augment"
			if part.name != "train" {
				key = "input.resize"
			}
			return sample, raw, SpecError{fmt.Errorf("%s: makes pictures of %d×%d pixels of %s, and input.size is %d", key, p.Width, p.Height, data.RecordName(part.src, e.Origin.Index), s.Input.Size)}
		}
	}
	return sample, raw, nil
}

// fullest returns an example like e that is as large as there may be one.
func (s Spec) fullest(e data.Example) data.Example {
	if t, ok := s.textual(); ok {
		e.Input, e.Target = make(data.Tokens, t.Length()), make(data.Tokens, t.Length())
	}
	return e
}

// firstGood returns the first record that is not damaged, prepared.
func (s Spec) firstGood(ctx context.Context, src data.Source, read data.Reader, augs []data.Augmentation) (data.Example, error) {
	faults := failing(src)
	tries := 0
	if s.Data.OnError == OnErrorSkip {
		faults = func(_ data.Origin, err error) error {
			if tries++; tries > 100 {
				return fmt.Errorf("%w, the last because %w", errNoPicture, err)
			}
			return nil
		}
	}
	n := src.Len()
	if n == data.Endless {
		n = 1
	}
	examples := data.Read(ctx, data.Once(n), 1, read, faults)
	for e, err := range (data.Preparation{Augmentations: augs, Seed: s.stage("augment"), Faults: faults}).Apply(ctx, examples, 1) {
		return e, err
	}
	return data.Example{}, errNoPicture
}

// values returns what was chosen.
func values[T any](choices []Choice[T]) []T {
	out := make([]T, len(choices))
	for i, c := range choices {
		out[i] = c.Value
	}
	return out
}
