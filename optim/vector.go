package optim

import (
	"fmt"
	"slices"
)

// Vector is a named run of float32s: a buffer in a checkpoint, or a weight or running statistic given to EMA.
type Vector struct {
	Name string
	Data []float32
}

// cloneVectors copies vs and what they hold.
func cloneVectors(vs []Vector) []Vector {
	out := make([]Vector, len(vs))
	for i, v := range vs {
		out[i] = Vector{v.Name, slices.Clone(v.Data)}
	}
	return out
}

// uniqueNames returns an error if two of vs have one name.
func uniqueNames(vs []Vector) error {
	seen := make(map[string]bool, len(vs))
	for _, v := range vs {
		if seen[v.Name] {
			return fmt.Errorf("%q is given twice", v.Name)
		}
		seen[v.Name] = true
	}
	return nil
}

// fill copies from into to by name. It is strict, and copies nothing on an error.
func fill(to, from []Vector) error {
	source := make(map[string][]float32, len(from))
	for _, v := range from {
		source[v.Name] = v.Data
	}
	wanted := make(map[string]bool, len(to))
	for _, v := range to {
		wanted[v.Name] = true
		if data, ok := source[v.Name]; !ok {
			return fmt.Errorf("state has no %q", v.Name)
		} else if len(data) != len(v.Data) {
			return fmt.Errorf("state has %d elements of %q, expected %d", len(data), v.Name, len(v.Data))
		}
	}
	for _, v := range from {
		if !wanted[v.Name] {
			return fmt.Errorf("state has %q, which is not expected", v.Name)
		}
	}
	for _, v := range to {
		copy(v.Data, source[v.Name])
	}
	return nil
}

// A count is stored as two float32s, both exact: its upper and its lower 24 bits.
const countBits = 24

func countVector(name string, n int64) Vector {
	return Vector{name, []float32{float32(n >> countBits), float32(n & (1<<countBits - 1))}}
}

// takeCount removes the count called name from state.
func takeCount(state []Vector, name string) (n int64, rest []Vector, err error) {
	i := slices.IndexFunc(state, func(v Vector) bool { return v.Name == name })
	if i < 0 {
		return 0, nil, fmt.Errorf("state has no %q", name)
	}
	const limit = 1 << countBits
	data := state[i].Data
	whole := func(f float32) bool { return f >= 0 && f < limit && f == float32(int64(f)) }
	if len(data) != 2 || !whole(data[0]) || !whole(data[1]) {
		return 0, nil, fmt.Errorf("%q is %v, expected two whole numbers from 0 below 2^%d", name, data, countBits)
	}
	return int64(data[0])<<countBits | int64(data[1]), slices.Delete(slices.Clone(state), i, i+1), nil
}
