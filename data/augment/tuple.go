package augment

import "fmt"

// Range is a least and a largest value.
type Range [2]float64

// Color is red, green and blue.
type Color [3]uint8

// IsZero reports whether r is not given.
func (r Range) IsZero() bool { return r == Range{} }

// IsZero reports whether c is black.
func (c Color) IsZero() bool { return c == Color{} }

// UnmarshalYAML reads a list of two numbers.
func (r *Range) UnmarshalYAML(read func(any) error) error { return readTuple(r[:], read) }

// UnmarshalYAML reads a list of three numbers from 0 to 255.
func (c *Color) UnmarshalYAML(read func(any) error) error { return readTuple(c[:], read) }

// readTuple fills to from a list of just its length. The YAML package panics
// on a list longer than the array it is read into.
func readTuple[T any](to []T, read func(any) error) error {
	var list []T
	if err := read(&list); err != nil {
		return err
	}
	if len(list) != len(to) {
		return fmt.Errorf("augment: %v has %d values, want %d", list, len(list), len(to))
	}
	copy(to, list)
	return nil
}
