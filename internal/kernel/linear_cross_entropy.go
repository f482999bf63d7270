package kernel

// LinearCrossEntropyShape is the shape of a linear layer without bias and the cross-entropy of its outputs.
type LinearCrossEntropyShape struct {
	N, In, Classes int     // x [N, In], w [Classes, In]
	Smoothing      float32 // of the targets, in [0, 1]
}

// LinearCrossEntropy is the last layer of a classifier of many classes together with its loss:
//
//	logits = x·wᵀ
//	losses[n] = cross-entropy of logits[n] against labels[n], smoothed as in CrossEntropy
//	loss = Σ over n of weights[n] * losses[n] / Σ over n of weights[n]
//
// and the gradients of that loss. It goes by blocks of rows and keeps the logits of one block only, since the gradient
// is known up to a factor as soon as the logits are.
type LinearCrossEntropy struct {
	shape           LinearCrossEntropyShape
	pool            *Pool
	rows            int       // of a block
	step            int       // floats from a row of logits to the next
	z               []float32 // [rows, step], logits, then their gradient
	products        headProducts
	first           int // row of the block under way
	gradient        bool
	share           float64 // 1 / Σ weights
	losses, weights []float32
	labels          []int32
	part            func(worker, part int)
}

// headProducts are the products of a block of rows.
type headProducts interface {
	logits(z, x, w []float32, rows int, first bool)   // z = x·wᵀ
	data(dx, z, w []float32, rows int, first bool)    // dx = z·w
	weights(dw, z, x []float32, rows int, first bool) // dw += zᵀ·x, without + in the first block
}

// headFloats is about the number of logits of a block: 16 MiB.
const headFloats = 1 << 22

// NewLinearCrossEntropy makes the kernel for a shape. An empty dimension is a bug and panics.
func NewLinearCrossEntropy(p *Pool, s LinearCrossEntropyShape) *LinearCrossEntropy {
	if s.N < 1 || s.In < 1 || s.Classes < 1 {
		panic("kernel: linear cross-entropy with an empty dimension")
	}
	blocks := (s.N*s.Classes + headFloats - 1) / headFloats
	return newLinearCrossEntropy(p, s, (s.N+blocks-1)/blocks)
}

// newLinearCrossEntropy goes by blocks of the given number of rows.
func newLinearCrossEntropy(p *Pool, s LinearCrossEntropyShape, rows int) *LinearCrossEntropy {
	l := &LinearCrossEntropy{shape: s, pool: p.worth(s.N * s.In * s.Classes), rows: min(rows, s.N)}
	if k := kernelsOf(ActivePath()); k != nil {
		l.step = (s.Classes+vector-1)/vector*vector + vector
		l.products = newHeadGEMMs(p, s, k, l.rows, l.step)
	} else {
		l.step = s.Classes
		l.products = newPlainHead(p, s, l.rows)
	}
	l.z = aligned(l.rows * l.step)
	l.part = l.row
	return l
}

// Run computes the loss, those of the rows and the gradients of x and w, all of which are written; with a nil dx it computes
// no gradient. A row of weight 0 is skipped: its loss is 0 and its label may be anything. Without any weight the loss is 0.
func (l *LinearCrossEntropy) Run(dx, dw, losses, x, w []float32, labels []int32, weights []float32) (loss float64) {
	s := l.shape
	mustLen("linear input", x, s.N*s.In)
	mustLen("linear weights", w, s.Classes*s.In)
	mustLen("losses", losses, s.N)
	mustLen("weights of rows", weights, s.N)
	if len(labels) != s.N {
		panic("kernel: labels of another number of rows")
	}
	l.gradient = dx != nil
	if l.gradient {
		mustLen("input gradient", dx, s.N*s.In)
		mustLen("weight gradient", dw, s.Classes*s.In)
	}
	var total float64
	for _, v := range weights {
		total += float64(v)
	}
	l.share = 0
	if total != 0 {
		l.share = 1 / total
	}
	l.losses, l.labels, l.weights = losses, labels, weights
	for l.first = 0; l.first < s.N; l.first += l.rows {
		rows := min(l.rows, s.N-l.first)
		block := x[l.first*s.In : (l.first+rows)*s.In]
		l.products.logits(l.z, block, w, rows, l.first == 0)
		l.pool.Run(rows, l.part)
		if l.gradient {
			l.products.data(dx[l.first*s.In:(l.first+rows)*s.In], l.z, w, rows, l.first == 0)
			l.products.weights(dw, l.z, block, rows, l.first == 0)
		}
	}
	l.losses, l.labels, l.weights = nil, nil, nil
	for n, v := range weights {
		if v != 0 {
			loss += float64(v) * float64(losses[n])
		}
	}
	return loss * l.share
}

