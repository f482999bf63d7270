package op_test

import (
	"hash"
	"hash/fnv"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// weigh as a Gorgonia operation; its gradient is another operation, weighBack.

func (w *weigh) Arity() int { return 1 }

func (w *weigh) Type() hm.Type {
	return hm.NewFnType(gorgonia.TensorType{Dims: w.shape.Dims(), Of: tensor.Float32}, tensor.Float32)
}

func (w *weigh) InferShape(...gorgonia.DimSizer) (tensor.Shape, error) {
	return tensor.ScalarShape(), nil
}

func (w *weigh) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	var sum float64
	for i, v := range in[0].(*tensor.Dense).Float32s() {
		sum += float64(v) * float64(w.weights[i])
	}
	*w.sum = gorgonia.F32(sum)
	return w.sum, nil
}

func (w *weigh) ReturnsPtr() bool      { return false }
func (w *weigh) CallsExtern() bool     { return false }
func (w *weigh) OverwritesInput() int  { return -1 }
func (w *weigh) WriteHash(h hash.Hash) { h.Write([]byte(w.String())) }
func (w *weigh) String() string        { return "weigh" }

func (w *weigh) Hashcode() uint32 {
	h := fnv.New32a()
	w.WriteHash(h)
	return h.Sum32()
}

func (w *weigh) DiffWRT(int) []bool { return []bool{true} }

func (w *weigh) SymDiff(_ gorgonia.Nodes, _, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	n, err := gorgonia.ApplyOp(&weighBack{w, tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(w.shape...))}, grad)
	return gorgonia.Nodes{n}, err
}

type weighBack struct {
	*weigh
	out *tensor.Dense
}

func (w *weighBack) Type() hm.Type {
	return hm.NewFnType(tensor.Float32, gorgonia.TensorType{Dims: w.shape.Dims(), Of: tensor.Float32})
}

func (w *weighBack) InferShape(...gorgonia.DimSizer) (tensor.Shape, error) {
	return w.shape.Clone(), nil
}

func (w *weighBack) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	copy(w.out.Float32s(), w.weights) // the gradient of the loss itself is 1
	return w.out, nil
}

func (w *weighBack) String() string { return "weighBack" }

func (w *weighBack) WriteHash(h hash.Hash) { h.Write([]byte(w.String())) }

func (w *weighBack) Hashcode() uint32 {
	h := fnv.New32a()
	w.WriteHash(h)
	return h.Sum32()
}

func (w *weighBack) DiffWRT(int) []bool { return []bool{false} }
