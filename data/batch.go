package data

import (
	"fmt"
	"math/rand/v2"
)

// Array is a dense array in row-major order: one of F32 and I32 is set. The
// first dimension is the batch.
type Array struct {
	Shape []int // images [N,H,W,C], tokens [N,T], classes [N]
	F32   []float32
	I32   []int32
}

// Batch is what the trainer consumes in one step. Its rows must not be
// written to: copies share them.
type Batch struct {
	Inputs, Targets []Array
	Weights         Array    // [N], or [N,T]; empty means 1 everywhere. The loss is Σ w·l / Σ w
	Origins         []Origin // one a row
	Reads           int64    // 1 + the highest Origin.Read that had entered the shuffle when the batch was formed; echoes keep it
	Ordinal         int64    // batches formed before this one; echoes keep it

	memory *lease // of Inputs; nil is the collector's
}

// Fresh returns how many rows of b are reads rather than echoes.
func (b Batch) Fresh() int {
	n := 0
	for _, o := range b.Origins {
		if o.Fresh() {
			n++
		}
	}
	return n
}

// Duplicates returns how many rows of b have a read that an earlier row of b
// has too.
func (b Batch) Duplicates() int {
	seen := make(map[int64]struct{}, len(b.Origins))
	for _, o := range b.Origins {
		seen[o.Read] = struct{}{}
	}
	return len(b.Origins) - len(seen)
}

// Rand returns the generator of b's first origin.
func (b Batch) Rand(seed uint64) *rand.Rand { return b.Origins[0].Rand(seed) }

// After returns b; see [Shuffle].
func (b Batch) After(Batch) Batch { return b }

// Release ends the use of b. Its arrays become those of another batch when it
// and all its copies are released, if [Format.Reusing] made it. One copy that
// is not leaves them to the collector.
func (b Batch) Release() { b.memory.release() }

// Keep returns b for somebody who goes on using it: its memory stays as it is,
// whoever releases a copy.
func (b Batch) Keep() Batch {
	const never = 1 << 24 // copies are released
	b.memory.add(never)
	b.memory = nil
	return b
}

// Echo returns the n-th copy of b. It shares b's arrays, and the origins of
// its rows are copies. Echo(0) of a fresh batch stays fresh.
func (b Batch) Echo(n int) Batch {
	origins := make([]Origin, len(b.Origins))
	for i, o := range b.Origins {
		origins[i] = o.Echo(n)
	}
	b.Origins = origins
	b.memory.add(1)
	return b
}

// Format says how the values of examples become rows of a batch.
type Format struct {
	Mean, Std []float32 // of each colour channel of a picture, on a scale of 0 to 1; empty means 0 and 1
	Context   int       // tokens of a row, to which shorter ones are filled up; 0 means that all must be equally long

	floats func(n int) []float32 // makes room for pixels, with any content; nil means make
}

// room returns n floats with any content.
func (f Format) room(n int) []float32 {
	if f.floats == nil {
		return make([]float32, n)
	}
	return f.floats(n)
}

// Reusing returns a function that joins groups as Batch does, and puts the
// pixels of a batch where those of another were that has been released.
func (f Format) Reusing() func(group []Example) (Batch, error) {
	var free freeList[[]float32]
	return func(group []Example) (Batch, error) {
		var taken []float32
		f := f
		f.floats = func(n int) []float32 {
			if taken != nil { // by an input of several parts
				return make([]float32, n)
			}
			if taken = free.take(); cap(taken) < n {
				taken = make([]float32, n)
			}
			taken = taken[:n]
			return taken
		}
		b, err := f.Batch(group)
		if err == nil && taken != nil {
			b.memory = newLease(func() { free.put(taken) })
		}
		return b, err
	}
}

// Batch joins a group of examples, at least one, in a batch. Where targets are
// tokens that are filled up to a context, it has weights, 0 on the filling.
func (f Format) Batch(group []Example) (Batch, error) {
	b := Batch{Origins: make([]Origin, len(group))}
	inputs, targets := make([]Value, len(group)), make([]Value, len(group))
	for i, e := range group {
		inputs[i], targets[i], b.Origins[i] = e.Input, e.Target, e.Origin
		b.Reads = max(b.Reads, e.Reads)
	}
	for _, part := range []struct {
		name string
		rows []Value
		to   *[]Array
	}{{"inputs", inputs, &b.Inputs}, {"targets", targets, &b.Targets}} {
		if part.rows[0] == nil {
			return Batch{}, fmt.Errorf("data: %s of a batch: record %d has none", part.name, group[0].Origin.Index)
		}
		a, err := part.rows[0].Stack(part.rows, f)
		if err != nil {
			return Batch{}, fmt.Errorf("data: %s of a batch: %w (its records are %s)", part.name, err, indices(b.Origins))
		}
		*part.to = []Array{a}
	}
	if _, ok := targets[0].(Tokens); ok && f.Context > 0 {
		b.Weights = present(targets, f.Context)
	}
	return b, nil
}

// indices writes the first few record numbers of a batch.
func indices(origins []Origin) string {
	s := ""
	for i, o := range origins {
		if i == 8 {
			return s + ", …"
		}
		if i > 0 {
			s += ", "
		}
		s += fmt.Sprint(o.Index)
	}
	return s
}
