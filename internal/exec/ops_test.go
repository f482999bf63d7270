package exec

import (
	"errors"
	"fmt"
	"hash"
	"hash/fnv"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// toy is an op on one float32 tensor that owns its output: f writes it from
// the input. grad makes the gradient from the input, the output and its
// gradient.
type toy struct {
	name    string
	id      int
	dims    []int
	shape   tensor.Shape
	out     *tensor.Dense
	f       func(out []float32, in ...[]float32)
	grad    func(in, out, grad *gorgonia.Node) (*gorgonia.Node, error)
	args    [][]float32
	side    *tensor.Dense
	commits int
}

// apply adds the op to the graph of in; its result has the shape of in[0].
func (t *toy) apply(in ...*gorgonia.Node) *gorgonia.Node { return gorgonia.Must(t.node(in...)) }

func (t *toy) node(in ...*gorgonia.Node) (*gorgonia.Node, error) {
	t.id = len(in[0].Graph().AllNodes())
	t.shape = in[0].Shape().Clone()
	t.out = tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(t.shape.Clone()...))
	for _, n := range in {
		t.dims = append(t.dims, n.Dims())
	}
	return gorgonia.ApplyOp(t, in...)
}

func (t *toy) Do(v ...gorgonia.Value) (gorgonia.Value, error) {
	t.args = t.args[:0]
	for _, in := range v {
		t.args = append(t.args, in.(*tensor.Dense).Float32s())
	}
	t.f(t.out.Float32s(), t.args...)
	return t.out, nil
}

func (t *toy) Arity() int { return len(t.dims) }
func (t *toy) Type() hm.Type {
	var types []hm.Type
	for _, d := range append(t.dims, len(t.shape)) {
		types = append(types, gorgonia.TensorType{Dims: d, Of: tensor.Float32})
	}
	return hm.NewFnType(types...)
}
func (t *toy) InferShape(...gorgonia.DimSizer) (tensor.Shape, error) { return t.shape.Clone(), nil }
func (t *toy) ReturnsPtr() bool                                      { return false }
func (t *toy) CallsExtern() bool                                     { return false }
func (t *toy) OverwritesInput() int                                  { return -1 }
func (t *toy) WriteHash(h hash.Hash)                                 { fmt.Fprintf(h, "%s#%d", t.name, t.id) }
func (t *toy) Hashcode() uint32                                      { h := fnv.New32a(); t.WriteHash(h); return h.Sum32() }
func (t *toy) String() string                                        { return t.name }
func (t *toy) DiffWRT(n int) []bool {
	diff := make([]bool, n)
	for i := range diff {
		diff[i] = t.grad != nil
	}
	return diff
}
func (t *toy) SymDiff(in gorgonia.Nodes, out, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	d, err := t.grad(in[0], out, grad)
	return gorgonia.Nodes{d}, err
}
func (t *toy) Output() *tensor.Dense     { return t.out }
func (t *toy) SetOutput(d *tensor.Dense) { t.out = d }
func (t *toy) Commit()                   { t.commits++ }

// relu is max(0, x).
func relu(x *gorgonia.Node) *gorgonia.Node {
	t := &toy{name: "relu", f: func(out []float32, in ...[]float32) {
		for i, v := range in[0] {
			out[i] = max(v, 0)
		}
	}}
	t.grad = func(_, out, grad *gorgonia.Node) (*gorgonia.Node, error) {
		back := &toy{name: "relu backward", f: func(dx []float32, in ...[]float32) {
			for i, y := range in[0] {
				dx[i] = 0
				if y > 0 {
					dx[i] = in[1][i]
				}
			}
		}}
		return back.node(out, grad)
	}
	return t.apply(x)
}

// times is k·x.
func times(k float32, x *gorgonia.Node) *gorgonia.Node {
	t := &toy{name: "times", f: func(out []float32, in ...[]float32) {
		for i, v := range in[0] {
			out[i] = k * v
		}
	}}
	t.grad = func(_, _, grad *gorgonia.Node) (*gorgonia.Node, error) { return times(k, grad), nil }
	return t.apply(x)
}

// same is x under a new name.
type same struct{ toy }

func view(x *gorgonia.Node) *gorgonia.Node {
	s := &same{toy: toy{name: "view", shape: x.Shape().Clone(), dims: []int{x.Dims()}, id: len(x.Graph().AllNodes())}}
	s.grad = func(_, _, grad *gorgonia.Node) (*gorgonia.Node, error) { return view(grad), nil }
	return gorgonia.Must(gorgonia.ApplyOp(s, x))
}

func (s *same) Do(v ...gorgonia.Value) (gorgonia.Value, error) { return v[0], nil }
func (s *same) Aliases() int                                   { return 0 }
func (s *same) Output() *tensor.Dense                          { return nil }

// side fetches a tensor that belongs to another op.
type side struct {
	toy
	of *toy
}

// sideOf returns the side output of the op of x, a toy.
func sideOf(x *gorgonia.Node) *gorgonia.Node {
	s := &side{toy{name: "side", shape: x.Shape().Clone(), dims: []int{x.Dims()}, id: len(x.Graph().AllNodes())}, x.Op().(*toy)}
	return gorgonia.Must(gorgonia.ApplyOp(s, x))
}

func (s *side) Do(...gorgonia.Value) (gorgonia.Value, error) { return s.of.side, nil }
func (s *side) Output() *tensor.Dense                        { return nil }

var errBroken = errors.New("broken")

// broken fails with errBroken, or panics with v.
type broken struct {
	toy
	v any
}

func breaks(x *gorgonia.Node, v any) *gorgonia.Node {
	b := &broken{toy: toy{name: "broken", shape: x.Shape().Clone(), dims: []int{x.Dims()}}, v: v}
	return gorgonia.Must(gorgonia.ApplyOp(b, x))
}

func (b *broken) Do(...gorgonia.Value) (gorgonia.Value, error) {
	if b.v != nil {
		panic(b.v)
	}
	return nil, errBroken
}
