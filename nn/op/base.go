package op

import (
	"errors"
	"fmt"
	"hash"
	"hash/fnv"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/reprise-ml/reprise/internal/kernel"
)

// Pool shares the parts of an operation among goroutines that live until Close. A nil *Pool runs all
// of them on the caller's.
type Pool = kernel.Pool

// NewPool starts a pool of the given number of threads, the caller being one of them; 0 means one
// for every processor. Close it after the machines that use it.
func NewPool(threads int) *Pool { return kernel.NewPool(threads) }

// Committer is an operation that keeps results of a run back until Commit: BatchNorm in training.
type Committer interface {
	// Commit publishes what the last run left; without a run since the last Commit it does nothing.
	Commit()
}

// base is what all operations share: identity, type, shapes and the output tensor.
type base struct {
	name  string
	id    int64
	typ   hm.Type
	in    []tensor.Shape
	shape tensor.Shape
	out   *tensor.Dense
	pool  *Pool
}

// newBase describes an operation on the given nodes with a float32 output; the output tensor is
// allocated unless the shape is a scalar's.
//
// Gorgonia merges nodes with equal hashes, so the hash holds the number the node will have: node numbers of
// a graph only grow, hence no two operations of a graph share one.
func newBase(p *Pool, name string, shape tensor.Shape, in ...*gorgonia.Node) (base, error) {
	b := base{name: name, shape: shape, pool: p}
	var types []hm.Type
	for i, n := range in {
		if n == nil {
			return b, fmt.Errorf("op: %s: input %d is nil", name, i)
		}
		types = append(types, n.Type())
		b.in = append(b.in, n.Shape())
	}
	g := in[0].Graph()
	if g == nil {
		return b, fmt.Errorf("op: %s: input %s belongs to no graph", name, in[0].Name())
	}
	for _, n := range in[1:] {
		if n.Graph() != g {
			return b, fmt.Errorf("op: %s: inputs %s and %s belong to different graphs", name, in[0].Name(), n.Name())
		}
	}
	nodes := g.AllNodes()
	b.id = nodes[len(nodes)-1].ID() + 1
	if shape.IsScalar() {
		types = append(types, tensor.Float32)
	} else {
		types = append(types, gorgonia.TensorType{Dims: shape.Dims(), Of: tensor.Float32})
		b.out = newTensor(shape)
	}
	b.typ = hm.NewFnType(types...)
	return b, nil
}

func newTensor(s tensor.Shape) *tensor.Dense {
	return tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(s.Clone()...))
}

func (b *base) Arity() int           { return len(b.in) }
func (b *base) Type() hm.Type        { return b.typ }
func (b *base) ReturnsPtr() bool     { return false }
func (b *base) CallsExtern() bool    { return false }
func (b *base) OverwritesInput() int { return -1 }
func (b *base) String() string       { return fmt.Sprintf("%s%v#%d", b.name, []int(b.shape), b.id) }

func (b *base) WriteHash(h hash.Hash) { fmt.Fprintf(h, "reprise %s#%d", b.name, b.id) }

func (b *base) Hashcode() uint32 {
	h := fnv.New32a()
	b.WriteHash(h)
	return h.Sum32()
}

// InferShape checks the inputs against the shapes the operation was made for.
func (b *base) InferShape(in ...gorgonia.DimSizer) (tensor.Shape, error) {
	shapes, err := gorgonia.DimSizersToShapes(in)
	if err != nil {
		return nil, fmt.Errorf("op: %s: %w", b.name, err)
	}
	if len(shapes) != len(b.in) {
		return nil, fmt.Errorf("op: %s: %d inputs, want %d", b.name, len(shapes), len(b.in))
	}
	for i, s := range shapes {
		if !s.Eq(b.in[i]) {
			return nil, fmt.Errorf("op: %s: input %d has shape %v, want %v", b.name, i, s, b.in[i])
		}
	}
	return b.shape.Clone(), nil
}

// Output is the tensor Do returns, nil where it may not be replaced.
func (b *base) Output() *tensor.Dense { return b.out }

// SetOutput makes Do write to and return t, which has the shape of Output.
func (b *base) SetOutput(t *tensor.Dense) {
	if b.out == nil || t == nil || !t.Shape().Eq(b.shape) || t.Dtype() != tensor.Float32 {
		panic(fmt.Sprintf("op: %v cannot take this output tensor", b))
	}
	b.out = t
}

// DiffWRT is false for every input: gradients are not differentiated again.
func (b *base) DiffWRT(inputs int) []bool { return make([]bool, inputs) }

// SymDiff fails; operations with a gradient have their own.
func (b *base) SymDiff(gorgonia.Nodes, *gorgonia.Node, *gorgonia.Node) (gorgonia.Nodes, error) {
	return nil, fmt.Errorf("op: %s: %w", b.name, errNoGradient)
}

var errNoGradient = errors.New("has no gradient")

// arg is the data of a float32 input. A value of another size than the node's is a bug and panics.
func (b *base) arg(in []gorgonia.Value, i int) []float32 {
	d := in[i].(*tensor.Dense).Float32s()
	if len(d) != b.in[i].TotalSize() {
		panic(fmt.Sprintf("op: %v: input %d holds %d floats, want shape %v", b, i, len(d), b.in[i]))
	}
	return d
}

func (b *base) output() []float32 { return b.out.Float32s() }

// every is n trues: every input has a gradient.
func every(n int) []bool {
	t := make([]bool, n)
	for i := range t {
		t[i] = true
	}
	return t
}

// checkFloat says what is wrong unless n is a float32 node whose shape has the given sizes, 0
// standing for any.
func checkFloat(op, what string, n *gorgonia.Node, sizes ...int) error {
	if n == nil {
		return fmt.Errorf("op: %s: %s is nil", op, what)
	}
	s := n.Shape()
	ok := len(s) == len(sizes)
	for i := 0; ok && i < len(s); i++ {
		ok = s[i] == sizes[i] || sizes[i] == 0
	}
	if !ok {
		return fmt.Errorf("op: %s: %s has shape %v, want %s", op, what, s, sizeString(sizes))
	}
	if n.Dtype() != tensor.Float32 {
		return fmt.Errorf("op: %s: %s has type %v, want float32", op, what, n.Dtype())
	}
	return nil
}

func sizeString(sizes []int) string {
	t := "("
	for i, s := range sizes {
		if i > 0 {
			t += ", "
		}
		if s == 0 {
			t += "any"
		} else {
			t += fmt.Sprint(s)
		}
	}
	return t + ")"
}

// pick returns a tensor that the operation of its input fills besides its output.
type pick struct {
	base
	side *tensor.Dense
}

func newPick(name string, of *gorgonia.Node, side *tensor.Dense) (*gorgonia.Node, error) {
	b, err := newBase(nil, name, side.Shape().Clone(), of)
	if err != nil {
		return nil, err
	}
	b.out = nil
	return gorgonia.ApplyOp(&pick{b, side}, of)
}

// ran is a one-float side output of a forward operation. A gradient that needs what the operation keeps
// to itself takes it as an input and so runs later, without holding on to the operation's output.
func ran(out *gorgonia.Node) (*gorgonia.Node, error) {
	return newPick("ran", out, newTensor(tensor.Shape{1}))
}

func (p *pick) Do(...gorgonia.Value) (gorgonia.Value, error) { return p.side, nil }
