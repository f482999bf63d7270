package op

import (
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/reprise-ml/reprise/internal/kernel"
)

// Embedding takes rows of a table, [V, W], by number: ids is int32 [...], the result is [..., W]. A number that is no row of the table fails
// the run. Only the table has a gradient: the sum, for every row, of the gradients of where it went.
func Embedding(p *Pool, table, ids *gorgonia.Node) (*gorgonia.Node, error) {
	const name = "embedding"
	if err := checkFloat(name, "table", table, 0, 0); err != nil {
		return nil, err
	}
	if ids == nil || ids.Dtype() != tensor.Int32 || ids.Dims() == 0 {
		return nil, fmt.Errorf("op: %s: ids is %s, want int32 of at least one dimension", name, describe(ids))
	}
	n, width := ids.Shape().TotalSize(), table.Shape()[1]
	b, err := newBase(p, name, append(slices.Clone(ids.Shape()), width), table, ids)
	if err != nil {
		return nil, err
	}
	return gorgonia.ApplyOp(&embedding{b, kernel.NewEmbedding(p, n, width)}, table, ids)
}

type embedding struct {
	base
	kernel *kernel.Embedding
}

func (e *embedding) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	ids := in[1].(*tensor.Dense).Int32s()
	for i, id := range ids {
		if id < 0 || int(id) >= e.in[0][0] {
			return nil, fmt.Errorf("op: %s: number %d is %d, want 0 to %d", e.name, i, id, e.in[0][0]-1)
		}
	}
	e.kernel.Gather(e.output(), e.arg(in, 0), ids)
	return e.out, nil
}

func (e *embedding) DiffWRT(int) []bool { return []bool{true, false} }

func (e *embedding) SymDiff(in gorgonia.Nodes, _, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	b, err := newBase(e.pool, "embeddingBack", in[0].Shape(), in[1], grad)
	if err != nil {
		return nil, err
	}
	back := &embeddingBack{b, kernel.NewEmbedding(e.pool, in[1].Shape().TotalSize(), in[0].Shape()[1])}
	dtable, err := gorgonia.ApplyOp(back, in[1], grad)
	return gorgonia.Nodes{dtable, nil}, err
}

type embeddingBack struct {
	base
	kernel *kernel.Embedding
}

func (e *embeddingBack) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	clear(e.output())
	e.kernel.ScatterAdd(e.output(), e.arg(in, 1), in[0].(*tensor.Dense).Int32s())
	return e.out, nil
}
