package op

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/reprise-ml/reprise/internal/kernel"
)

// SoftmaxCrossEntropy is the weighted mean Σ w·l / Σ w over the rows of the cross-entropy l of the softmax of the
// logits, a scalar; it is 0 where Σ w is 0. logits is [N, K] or [N, T, K], rows being the dimensions but the last; target is int32 [N] or [N, T] (class numbers
// in [0, K)) or float32 like the logits (a weight for every class); weights is [N] or [N, T], and one of N counts for each of the T rows. Label smoothing in [0, 1] mixes the target with the uniform
// distribution, as PyTorch does: t = (1-smoothing)·target + smoothing/K.
//
// Only the logits have a gradient. A row of weight 0 is skipped: its logits and its class may be anything. A class out of range
// elsewhere fails the run. The operation keeps the rows' losses of the last run: RowLosses() []float32.
func SoftmaxCrossEntropy(p *Pool, logits, target, weights *gorgonia.Node, smoothing float32) (*gorgonia.Node, error) {
	const name = "softmaxCrossEntropy"
	each, err := checkCrossEntropy(name, logits, target, weights, smoothing)
	if err != nil {
		return nil, err
	}
	s := logits.Shape()
	places, classes := rows(s), s[len(s)-1]
	b, err := newBase(p, name, tensor.ScalarShape(), logits, target, weights)
	if err != nil {
		return nil, err
	}
	l := &crossEntropy{base: b, classes: classes, each: each, smoothing: smoothing, loss: gorgonia.NewF32(0)}
	l.losses, l.logSums = make([]float32, places.TotalSize()), make([]float64, places.TotalSize())
	l.part = l.row
	return gorgonia.ApplyOp(l, logits, target, weights)
}

// checkCrossEntropy returns how many rows a weight is for, and says what is wrong with the inputs of a cross-entropy.
func checkCrossEntropy(name string, logits, target, weights *gorgonia.Node, smoothing float32) (each int, err error) {
	if err := checkTensor(name, "logits", logits); err != nil {
		return 0, err
	}
	s := logits.Shape()
	if len(s) != 2 && len(s) != 3 {
		return 0, fmt.Errorf("op: %s: logits has shape %v, want (N, K) or (N, T, K)", name, s)
	}
	places := rows(s)
	if target == nil || !(target.Dtype() == tensor.Int32 && target.Shape().Eq(places) || target.Dtype() == tensor.Float32 && target.Shape().Eq(s)) {
		return 0, fmt.Errorf("op: %s: target is %s, want int32 %s or float32 %s", name, describe(target), sizeString(places), sizeString(s))
	}
	if weights == nil || weights.Dims() != 1 {
		if err := checkFloat(name, "weights", weights, places...); err != nil {
			return 0, err
		}
	} else if err := checkFloat(name, "weights", weights, s[0]); err != nil {
		return 0, err
	}
	if !(smoothing >= 0 && smoothing <= 1) {
		return 0, fmt.Errorf("op: %s: label smoothing %v, want 0 to 1", name, smoothing)
	}
	return places.TotalSize() / weights.Shape().TotalSize(), nil
}

func describe(n *gorgonia.Node) string {
	if n == nil {
		return "nil"
	}
	return fmt.Sprintf("%v %v", n.Dtype(), n.Shape())
}

type crossEntropy struct {
	base
	classes   int
	each      int // rows of a weight
	smoothing float32
	loss      *gorgonia.F32
	losses    []float32 // [rows]
	logSums   []float64 // [rows], of the exponentials of the logits
	total     float64   // Σ w
	logits    []float32
	target    targets
	weights   []float32
	part      func(worker, part int)
}

// targets are classes or, where these are nil, distributions.
type targets struct {
	classes []int32
	soft    []float32
}

