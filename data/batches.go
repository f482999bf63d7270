package data

// Batches groups size items at a time, made into a batch by form, and drops a
// short last group. A failure of form ends the stream. The group is form's
// only until it returns.
func Batches[T any](in Seq[T], size int, form func(group []T) (Batch, error)) Seq[Batch] {
	return func(yield func(Batch, error) bool) {
		group := make([]T, 0, size)
		ordinal := int64(0)
		for x, err := range in {
			if err != nil {
				yield(Batch{}, err)
				return
			}
			if group = append(group, x); len(group) < size {
				continue
			}
			b, err := form(group)
			if err != nil {
				yield(Batch{}, err)
				return
			}
			b.Ordinal = ordinal
			if !yield(b, nil) {
				return
			}
			ordinal++
			group = group[:0]
		}
	}
}

// Padded repeats the last item of in until their number is a multiple of
// size, and gives the batches that form makes of them weights that are 0 on
// the repeats. It is how evaluation sees every example just once in batches
// of one size.
func Padded[T any](in Seq[T], size int, form func(group []T) (Batch, error)) Seq[Batch] {
	weigh := func(group []T, real int, ordinal int64) (Batch, error) {
		b, err := form(group)
		if err == nil {
			b.Ordinal = ordinal
			b.Weights = Array{Shape: []int{size}, F32: make([]float32, size)}
			for i := range real {
				b.Weights.F32[i] = 1
			}
		}
		return b, err
	}
	return func(yield func(Batch, error) bool) {
		group := make([]T, 0, size)
		ordinal := int64(0)
		for x, err := range in {
			if err != nil {
				yield(Batch{}, err)
				return
			}
			if group = append(group, x); len(group) < size {
				continue
			}
			b, err := weigh(group, size, ordinal)
			if !yield(b, err) || err != nil {
				return
			}
			ordinal++
			group = group[:0]
		}
		if real := len(group); real > 0 {
			for len(group) < size {
				group = append(group, group[real-1])
			}
			yield(weigh(group, real, ordinal))
		}
	}
}
