package data

import (
	"fmt"
	"math/bits"
)

// Ordering is the order in which the records of a source are read.
type Ordering string

// The orderings. The zero Ordering is Permuted.
const (
	Permuted   Ordering = "permuted"   // a new permutation each epoch
	Sequential Ordering = "sequential" // as the source has them, each epoch
)

// Endless is the Len of a source that never ends; its records are numbered
// from zero and read in that order.
const Endless = -1

// Order yields the origins of one read after another without end: n records
// an epoch, each once, in an order that depends on seed and the epoch. It
// takes constant memory. No records, or an unknown ordering, is an error.
func Order(n int, ordering Ordering, seed uint64) Seq[Origin] {
	switch ordering {
	case Permuted, Sequential, "":
	default:
		return Fail[Origin](fmt.Errorf("data: order is %q, want %s or %s", ordering, Permuted, Sequential))
	}
	switch n {
	case 0:
		return Fail[Origin](fmt.Errorf("data: the source holds no records"))
	case Endless:
		return func(yield func(Origin, error) bool) {
			for read := int64(0); yield(Origin{Index: int(read), Read: read}, nil); read++ {
			}
		}
	}
	at := func(epoch, i uint64) uint64 { return permute(i, uint64(n), mix(seed^mix(epoch))) }
	if ordering == Sequential {
		at = func(_, i uint64) uint64 { return i }
	}
	return func(yield func(Origin, error) bool) {
		read := int64(0)
		for epoch := uint64(0); ; epoch++ {
			for i := range uint64(n) {
				if !yield(Origin{Index: int(at(epoch, i)), Read: read}, nil) {
					return
				}
				read++
			}
		}
	}
}

// Heads yields the first m origins of every n of in, and numbers their reads anew: of an order of n records, a part of
// each epoch.
func Heads(in Seq[Origin], n, m int) Seq[Origin] {
	return func(yield func(Origin, error) bool) {
		seen, read := 0, int64(0)
		for o, err := range in {
			if err == nil {
				at := seen % n
				if seen++; at >= m {
					continue
				}
				o.Read = read
				read++
			}
			if !yield(o, err) || err != nil {
				return
			}
		}
	}
}

// Once yields each of n records once, in the order of the source, as
// evaluation reads them.
func Once(n int) Seq[Origin] {
	return func(yield func(Origin, error) bool) {
		for i := range n {
			if !yield(Origin{Index: i, Read: int64(i)}, nil) {
				return
			}
		}
	}
}

// permute returns the place of i in a permutation of 0 … n-1 that is chosen
// by key: a Feistel network over the smallest power of two not below n,
// applied again while it leads outside (cycle walking: Black and Rogaway
// 2002).
func permute(i, n, key uint64) uint64 {
	if n < 2 {
		return i
	}
	width := bits.Len64(n - 1)
	low := width / 2
	for {
		i = feistel(i, low, width-low, key)
		if i < n {
			return i
		}
	}
}

// feistel permutes numbers of low+high bits. Each round adds a function of
// one half to the other and swaps the two. Few bits take more rounds: with 8
// rounds of 3 bits some permutations are half as likely again as others, with
// 24 no difference shows in 300,000 draws.
func feistel(x uint64, low, high int, key uint64) uint64 {
	rounds := max(8, 96/(low+high))
	for r := range uint64(rounds) {
		right := x & (1<<low - 1)
		left := (x >> low) ^ (mix(key^right<<8^r) & (1<<high - 1))
		x = right<<high | left
		low, high = high, low
	}
	return x
}
