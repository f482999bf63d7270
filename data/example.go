package data

import "math/rand/v2"

// Example is one training example on its way through the pipeline.
type Example struct {
	Input, Target Value
	Origin        Origin
	Reads         int64 // set by Shuffle: 1 + the highest Origin.Read that had entered the buffer when the example left it
}

func (e Example) origin() Origin { return e.Origin }

// Echo returns the n-th copy of e. It shares e's memory. Echo(0) of a fresh
// example stays fresh.
func (e Example) Echo(n int) Example {
	e.Origin = e.Origin.Echo(n)
	return e
}

// Rand returns the generator of e's origin.
func (e Example) Rand(seed uint64) *rand.Rand { return e.Origin.Rand(seed) }

// After notes in e that last had entered the shuffle buffer when e left it.
func (e Example) After(last Example) Example {
	e.Reads = last.Origin.Read + 1
	return e
}

// Size is the memory of the input and the target, in bytes.
func (e Example) Size() int {
	n := 0
	for _, v := range []Value{e.Input, e.Target} {
		if v != nil {
			n += v.Size()
		}
	}
	return n
}
