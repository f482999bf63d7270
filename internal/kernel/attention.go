package kernel

import "math"

// AttentionShape is the shape of scaled dot-product attention within each of Batch sequences of Context positions, for each of
// Heads heads of HeadSize floats.
type AttentionShape struct {
	Batch, Context, Heads, HeadSize int
	Causal                          bool // a position sees itself and those before it, else all
}

// width is the number of floats of a position over all heads.
func (s AttentionShape) width() int { return s.Heads * s.HeadSize }

// scale is what the products of queries and keys are multiplied by.
func (s AttentionShape) scale() float64 { return 1 / math.Sqrt(float64(s.HeadSize)) }

// seen is the number of keys that a query sees.
func (s AttentionShape) seen(query int) int {
	if s.Causal {
		return query + 1
	}
	return s.Context
}

// Attention computes, for each sequence b and head h,
//
//	for i {
//		for j in the positions that i sees {
//			score[j] = Σ over d of q[b, i, h, d] * k[b, j, h, d] / √HeadSize
//		}
//		p = softmax(score)
//		y[b, i, h, d] = Σ over j of p[j] * v[b, j, h, d]
//	}
//
// where qkv is [Batch, Context, 3, Heads, HeadSize], a position's queries, keys and values, and y is [Batch, Context, Heads, HeadSize].
// Positions that are not seen take no part at all, be they infinite or NaN.
//
// Its memory grows with Context, not with its square: Forward keeps the logarithm of the sum of the exponentials of each row of
// scores, and Backward computes the probabilities from it again.
type Attention struct {
	shape             AttentionShape
	pool              *Pool
	logSums           []float32 // [Batch, Heads, Context]
	forwardParts      int
	y, qkv, dy, dqkv  []float32
	forward, backward func(worker, part int)
}

// NewAttention makes the kernel for a shape. An empty dimension is a bug and panics.
func NewAttention(p *Pool, s AttentionShape) *Attention {
	if s.Batch < 1 || s.Context < 1 || s.Heads < 1 || s.HeadSize < 1 {
		panic("kernel: attention with an empty dimension")
	}
	a := &Attention{shape: s, pool: p.worth(s.Batch * s.Context * s.Context * s.width())}
	a.logSums = make([]float32, s.Batch*s.Heads*s.Context)
	a.forwardParts = s.Batch * s.Heads
	if k := kernelsOf(ActivePath()); k != nil {
		t := newAttentionTiles(a, k)
		a.forwardParts *= t.queryParts
		a.forward, a.backward = t.forwardPart, t.backwardPart
		return a
	}
	rows := buffers(a.pool.Threads(), s.Context)
	a.forward = func(worker, head int) { a.plainForward(head, 0, s.Context, rows[worker]) }
	a.backward = func(_, head int) { a.plainBackward(head) }
	return a
}

// FLOPs is the number of floating-point operations of the products of Forward, those of positions that are not seen left out.
func (a *Attention) FLOPs() int {
	s := a.shape
	pairs := s.Context * s.Context
	if s.Causal {
		pairs = s.Context * (s.Context + 1) / 2
	}
	return 4 * s.Batch * s.width() * pairs
}

// Forward computes y and keeps what Backward needs.
func (a *Attention) Forward(y, qkv []float32) {
	n := a.shape.Batch * a.shape.Context * a.shape.width()
	mustLen("attention output", y, n)
	mustLen("queries, keys and values", qkv, 3*n)
	a.y, a.qkv = y, qkv
	a.pool.Run(a.forwardParts, a.forward)
	a.y, a.qkv = nil, nil
}

// Backward computes the gradient of qkv from that of y, after a Forward that gave y from qkv. All of dqkv is written.
func (a *Attention) Backward(dqkv, dy, y, qkv []float32) {
	n := a.shape.Batch * a.shape.Context * a.shape.width()
	mustLen("gradient of queries, keys and values", dqkv, 3*n)
	mustLen("attention output gradient", dy, n)
	mustLen("attention output", y, n)
	mustLen("queries, keys and values", qkv, 3*n)
	a.dqkv, a.dy, a.y, a.qkv = dqkv, dy, y, qkv
	a.pool.Run(a.shape.Batch*a.shape.Heads, a.backward)
	a.dqkv, a.dy, a.y, a.qkv = nil, nil, nil, nil
}

// head is one head of one sequence: where its first position lies in a tensor of queries, keys and values and in one of outputs, with the
// distances to the next position, and its row of logSums.
func (a *Attention) head(number int) (in, inStep, out, outStep int, logSums []float32) {
	s := a.shape
	w, b, h := s.width(), number/s.Heads, number%s.Heads
	return b*s.Context*3*w + h*s.HeadSize, 3 * w, b*s.Context*w + h*s.HeadSize, w, a.logSums[number*s.Context : (number+1)*s.Context]
}
