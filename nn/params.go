package nn

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"gorgonia.org/tensor"
)

// Params holds the weights and running statistics of a model by path. The
// zero Params is empty and ready to use; building a graph with a [Scope] fills
// it. Graphs built with the same Params share its tensors.
type Params struct {
	list   []*Param
	byName map[string]*Param
	alias  func(name string) string // of a tensor for Import, see Scope.Alias
}

// Param is a weight or a running statistic.
type Param struct {
	// Name is the path, as in the state dict of PyTorch: layer1.0.conv1.weight.
	Name string
	// Value is float32. It is [kernel height, kernel width, in/groups, out] of a
	// convolution, [out, in] of a linear layer. It may be written to, not
	// exchanged: graphs hold it too.
	Value *tensor.Dense
	// Trainable is false for running statistics. Set it to false to freeze a
	// weight in graphs that are built after that.
	Trainable bool
	// Decay says that weight decay is meant for it: it has two dimensions or
	// more, so it is no bias, and no scale or shift of a normalisation.
	Decay bool
}

// Tensor is a weight outside of a graph, in the layout of PyTorch: [out, in/groups,
// kernel height, kernel width] of a convolution, [out, in] of a linear layer.
type Tensor struct {
	Name  string
	Shape []int
	Data  []float32
}

// All yields every Param in the order of creation.
func (p *Params) All() iter.Seq[*Param] { return slices.Values(p.list) }

// Lookup returns the Param of that name, or nil.
func (p *Params) Lookup(name string) *Param { return p.byName[name] }

// Count returns the number of trainable values: what is called the number of
// parameters of a model.
func (p *Params) Count() int {
	n := 0
	for _, q := range p.list {
		if q.Trainable {
			n += q.Value.Shape().TotalSize()
		}
	}
	return n
}

// add appends a Param of the given shape with the values of w.
func (p *Params) add(name string, trainable bool, shape []int, w []float32) *Param {
	q := &Param{
		Name:      name,
		Value:     tensor.New(tensor.WithShape(slices.Clone(shape)...), tensor.WithBacking(w)),
		Trainable: trainable,
		Decay:     trainable && len(shape) >= 2,
	}
	if p.byName == nil {
		p.byName = map[string]*Param{}
	}
	p.byName[name] = q
	p.list = append(p.list, q)
	return q
}

// Export returns a copy of every Param, in the order of creation.
func (p *Params) Export() []Tensor {
	out := make([]Tensor, len(p.list))
	for i, q := range p.list {
		shape, data := outside(q.Value.Shape()), make([]float32, q.Value.Shape().TotalSize())
		permute(q.Value.Shape(), func(inside, outside int) { data[outside] = q.Value.Float32s()[inside] })
		out[i] = Tensor{q.Name, shape, data}
	}
	return out
}

// Import overwrites every Param with the tensor of its name. Build a graph
// first: only that tells which weights the model has, and by which other
// names it knows them. Tensors named num_batches_tracked, which PyTorch keeps
// and nobody uses, are passed over.
//
// The match must be exact. The error names every Param without a tensor, every
// tensor without a Param or with a name seen before, and every shape that
// differs; nothing is overwritten then.
func (p *Params) Import(tensors []Tensor) error {
	var wrong []string
	found := map[string]Tensor{}
	for _, t := range tensors {
		if t.Name == "num_batches_tracked" || strings.HasSuffix(t.Name, ".num_batches_tracked") {
			continue
		}
		q, name := p.byName[t.Name], t.Name
		if q == nil && p.alias != nil {
			if name = p.alias(name); name == "" {
				continue
			}
			q = p.byName[name]
		}
		if _, twice := found[name]; twice {
			wrong = append(wrong, "twice "+t.Name)
			continue
		}
		found[name] = t
		if q == nil {
			wrong = append(wrong, "unexpected "+t.Name)
		} else if want := outside(q.Value.Shape()); !slices.Equal(t.Shape, want) {
			wrong = append(wrong, fmt.Sprintf("%s has shape %v, want %v", t.Name, t.Shape, want))
		} else if n := q.Value.Shape().TotalSize(); len(t.Data) != n {
			wrong = append(wrong, fmt.Sprintf("%s has %d values for shape %v", t.Name, len(t.Data), t.Shape))
		}
	}
	for _, q := range p.list {
		if _, ok := found[q.Name]; !ok {
			wrong = append(wrong, "missing "+q.Name)
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("nn: the weights do not fit the model: %s", strings.Join(wrong, "; "))
	}
	for _, q := range p.list {
		data := found[q.Name].Data
		permute(q.Value.Shape(), func(inside, outside int) { q.Value.Float32s()[inside] = data[outside] })
	}
	return nil
}

// outside returns the shape in PyTorch's layout of a weight of the given shape
// in ours: a weight of four dimensions is the kernel of a convolution.
func outside(shape []int) []int {
	if len(shape) == 4 {
		return []int{shape[3], shape[2], shape[0], shape[1]}
	}
	return slices.Clone(shape)
}

// permute calls f with the position of every value of a weight of the given
// shape, in our layout and in PyTorch's.
func permute(shape []int, f func(inside, outside int)) {
	if len(shape) != 4 {
		n := 1
		for _, d := range shape {
			n *= d
		}
		for i := range n {
			f(i, i)
		}
		return
	}
	height, width, in, out := shape[0], shape[1], shape[2], shape[3]
	inside := 0
	for y := range height {
		for x := range width {
			for i := range in {
				for o := range out {
					f(inside, ((o*in+i)*height+y)*width+x)
					inside++
				}
			}
		}
	}
}
