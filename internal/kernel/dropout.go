package kernel

import "math"

// DropoutMask draws words [lo, hi) of a mask of one bit an element (element i is bit i%64 of word i/64): an element
// is kept, bit 1, with probability 1-rate. The bits are a function of the key and the element alone. The rate is in [0, 1) and
// is kept to 32 bits.
func DropoutMask(mask []uint64, lo, hi int, key uint64, rate float32) {
	drop := uint64(float64(rate) * (1 << 32))
	for w := lo; w < hi; w++ {
		var bits uint64
		for i := range uint64(32) { // one draw serves two elements
			r := Mix(key + (uint64(w)*32+i)*0x9e3779b97f4a7c15)
			// The top bit of a difference says which of two numbers below 2^32 is larger.
			bits |= (^(r&(1<<32-1) - drop) >> 63) << (2 * i)
			bits |= (^(r>>32 - drop) >> 63) << (2*i + 1)
		}
		mask[w] = bits
	}
}

// Mix is the output function of SplitMix64: a bijection of 64-bit numbers whose results look unrelated.
func Mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Dropout computes y[i] = x[i] * scale where the mask has a 1 and 0 elsewhere, for the 64 elements of each word of
// the mask; the last word may be used in part.
func Dropout(y, x []float32, mask []uint64, scale float32) {
	y = y[:len(x)]
	for i, v := range x {
		keep := -uint32(mask[i>>6] >> (i & 63) & 1) // all ones or none
		y[i] = math.Float32frombits(math.Float32bits(v*scale) & keep)
	}
}
