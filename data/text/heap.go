package text

// heap is a priority queue: pop returns the least of its items.
type heap[T any] struct {
	less  func(a, b T) bool
	items []T
}

func (h *heap[T]) push(x T) {
	h.items = append(h.items, x)
	i := len(h.items) - 1
	for i > 0 {
		above := (i - 1) / 2
		if !h.less(h.items[i], h.items[above]) {
			return
		}
		h.items[i], h.items[above] = h.items[above], h.items[i]
		i = above
	}
}

// pop removes the least item of a heap that is not empty.
func (h *heap[T]) pop() T {
	least, last := h.items[0], len(h.items)-1
	h.items[0] = h.items[last]
	h.items = h.items[:last]
	for i := 0; ; {
		below := 2*i + 1
		if below >= last {
			return least
		}
		if below+1 < last && h.less(h.items[below+1], h.items[below]) {
			below++
		}
		if !h.less(h.items[below], h.items[i]) {
			return least
		}
		h.items[i], h.items[below] = h.items[below], h.items[i]
		i = below
	}
}
