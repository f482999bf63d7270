package data

import "math/rand/v2"

// Shuffled is what a shuffle buffer can hold. After(last) is the item as it
// leaves the buffer when last is the item that entered it last.
type Shuffled[T any] interface{ After(last T) T }

// Shuffle keeps a buffer of size items; as each new one arrives it takes the
// place of a random one, which is yielded. At the end of in the rest is
// yielded in random order. A size below 2 keeps the order.
func Shuffle[T Shuffled[T]](in Seq[T], size int, seed uint64) Seq[T] {
	return func(yield func(T, error) bool) {
		r := rand.New(rand.NewPCG(mix(seed), 0))
		var buf []T
		var last T
		for x, err := range in {
			if err != nil {
				yield(x, err)
				return
			}
			last = x
			if len(buf)+1 < size {
				buf = append(buf, x)
				continue
			}
			if len(buf) > 0 {
				if i := r.IntN(len(buf) + 1); i < len(buf) {
					x, buf[i] = buf[i], x
				}
			}
			if !yield(x.After(last), nil) {
				return
			}
		}
		r.Shuffle(len(buf), func(i, j int) { buf[i], buf[j] = buf[j], buf[i] })
		for _, x := range buf {
			if !yield(x.After(last), nil) {
				return
			}
		}
	}
}
