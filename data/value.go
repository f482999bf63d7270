package data

import "fmt"

// Value is the input or the target of an example: a [Picture], [Class],
// [Soft] or [Tokens], or a type of your own.
type Value interface {
	// Size is the memory the value holds, in bytes.
	Size() int
	// Stack joins values of the receiver's own kind, the rows of a batch, in
	// one array. It fails, naming the row, where their shapes differ.
	Stack(rows []Value, f Format) (Array, error)
}

// Class is the number of a class, from zero: int32 [N] in a batch.
type Class int32

// Size implements [Value].
func (Class) Size() int { return 4 }

// Stack implements [Value].
func (Class) Stack(rows []Value, _ Format) (Array, error) {
	a := Array{Shape: []int{len(rows)}, I32: make([]int32, len(rows))}
	for i, v := range rows {
		c, err := as[Class](v, i)
		if err != nil {
			return Array{}, err
		}
		a.I32[i] = int32(c)
	}
	return a, nil
}

// Soft is a weight for each of K classes, of sum 1: float32 [N,K] in a batch.
type Soft []float32

// Size implements [Value].
func (s Soft) Size() int { return 4 * len(s) }

// Stack implements [Value].
func (s Soft) Stack(rows []Value, _ Format) (Array, error) {
	a := Array{Shape: []int{len(rows), len(s)}, F32: make([]float32, 0, len(rows)*len(s))}
	for i, v := range rows {
		r, err := asLong[Soft](v, i, len(s))
		if err != nil {
			return Array{}, err
		}
		a.F32 = append(a.F32, r...)
	}
	return a, nil
}

// Tokens is a text as numbers of a vocabulary: int32 [N,T] in a batch.
type Tokens []int32

// Size implements [Value].
func (t Tokens) Size() int { return 4 * len(t) }

// Stack implements [Value].
func (t Tokens) Stack(rows []Value, _ Format) (Array, error) {
	a := Array{Shape: []int{len(rows), len(t)}, I32: make([]int32, 0, len(rows)*len(t))}
	for i, v := range rows {
		r, err := asLong[Tokens](v, i, len(t))
		if err != nil {
			return Array{}, err
		}
		a.I32 = append(a.I32, r...)
	}
	return a, nil
}

// as returns row i of a batch as a T, the kind of its first row.
func as[T Value](v Value, i int) (T, error) {
	t, ok := v.(T)
	if !ok {
		return t, fmt.Errorf("row %d is a %T, row 0 a %T", i, v, t)
	}
	return t, nil
}

// asLong is as for slices of n elements.
func asLong[T interface {
	Value
	~[]E
}, E any](v Value, i, n int) (T, error) {
	t, err := as[T](v, i)
	if err == nil && len(t) != n {
		err = fmt.Errorf("row %d has length %d, row 0 has %d", i, len(t), n)
	}
	return t, err
}
