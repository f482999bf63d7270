package datatest_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/data/datatest"
)

// source is a good source of six records; the tests break one thing at a
// time.
type source struct {
	length  func() int
	classes []string
	label   func(i int) int
	name    func(i int) string
	read    func(ctx context.Context, i int) (data.Example, error)
}

func (s *source) Len() int          { return s.length() }
func (s *source) Classes() []string { return s.classes }
func (s *source) Label(i int) int   { return s.label(i) }
func (s *source) Name(i int) string { return s.name(i) }
func (s *source) Read(ctx context.Context, i int) (data.Example, error) {
	return s.read(ctx, i)
}

func example(i int) data.Example {
	return data.Example{
		Input:  data.Picture{Pix: []uint8{1, 2, uint8(i)}, Width: 1, Height: 1},
		Target: data.Class(i % 3),
	}
}

func good() *source {
	return &source{
		length:  func() int { return 6 },
		classes: []string{"a", "b", "c"},
		label:   func(i int) int { return i % 3 },
		name:    func(i int) string { return string(rune('A' + i)) },
		read: func(_ context.Context, i int) (data.Example, error) {
			if i < 0 || i >= 6 {
				return data.Example{}, errors.New("out of range")
			}
			return example(i), nil
		},
	}
}

func TestAGoodSourcePasses(t *testing.T) {
	datatest.TestSource(t, good(), datatest.Want{Len: 6, Classes: []string{"a", "b", "c"}})
	cancels := good()
	cancels.read = func(ctx context.Context, i int) (data.Example, error) {
		if err := ctx.Err(); err != nil {
			return data.Example{}, err
		}
		return good().read(ctx, i)
	}
	datatest.TestSource(t, cancels, datatest.Want{})
}

func TestAnEndlessSourcePasses(t *testing.T) {
	s := good()
	s.length = func() int { return data.Endless }
	s.name = func(i int) string { return "record " + string(rune('A'+i%1000)) + string(rune('A'+i/1000%1000)) }
	s.read = func(_ context.Context, i int) (data.Example, error) {
		if i < 0 {
			return data.Example{}, errors.New("out of range")
		}
		return example(i), nil
	}
	datatest.TestSource(t, s, datatest.Want{Len: data.Endless})
}

func TestEveryBrokenRuleIsReported(t *testing.T) {
	var calls atomic.Int64
	shared := example(0)
	for _, c := range []struct {
		name  string
		broke func(*source)
		want  datatest.Want
		says  string
	}{
		{"a length that changes", func(s *source) { s.length = func() int { return 5 + int(calls.Add(1)%2) } }, datatest.Want{}, "Len is"},
		{"a negative length", func(s *source) { s.length = func() int { return -2 } }, datatest.Want{}, "Len is -2"},
		{"another length", func(s *source) {}, datatest.Want{Len: 7}, "Len is 6, want 7"},
		{"no classes", func(s *source) { s.classes = nil }, datatest.Want{}, "no classes"},
		{"a class without a name", func(s *source) { s.classes[0] = "" }, datatest.Want{}, "has no name"},
		{"unsorted classes", func(s *source) { s.classes[0] = "z" }, datatest.Want{}, "not sorted"},
		{"equal classes", func(s *source) { s.classes[0] = "b" }, datatest.Want{}, "one name"},
		{"other classes", func(s *source) {}, datatest.Want{Classes: []string{"a"}}, `want ["a"]`},
		{"a label out of range", func(s *source) { s.label = func(int) int { return 3 } }, datatest.Want{}, "label of record 0 is 3"},
		{"a label that is not the target", func(s *source) { s.label = func(int) int { return 1 } }, datatest.Want{}, "target of record 0 is 0, its label 1"},
		{"an empty name", func(s *source) { s.name = func(int) string { return "" } }, datatest.Want{}, "record 0 has no name"},
		{"equal names", func(s *source) { s.name = func(int) string { return "x" } }, datatest.Want{}, "both named x"},
		{"a record that changes", change(func(e *data.Example) {
			e.Input = data.Picture{Pix: []uint8{0, byte(calls.Add(1)), 0}, Width: 1, Height: 1}
		}), datatest.Want{}, "differs when read again"},
		{"an origin", change(func(e *data.Example) { e.Origin.Read = 1 }), datatest.Want{}, "origin"},
		{"no input", change(func(e *data.Example) { e.Input = nil }), datatest.Want{}, "is empty"},
		{"a picture without pixels", change(func(e *data.Example) { e.Input = data.Picture{} }), datatest.Want{}, "0 of Encoded, Image and Pix"},
		{"a picture of a wrong size", change(func(e *data.Example) {
			e.Input = data.Picture{Pix: []uint8{1}, Width: 1, Height: 1}
		}), datatest.Want{}, "1 values for 1×1"},
		{"a picture that does not decode", change(func(e *data.Example) {
			e.Input = data.Picture{Encoded: []byte("no picture")}
		}), datatest.Want{}, "does not decode"},
		{"shared memory", change(func(e *data.Example) { e.Input = shared.Input }), datatest.Want{}, "writing to record"},
		{"records outside", func(s *source) {
			s.read = func(_ context.Context, i int) (data.Example, error) { return example(((i % 6) + 6) % 6), nil }
		}, datatest.Want{}, "there is a record -1 of 6"},
		{"a panic outside", func(s *source) {
			s.read = func(_ context.Context, i int) (data.Example, error) { return example([]int{0, 1, 2, 3, 4, 5}[i]), nil }
		}, datatest.Want{}, "panics"},
		{"an error", func(s *source) {
			s.read = func(context.Context, int) (data.Example, error) { return data.Example{}, errors.New("broken") }
		}, datatest.Want{}, "record 0: broken"},
		{"another error when cancelled", func(s *source) {
			read := s.read
			s.read = func(ctx context.Context, i int) (data.Example, error) {
				if ctx.Err() != nil {
					return data.Example{}, errors.New("broken")
				}
				return read(ctx, i)
			}
		}, datatest.Want{}, "cancelled context: broken"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := good()
			c.broke(s)
			errs := datatest.Check(s, c.want)
			if len(errs) == 0 || !strings.Contains(errors.Join(errs...).Error(), c.says) {
				t.Errorf("reported %v, want something with %q", errs, c.says)
			}
		})
	}
}

// change breaks the examples of a source.
func change(f func(*data.Example)) func(*source) {
	return func(s *source) {
		read := s.read
		s.read = func(ctx context.Context, i int) (data.Example, error) {
			e, err := read(ctx, i)
			if err == nil {
				f(&e)
			}
			return e, err
		}
	}
}

func TestARecordThatDiffersUnderConcurrencyIsReported(t *testing.T) {
	var calls atomic.Int64
	s := good()
	read := s.read
	s.read = func(ctx context.Context, i int) (data.Example, error) {
		if i == 0 && calls.Add(1) == 4 { // three reads of record 0 come before those of the eight goroutines
			i = 1
		}
		return read(ctx, i)
	}
	errs := datatest.Check(s, datatest.Want{})
	if len(errs) != 1 || !strings.Contains(errs[0].Error(), "record 0 differs under 8 readers") {
		t.Errorf("reported %v, want that record 0 differs under 8 readers", errs)
	}
}
