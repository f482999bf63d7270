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
		r, err := as[Soft](v, i)
		if err == nil && len(r) != len(s) {
			err = fmt.Errorf("row %d has length %d, row 0 has %d", i, len(r), len(s))
		}
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

// Stack implements [Value]. Rows shorter than the context of f are filled up
// with zeros.
func (t Tokens) Stack(rows []Value, f Format) (Array, error) {
	length := len(t)
	if f.Context > 0 {
		length = f.Context
	}
	a := Array{Shape: []int{len(rows), length}, I32: make([]int32, len(rows)*length)}
	for i, v := range rows {
		r, err := as[Tokens](v, i)
		switch {
		case err != nil:
			return Array{}, err
		case f.Context > 0 && len(r) > length:
			return Array{}, fmt.Errorf("row %d has %d tokens, more than the context of %d", i, len(r), length)
		case f.Context == 0 && len(r) != length:
			return Array{}, fmt.Errorf("row %d has length %d, row 0 has %d", i, len(r), length)
		}
		copy(a.I32[i*length:], r)
	}
	return a, nil
}

// present is 1 for each of the tokens of rows and 0 where a context is filled
// up: float32 [N,T].
func present(rows []Value, context int) Array {
	a := Array{Shape: []int{len(rows), context}, F32: make([]float32, len(rows)*context)}
	for i, v := range rows {
		row := a.F32[i*context:][:len(v.(Tokens))]
		for j := range row {
			row[j] = 1
		}
	}
	return a
}

// as returns row i of a batch as a T, the kind of its first row.
func as[T Value](v Value, i int) (T, error) {
	t, ok := v.(T)
	if !ok {
		return t, fmt.Errorf("row %d is a %T, row 0 a %T", i, v, t)
	}
	return t, nil
}
