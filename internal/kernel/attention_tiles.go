package kernel

import "math"

// attentionTiles is Attention on micro-kernels. A part packs what it uses more than once: keys and values transposed for the scores and their
// gradient, the rest as rows. Forward goes by the rows of a tile, with all scores of a row; Backward by squares of scores, so that the sums over
// queries are long. Of a square on the diagonal only what some row of a tile sees is computed. What is hidden has probability 0, which keeps it
// out of sums as long as it is finite: a causal head with numbers that are not is left to the plain loops.
type attentionTiles struct {
	*Attention
	path       Path
	kernels    *microKernels
	queryParts int // of a head in Forward
	stride     int // floats of a row of scores in Forward
	workers    []*attentionWorker
}

// attentionWorker is the scratch memory of one worker.
type attentionWorker struct {
	*multiplier
	keysT, valuesT  []float32 // [panel of positions][HeadSize][width]
	keys, values    []float32 // [panel of floats][Context][width]
	queries, dy     []float32 // the same
	rows            []float32 // scores of a tile
	scores, dscores []float32 // of a square
	tops, sums      []float32 // of the rows of a tile
	means           []float32 // [Context]
	plain           []float32 // [Context]
}

const (
	squareSide   = 128             // queries and keys of a square of scores
	squareStride = squareSide + 16 // so that rows do not share lines of the cache
	partQueries  = 256             // of a part of Forward where heads are few
)

func newAttentionTiles(a *Attention, k *microKernels) *attentionTiles {
	s := a.shape
	t := &attentionTiles{Attention: a, path: ActivePath(), kernels: k, queryParts: 1}
	if s.Batch*s.Heads < leastParts {
		t.queryParts = (s.Context + partQueries - 1) / partQueries
	}
	whole := (s.Context + k.width - 1) / k.width * k.width
	t.stride = whole + 16
	across := s.Context * ((s.HeadSize + k.width - 1) / k.width * k.width)
	for _, m := range newMultipliers(a.pool.Threads(), k) {
		w := &attentionWorker{multiplier: m}
		w.keysT, w.valuesT = aligned(whole*s.HeadSize), aligned(whole*s.HeadSize)
		w.keys, w.values, w.queries, w.dy = aligned(across), aligned(across), aligned(across), aligned(across)
		rows := k.maxRows(k.width)
		w.rows = aligned(rows * t.stride)
		w.scores, w.dscores = aligned(squareSide*squareStride), aligned(squareSide*squareStride)
		w.tops, w.sums = make([]float32, rows), make([]float32, rows)
		w.means, w.plain = make([]float32, s.Context), make([]float32, s.Context)
		t.workers = append(t.workers, w)
	}
	return t
}

// packAcross packs rows of HeadSize floats to panels of width, with zeros behind the last.
func (t *attentionTiles) packAcross(dst, src []float32, step, rows int) {
	size, width := t.shape.HeadSize, t.kernels.width
	for c := 0; c < size; c += width {
		packRows(dst[c/width*t.shape.Context*width:][:rows*width], src[c:], step, width, min(width, size-c))
	}
}

// packT packs rows of HeadSize floats to panels of width rows, transposed.
func (t *attentionTiles) packT(dst, src []float32, step, rows int) {
	size, width := t.shape.HeadSize, t.kernels.width
	for r := 0; r < rows; r += width {
		panel := dst[r*size : (r+width)*size]
		if rows-r < width {
			clear(panel)
		}
		transpose(panel, width, src[r*step:], step, min(width, rows-r), size)
	}
}

// tiles is the number of tiles of rows that n rows are divided into.
func (t *attentionTiles) tiles(n int) int {
	most := t.kernels.maxRows(t.kernels.width)
	return (n + most - 1) / most
}

// against multiplies rows, which begin at a and are step apart, by columns of a packed transposed matrix, from its panel on that begins
// at position first.
func (t *attentionTiles) against(w *attentionWorker, c []float32, stride int, a []float32, step int, packed []float32, first, rows, columns int) {
	size, width := t.shape.HeadSize, t.kernels.width
	w.k, w.ai, w.ak, w.bk, w.ci, w.flags = size, 4*step, 4, 4*width, 4*stride, 0
	w.setBatches(1, 0, 0, 1, 0, 0)
	for j := 0; j < columns; j += width {
		w.multiply(address(a, 0), address(packed, (first+j)*size), address(c, j), rows, width)
	}
}

// over multiplies a matrix of rows by k, at the given strides, by k rows of a packed matrix from the given one on; c has the distance step.
func (t *attentionTiles) over(w *attentionWorker, c []float32, step int, a []float32, ai, ak int, packed []float32, first, rows, k, flags int) {
	size, width := t.shape.HeadSize, t.kernels.width
	w.k, w.ai, w.ak, w.bk, w.ci, w.flags = k, 4*ai, 4*ak, 4*width, 4*step, flags
	w.setBatches(1, 0, 0, 1, 0, 0)
	for d := 0; d < size; d += width {
		w.multiply(address(a, 0), address(packed, (d/width*t.shape.Context+first)*width), address(c, d), rows, min(width, size-d))
	}
}

