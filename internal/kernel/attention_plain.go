package kernel

import "math"

// plainForward is Forward of queries [lo, hi) of one head in plain Go, with room for a row of scores. No number of a position that is not
// seen is read.
func (a *Attention) plainForward(head, lo, hi int, scores []float32) {
	s, w, size := a.shape, a.shape.width(), a.shape.HeadSize
	in, inStep, out, outStep, logSums := a.head(head)
	scale := float32(s.scale())
	for i := lo; i < hi; i++ {
		q, y := a.qkv[in+i*inStep:][:size], a.y[out+i*outStep:][:size]
		row := scores[:s.seen(i)]
		top := float32(math.Inf(-1))
		for j := range row {
			row[j] = dot(q, a.qkv[in+j*inStep+w:][:size]) * scale
			top = max(top, row[j])
		}
		var sum float64
		for j, v := range row {
			e := math.Exp(float64(v - top))
			row[j] = float32(e)
			sum += e
		}
		clear(y)
		for j, e := range row {
			addScaled(y, a.qkv[in+j*inStep+2*w:][:size], e/float32(sum))
		}
		logSums[i] = top + float32(math.Log(sum))
	}
}

// plainBackward is Backward of one head in plain Go.
func (a *Attention) plainBackward(head int) {
	s, w, size := a.shape, a.shape.width(), a.shape.HeadSize
	in, inStep, out, outStep, logSums := a.head(head)
	scale := float32(s.scale())
	for i := range s.Context {
		for third := range 3 {
			clear(a.dqkv[in+i*inStep+third*w:][:size])
		}
	}
	for i := range s.Context {
		at := in + i*inStep
		q, dq := a.qkv[at:][:size], a.dqkv[at:][:size]
		y, dy := a.y[out+i*outStep:][:size], a.dy[out+i*outStep:][:size]
		mean := dot(y, dy)
		for j := range s.seen(i) {
			at := in + j*inStep
			k, v := a.qkv[at+w:][:size], a.qkv[at+2*w:][:size]
			p := float32(math.Exp(float64(dot(q, k)*scale - logSums[i])))
			d := p * (dot(dy, v) - mean) * scale
			addScaled(dq, k, d)
			addScaled(a.dqkv[at+w:][:size], q, d)
			addScaled(a.dqkv[at+2*w:][:size], dy, p)
		}
	}
}

// dot is the sum of the products of two vectors.
func dot(a, b []float32) float32 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float32
	i := 0
	for ; i+4 <= len(a); i += 4 {
		s0 += a[i] * b[i]
		s1 += a[i+1] * b[i+1]
		s2 += a[i+2] * b[i+2]
		s3 += a[i+3] * b[i+3]
	}
	for ; i < len(a); i++ {
		s0 += a[i] * b[i]
	}
	return s0 + s1 + (s2 + s3)
}

// addScaled adds k·x to y.
func addScaled(y, x []float32, k float32) {
	x = x[:len(y)]
	for i, v := range x {
		y[i] += k * v
	}
}

// AttendCached is attention of one new position of each sequence, for generation: its query sees the first length positions of a cache of
// keys and of values, its own among them. s.Context is the capacity of the caches, which are [Batch, Context, Heads, HeadSize]; q and y
// are [Batch, Heads, HeadSize].
func AttendCached(y, q, keys, values []float32, s AttentionShape, length int) {
	w, size := s.width(), s.HeadSize
	mustLen("attention output", y, s.Batch*w)
	mustLen("queries", q, s.Batch*w)
	mustLen("cached keys", keys, s.Batch*s.Context*w)
	mustLen("cached values", values, s.Batch*s.Context*w)
	if length < 1 || length > s.Context {
		panic("kernel: attention to more positions than are cached")
	}
	scale := float32(s.scale())
	for head := range s.Batch * s.Heads {
		b, h := head/s.Heads, head%s.Heads
		q, y := q[head*size:][:size], y[head*size:][:size]
		clear(y)
		top, sum := float32(-math.MaxFloat32), float32(0)
		for j := range length {
			at := (b*s.Context+j)*w + h*size
			score := dot(q, keys[at:][:size]) * scale
			if score > top { // what was added so far was relative to a smaller score
				shrink := float32(math.Exp(float64(top - score)))
				Scale(y, y, shrink)
				top, sum = score, sum*shrink
			}
			e := float32(math.Exp(float64(score - top)))
			addScaled(y, values[at:][:size], e)
			sum += e
		}
		Scale(y, y, 1/sum)
	}
}