// row is the target of row n in the form the kernels take.
func (t targets) row(n, classes int) (soft []float32, label int) {
	if t.classes == nil {
		return t.soft[n*classes : (n+1)*classes], 0
	}
	return nil, int(t.classes[n])
}

func (b *base) targetArg(in []gorgonia.Value, i int) targets {
	if d := in[i].(*tensor.Dense); d.Dtype() == tensor.Int32 {
		return targets{classes: d.Int32s()}
	}
	return targets{soft: b.arg(in, i)}
}

// RowLosses are the losses of the rows in the last run, 0 where the weight was; valid until the next.
func (l *crossEntropy) RowLosses() []float32 { return l.losses }

func (l *crossEntropy) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	l.logits, l.target, l.weights = l.arg(in, 0), l.targetArg(in, 1), l.arg(in, 2)
	for n, c := range l.target.classes {
		if (c < 0 || int(c) >= l.classes) && l.weights[n/l.each] != 0 {
			return nil, fmt.Errorf("op: %s: row %d is of class %d, want 0 to %d", l.name, n, c, l.classes-1)
		}
	}
	l.pool.Run(len(l.losses), l.part)
	var sum float64
	l.total = 0
	for n, loss := range l.losses {
		if w := l.weights[n/l.each]; w != 0 {
			sum += float64(w) * float64(loss)
			l.total += float64(w)
		}
	}
	*l.loss = 0
	if l.total != 0 {
		*l.loss = gorgonia.F32(sum / l.total)
	}
	l.logits, l.target, l.weights = nil, targets{}, nil
	return l.loss, nil
}

func (l *crossEntropy) row(_, n int) {
	l.losses[n] = 0
	if l.weights[n/l.each] == 0 {
		return
	}
	k := l.classes
	soft, label := l.target.row(n, k)
	var loss float64
	loss, l.logSums[n] = kernel.CrossEntropy(l.logits[n*k:(n+1)*k], soft, label, l.smoothing)
	l.losses[n] = float32(loss)
}

func (l *crossEntropy) DiffWRT(int) []bool { return []bool{true, false, false} }

func (l *crossEntropy) SymDiff(in gorgonia.Nodes, out, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	b, err := newBase(l.pool, "softmaxCrossEntropyBack", in[0].Shape(), in[0], in[1], in[2], grad, out)
	if err != nil {
		return nil, err
	}
	back := &crossEntropyBack{base: b, forward: l}
	back.part = back.row
	dx, err := gorgonia.ApplyOp(back, in[0], in[1], in[2], grad, out)
	return gorgonia.Nodes{dx, nil, nil}, err
}

type crossEntropyBack struct {
	base
	forward             *crossEntropy
	dx, logits, weights []float32
	target              targets
	scale               float64
	part                func(worker, part int)
}

func (b *crossEntropyBack) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	b.dx, b.logits, b.target, b.weights, b.scale = b.output(), b.arg(in, 0), b.targetArg(in, 1), b.arg(in, 2), 0
	if b.forward.total != 0 {
		b.scale = float64(scalar(in[3])) / b.forward.total
	}
	b.pool.Run(len(b.forward.losses), b.part)
	b.dx, b.logits, b.target, b.weights = nil, nil, targets{}, nil
	return b.out, nil
}

func (b *crossEntropyBack) row(_, n int) {
	k := b.forward.classes
	dx := b.dx[n*k : (n+1)*k]
	weight := b.weights[n/b.forward.each]
	if weight == 0 {
		clear(dx)
		return
	}
	soft, label := b.target.row(n, k)
	scale := float32(b.scale * float64(weight))
	kernel.CrossEntropyBackward(dx, b.logits[n*k:(n+1)*k], b.forward.logSums[n], soft, label, b.forward.smoothing, scale)
}

// scalar is the value of a float32 scalar.
func scalar(v gorgonia.Value) float32 {
	if f, ok := v.(*gorgonia.F32); ok {
		return float32(*f)
	}
	return v.Data().(float32)
}
