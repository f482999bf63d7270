// Package echo repeats data that was costly to make.
//
// Data echoing (Choi, Passos, Shallue, Dahl, "Faster Neural Network Training
// with Data Echoing", arXiv 1907.05550) puts a stage into the input pipeline
// that yields each item it receives e times, so that the stages after it are
// kept busy while the stages before it make the next. [Repeat] is that stage.
// A [Spec] says where in a pipeline it stands and how large e is.
package echo

import (
	"errors"
	"math/rand/v2"

	"github.com/reprise-ml/reprise/data"
)

// Item is a value that can be repeated: [data.Example], [data.Batch] and
// [data.Origin]. Echo(n) is its n-th copy, marked as such, sharing its
// memory; Echo(0) of a fresh item stays fresh. One that has a method
// Release is released when it will not be copied again. Rand gives a generator
// that depends on seed and the item's origin alone.
type Item[T any] interface {
	Echo(n int) T
	Rand(seed uint64) *rand.Rand
}

// Repeat yields each item of in f times: where f is not whole, one more or
// one less as drawn for each item from its own origin, so that the mean is f.
// A factor of 1 is in itself; one that is not from 1 to 1024 is an error. [Repeatedly] is the echo of Auto.
func Repeat[T Item[T]](in data.Seq[T], f Factor, seed uint64) data.Seq[T] {
	if err := f.Check(); err != nil {
		return data.Fail[T](err)
	}
	if f == Auto {
		return data.Fail[T](errAuto)
	}
	if f == 1 {
		return in
	}
	return func(yield func(T, error) bool) {
		for x, err := range in {
			if err != nil {
				yield(x, err)
				return
			}
			for n := range f.Times(x.Rand(seed)) {
				if !yield(x.Echo(n), nil) {
					return
				}
			}
			release(x)
		}
	}
}

var errAuto = errors.New("echo: Repeat takes a number as the factor; that of auto is Repeatedly")
