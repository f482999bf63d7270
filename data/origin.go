package data

import "math/rand/v2"

// copies is the base in which the numbers of nested copies are written.
const copies = 1024

// Origin says where an example came from. It travels with the example.
type Origin struct {
	Index int   // position of the record in its source; of a stream: shard<<40 | record
	Read  int64 // records read before this one, over all epochs
	Copy  int   // 0 as read; see Echo
}

func (o Origin) origin() Origin { return o }

// Fresh reports whether o is a read rather than an echo of one.
func (o Origin) Fresh() bool { return o.Copy == 0 }

// Echo returns the origin of the n-th copy, n from 0 to 1023: its Copy is
// Copy·1024 + n, so that every use of a read has its own number, also where
// two places echo. Echo(0) of a fresh origin stays fresh.
func (o Origin) Echo(n int) Origin {
	o.Copy = o.Copy*copies + n
	return o
}

// Rand returns a generator that depends on seed, Read and Copy alone, so that
// a draw is the same whichever worker makes it and differs between the copies
// of one read.
func (o Origin) Rand(seed uint64) *rand.Rand {
	a := mix(seed ^ mix(uint64(o.Read)))
	return rand.New(rand.NewPCG(a, mix(a^uint64(o.Copy))))
}

// After returns o; see [Shuffle].
func (o Origin) After(Origin) Origin { return o }

// mix is the finaliser of SplitMix64 (Steele, Lea, Flood 2014) after its
// increment: a bijection in which every bit of x changes about half the bits.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
