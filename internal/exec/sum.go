package exec

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// sum stands in for Gorgonia's built-in addition of two float32 tensors of one
// shape. The built-in allocates its result on every run.
type sum struct {
	gorgonia.Op
	out *tensor.Dense
	add func(dst, a, b []float32)
}

func newSum(n *gorgonia.Node, add func(dst, a, b []float32)) *sum {
	if add == nil {
		add = plainSum
	}
	return &sum{n.Op(), tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(n.Shape().Clone()...)), add}
}

func (s *sum) Do(v ...gorgonia.Value) (gorgonia.Value, error) {
	s.add(s.out.Float32s(), v[0].(*tensor.Dense).Float32s(), v[1].(*tensor.Dense).Float32s())
	return s.out, nil
}

func (s *sum) String() string            { return "sum" }
func (s *sum) Output() *tensor.Dense     { return s.out }
func (s *sum) SetOutput(t *tensor.Dense) { s.out = t }

func plainSum(dst, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] + b[i]
	}
}

// sums finds the nodes that a [sum] may compute.
type sums struct {
	ops  map[int]gorgonia.Op // the built-in addition by number of dimensions
	seen map[*gorgonia.Node]bool
}

// match reports whether n is the built-in sum of two float32 tensors of equal
// shape whose values lie in order: the results of ops that say how they keep
// them, or of another sum. Results of other built-in ops may be views.
func (s *sums) match(n *gorgonia.Node, in gorgonia.Nodes) bool {
	if len(in) != 2 || n.Dims() == 0 || n.Dtype() != tensor.Float32 || n.Op() != s.builtin(n.Dims()) {
		return false
	}
	for _, c := range in {
		_, owns := c.Op().(Owner)
		_, views := c.Op().(Viewer)
		if !owns && !views && !s.seen[c] || !c.Shape().Eq(n.Shape()) {
			return false
		}
	}
	s.seen[n] = true
	return true
}

// builtin returns the built-in addition of tensors of d dimensions. Its type
// is not exported, but its values can be compared.
func (s *sums) builtin(d int) gorgonia.Op {
	if op, ok := s.ops[d]; ok {
		return op
	}
	shape := make(tensor.Shape, d)
	for i := range shape {
		shape[i] = 2
	}
	g := gorgonia.NewGraph()
	x := gorgonia.NewTensor(g, tensor.Float32, d, gorgonia.WithShape(shape...), gorgonia.WithName("x"))
	y := gorgonia.NewTensor(g, tensor.Float32, d, gorgonia.WithShape(shape...), gorgonia.WithName("y"))
	s.ops[d] = gorgonia.Must(gorgonia.Add(x, y)).Op()
	return s.ops[d]
}
