package exec

import (
	"cmp"
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// task is a step on its way to being planned.
type task struct {
	node *gorgonia.Node
	op   gorgonia.Op
	in   []int // slots of the arguments
	slot int   // of the result
}

// plan gives the results of all ops that allow it a place in one block.
func (m *Machine) plan(work []task) error {
	var (
		spans  []span
		owners []Owner
		shapes []tensor.Shape
		used   = map[Owner]bool{}
		into   = make([][]int, len(m.values)) // of every slot, the spans its value lies in
	)
	for at, t := range work {
		for _, s := range t.in {
			for _, i := range into[s] {
				spans[i].last = at
			}
		}
		owner, _ := t.op.(Owner)
		viewer, isViewer := t.op.(Viewer)
		var out *tensor.Dense
		if owner != nil {
			out = owner.Output()
		}
		switch {
		case out != nil:
			if used[owner] {
				return fmt.Errorf("exec: op %v stands for two nodes but owns one output", t.op)
			}
			used[owner] = true
			if !out.Shape().Eq(t.node.Shape()) {
				return fmt.Errorf("exec: op %v has output %v for a node of shape %v", t.op, out.Shape(), t.node.Shape())
			}
			if out.Dtype() != tensor.Float32 {
				break
			}
			into[t.slot] = []int{len(spans)}
			spans = append(spans, span{at, at, out.Shape().TotalSize()})
			owners, shapes = append(owners, owner), append(shapes, out.Shape().Clone())
		case isViewer:
			if i := viewer.Aliases(); i >= 0 {
				into[t.slot] = into[t.in[i]]
			}
		case owner != nil, t.node.IsScalar(): // a value in no planned place
		default:
			for _, s := range t.in {
				into[t.slot] = append(into[t.slot], into[s]...)
			}
			slices.Sort(into[t.slot])
			into[t.slot] = slices.Compact(into[t.slot])
		}
	}
	for _, s := range m.slots {
		for _, i := range into[s] {
			spans[i].last = len(work)
		}
	}

	offsets, size := place(spans)
	m.arena = make([]float32, size)
	for i, o := range owners {
		from, to := offsets[i], offsets[i]+spans[i].size
		o.SetOutput(tensor.New(tensor.WithShape(shapes[i]...), tensor.WithBacking(m.arena[from:to:to])))
	}
	return nil
}

// span is a piece of memory of size floats that is needed in the steps first
// to last, both included.
type span struct{ first, last, size int }

func (s span) meets(t span) bool { return s.first <= t.last && t.first <= s.last }

// line is the number of floats in a cache line; every place begins with one.
const line = 16

// place returns an offset for every span and the size of the whole, such that
// spans which meet in time do not meet in memory. The largest is placed first,
// each in the smallest gap that takes it.
func place(spans []span) (offsets []int, size int) {
	order := make([]int, len(spans))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(spans[b].size, spans[a].size) })

	offsets = make([]int, len(spans))
	var placed []int // by offset
	for _, i := range order {
		need := (spans[i].size + line - 1) / line * line
		end, best, gap := 0, -1, 0
		for _, j := range placed {
			if !spans[i].meets(spans[j]) {
				continue
			}
			if free := offsets[j] - end; free >= need && (best < 0 || free < gap) {
				best, gap = end, free
			}
			end = max(end, offsets[j]+(spans[j].size+line-1)/line*line)
		}
		if best < 0 {
			best = end
		}
		offsets[i] = best
		size = max(size, best+need)
		at, _ := slices.BinarySearchFunc(placed, best, func(j, o int) int { return cmp.Compare(offsets[j], o) })
		placed = slices.Insert(placed, at, i)
	}
	return offsets, size
}