// row turns the logits of a row of the block into their gradient.
func (l *LinearCrossEntropy) row(_, row int) {
	n, z := l.first+row, l.z[row*l.step:][:l.shape.Classes]
	l.losses[n] = 0
	if l.weights[n] == 0 {
		clear(z)
		return
	}
	label := int(l.labels[n])
	loss, logSum := CrossEntropy(z, nil, label, l.shape.Smoothing)
	l.losses[n] = float32(loss)
	if l.gradient {
		CrossEntropyBackward(z, z, logSum, nil, label, l.shape.Smoothing, float32(float64(l.weights[n])*l.share))
	}
}

// headGEMMs are headProducts on micro-kernels, which pack w once.
type headGEMMs struct {
	forward, back, gradient *gemm
}

func newHeadGEMMs(p *Pool, s LinearCrossEntropyShape, k *microKernels, rows, step int) *headGEMMs {
	return &headGEMMs{
		forward:  newStridedGEMM(p, ProductShape{M: rows, N: s.Classes, K: s.In, TransposeB: true}, k, s.In, step, s.In),
		back:     newStridedGEMM(p, ProductShape{M: rows, N: s.In, K: s.Classes}, k, step, s.In, s.Classes),
		gradient: newStridedGEMM(p, ProductShape{M: s.Classes, N: s.In, K: rows, TransposeA: true}, k, step, s.In, rows),
	}
}

func (h *headGEMMs) logits(z, x, w []float32, rows int, first bool) {
	h.forward.keep = !first
	h.forward.setRows(rows)
	h.forward.Run(z, x, w, nil)
}

func (h *headGEMMs) data(dx, z, w []float32, rows int, first bool) {
	h.back.keep = !first
	h.back.setRows(rows)
	h.back.Run(dx, z, w, nil)
}

func (h *headGEMMs) weights(dw, z, x []float32, rows int, first bool) {
	h.gradient.shape.K, h.gradient.shape.Accumulate = rows, !first
	h.gradient.Run(dw, z, x, nil)
}

// plainHead is headProducts in plain Go: those of whole blocks and those of the last.
type plainHead struct {
	whole              int
	forward, back, add [2]*genericProduct
}

func newPlainHead(p *Pool, s LinearCrossEntropyShape, rows int) *plainHead {
	h := &plainHead{whole: rows}
	for i, m := range [2]int{rows, s.N % rows} {
		if m > 0 {
			h.forward[i] = newGenericProduct(p, ProductShape{Batch: 1, M: m, N: s.Classes, K: s.In, TransposeB: true})
			h.back[i] = newGenericProduct(p, ProductShape{Batch: 1, M: m, N: s.In, K: s.Classes})
			h.add[i] = newGenericProduct(p, ProductShape{Batch: 1, M: s.Classes, N: s.In, K: m, TransposeA: true})
		}
	}
	return h
}

// which is 0 for a whole block.
func (h *plainHead) which(rows int) int {
	if rows == h.whole {
		return 0
	}
	return 1
}

func (h *plainHead) logits(z, x, w []float32, rows int, _ bool) {
	h.forward[h.which(rows)].Run(z, x, w, nil)
}

func (h *plainHead) data(dx, z, w []float32, rows int, _ bool) {
	h.back[h.which(rows)].Run(dx, z, w, nil)
}

func (h *plainHead) weights(dw, z, x []float32, rows int, first bool) {
	p := h.add[h.which(rows)]
	p.shape.Accumulate = !first
	p.Run(dw, z, x, nil)
}