func (t *attentionTiles) forwardPart(worker, part int) {
	s, w, wide := t.shape, t.workers[worker], t.shape.width()
	head := part / t.queryParts
	lo, hi := Split(s.Context, t.queryParts, part%t.queryParts)
	in, inStep, out, outStep, logSums := t.head(head)
	keys := s.seen(hi - 1)
	t.packAcross(w.values, t.qkv[in+2*wide:], inStep, keys)
	if s.Causal && !t.finite(w.values, keys) {
		t.plainForward(head, lo, hi, w.plain)
		return
	}
	t.packT(w.keysT, t.qkv[in+wide:], inStep, keys)
	scale := s.scale()
	for tile := range t.tiles(hi - lo) {
		i0, i1 := Split(hi-lo, t.tiles(hi-lo), tile)
		i0, i1 = lo+i0, lo+i1
		n := s.seen(i1 - 1)
		t.against(w, w.rows, t.stride, t.qkv[in+i0*inStep:], inStep, w.keysT, 0, i1-i0, n)
		rows := scores{s: floats(w.rows), rows: i1 - i0, stride: 4 * t.stride, columns: s.seen(i0), growth: 1, width: n,
			top: floats(w.tops), sum: floats(w.sums), scale: float32(scale)}
		rows.call(t.path, kAttend)
		for r := range i1 - i0 {
			logSums[i0+r] = float32(float64(w.tops[r])*scale + math.Log(float64(w.sums[r])))
		}
		t.over(w, t.y[out+i0*outStep:], outStep, w.rows, t.stride, 1, w.values, 0, i1-i0, n, 0)
	}
}

// finite says whether the first rows of a matrix packed by packAcross are.
func (t *attentionTiles) finite(packed []float32, rows int) bool {
	for c := 0; c < t.shape.HeadSize; c += t.kernels.width {
		if !finite(t.path, packed[c*t.shape.Context:][:rows*t.kernels.width]) {
			return false
		}
	}
	return true
}

func (t *attentionTiles) backwardPart(worker, head int) {
	s, w, wide := t.shape, t.workers[worker], t.shape.width()
	in, inStep, out, outStep, _ := t.head(head)
	n := s.Context
	t.packAcross(w.queries, t.qkv[in:], inStep, n)
	t.packAcross(w.keys, t.qkv[in+wide:], inStep, n)
	t.packAcross(w.dy, t.dy[out:], outStep, n)
	t.packT(w.valuesT, t.qkv[in+2*wide:], inStep, n)
	if s.Causal && !(t.finite(w.queries, n) && t.finite(w.keys, n) && t.finite(w.dy, n) && finite(t.path, w.valuesT)) {
		t.plainBackward(head)
		return
	}
	t.packT(w.keysT, t.qkv[in+wide:], inStep, n)
	rows := scores{s: floats(t.y[out:]), d: floats(t.dy[out:]), rows: n, stride: 4 * outStep, columns: s.HeadSize, sum: floats(w.means)}
	rows.call(t.path, kAttendDots)
	for j0 := 0; j0 < n; j0 += squareSide {
		first := 0
		if s.Causal {
			first = j0
		}
		for i0 := first; i0 < n; i0 += squareSide {
			t.square(w, head, i0, min(n, i0+squareSide), j0, min(n, j0+squareSide), i0 == first)
		}
	}
}

// square adds what queries [i0, i1) and keys [j0, j1) contribute to the gradient of the head. The first of the squares of its keys sets their
// gradients, that of the first keys the queries'.
func (t *attentionTiles) square(w *attentionWorker, head, i0, i1, j0, j1 int, first bool) {
	wide := t.shape.width()
	in, inStep, out, outStep, logSums := t.head(head)
	diagonal := t.shape.Causal && i0 == j0
	add := func(already bool) int {
		if already {
			return accumulate
		}
		return 0
	}
	for tile := range t.tiles(i1 - i0) {
		lo, hi := Split(i1-i0, t.tiles(i1-i0), tile)
		n, seen, growth := j1-j0, j1-j0, 0
		if diagonal {
			n, seen, growth = hi, lo+1, 1
		}
		p, d := w.scores[lo*squareStride:], w.dscores[lo*squareStride:]
		t.against(w, p, squareStride, t.qkv[in+(i0+lo)*inStep:], inStep, w.keysT, j0, hi-lo, n)
		t.against(w, d, squareStride, t.dy[out+(i0+lo)*outStep:], outStep, w.valuesT, j0, hi-lo, n)
		rows := scores{s: floats(p), d: floats(d), rows: hi - lo, stride: 4 * squareStride, columns: seen, growth: growth, width: n,
			top: floats(logSums[i0+lo:]), sum: floats(w.means[i0+lo:]), scale: float32(t.shape.scale())}
		rows.call(t.path, kAttendBackward)
		t.over(w, t.dqkv[in+(i0+lo)*inStep:], inStep, d, squareStride, 1, w.keys, j0, hi-lo, n, add(j0 > 0))
	}
	for tile := range t.tiles(j1 - j0) {
		lo, hi := Split(j1-j0, t.tiles(j1-j0), tile)
		from := 0
		if diagonal { // the queries before see none of these keys
			from = lo
		}
		at, dkey := from*squareStride+lo, in+(j0+lo)*inStep+wide
		t.over(w, t.dqkv[dkey:], inStep, w.dscores[at:], 1, squareStride, w.queries, i0+from, hi-lo, i1-i0-from, add(!first))
		t.over(w, t.dqkv[dkey+wide:], inStep, w.scores[at:], 1, squareStride, w.dy, i0+from, hi-lo, i1-i0-from, add(!first))
	}
}
