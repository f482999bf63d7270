package data

import "slices"

// Batches groups size items at a time, made into a batch by form, and drops a
// short last group. A failure of form ends the stream. The group is form's
// only until it returns.
func Batches[T any](in Seq[T], size int, form func(group []T) (Batch, error)) Seq[Batch] {
	return groups(in, size, false, func(group []T, _ int) (Batch, error) { return form(group) })
}

// Padded repeats the last item of in until their number is a multiple of
// size, and makes the weights of the repeats 0 in the batches that form makes;
// those of other rows stay, or are 1 where form sets none. It is how evaluation sees every example just once in batches
// of one size.
func Padded[T any](in Seq[T], size int, form func(group []T) (Batch, error)) Seq[Batch] {
	return groups(in, size, true, func(group []T, real int) (Batch, error) {
		b, err := form(group)
		if err == nil {
			b.Weights = b.Weights.first(real, size)
		}
		return b, err
	})
}

// first returns the weights w of size rows, 1 where there are none, with 0
// from row n on.
func (w Array) first(n, size int) Array {
	if w.F32 == nil {
		w = Array{Shape: []int{size}, F32: slices.Repeat([]float32{1}, size)}
	}
	w.F32 = slices.Clone(w.F32)
	clear(w.F32[n*len(w.F32)/size:])
	return w
}

// groups makes a batch of each size items, of which the first real are no
// padding. A short last group is padded with its last item, or dropped.
func groups[T any](in Seq[T], size int, pad bool, form func(group []T, real int) (Batch, error)) Seq[Batch] {
	return func(yield func(Batch, error) bool) {
		group := make([]T, 0, size)
		ordinal := int64(0)
		next := func(real int) bool {
			b, err := form(group, real)
			if err != nil {
				yield(Batch{}, err)
				return false
			}
			b.Ordinal = ordinal
			ordinal++
			group = group[:0]
			return yield(b, nil)
		}
		for x, err := range in {
			if err != nil {
				yield(Batch{}, err)
				return
			}
			if group = append(group, x); len(group) >= size && !next(size) {
				return
			}
		}
		if real := len(group); pad && real > 0 {
			for len(group) < size {
				group = append(group, group[real-1])
			}
			next(real)
		}
	}
}
