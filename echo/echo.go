// Package echo repeats data that was costly to make.
//
// Data echoing (Choi, Passos, Shallue, Dahl, "Faster Neural Network Training
// with Data Echoing", arXiv 1907.05550) puts a stage into the input pipeline
// that yields each item it receives e times, so that the stages after it are
// kept busy while the stages before it make the next. [Repeat] is that stage.
// A [Spec] says where in a pipeline it stands and how large e is.
package echo

import (
	"fmt"
	"math/rand/v2"

	"github.com/reprise-ml/reprise/data"
)

// Item is a value that can be repeated: [data.Example], [data.Batch] and
// [data.Origin]. Echo(n) is its n-th copy, marked as such, sharing its
// memory; Echo(0) of a fresh item stays fresh. An item that has a method
// Share(copies int) is told before how many there will be. Rand gives a generator that
// depends on seed and the item's origin alone.
type Item[T any] interface {
	Echo(n int) T
	Rand(seed uint64) *rand.Rand
}

// Repeat yields each item of in f times: where f is not whole, one more or
// one less as drawn for each item from its own origin, so that the mean is f.
// A factor of 1 is in itself; one that is not from 1 to 1024 is an error.
func Repeat[T Item[T]](in data.Seq[T], f Factor, seed uint64) data.Seq[T] {
	if err := f.Check(); err != nil {
		return data.Fail[T](err)
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
			times := f.Times(x.Rand(seed))
			if s, ok := any(x).(interface{ Share(copies int) }); ok {
				s.Share(times)
			}
			for n := range times {
				if !yield(x.Echo(n), nil) {
					return
				}
			}
		}
	}
}

// Factor is how many times an item is used on average, itself included: from
// 1 to 1024.
type Factor float64

// MaxFactor is the largest Factor: copies are numbered in base 1024.
const MaxFactor = 1024

// Check reports a factor that is out of range.
func (f Factor) Check() error {
	if !(f >= 1 && f <= MaxFactor) {
		return fmt.Errorf("echo: the factor is %g, want 1 to %d", float64(f), MaxFactor)
	}
	return nil
}

// Times rounds f up or down at random, with mean f: how often [Repeat] yields
// an item, if r is the item's Rand.
func (f Factor) Times(r *rand.Rand) int {
	n := int(f)
	if r.Float64() < float64(f)-float64(n) {
		n++
	}
	return n
}
