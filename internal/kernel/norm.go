package kernel

import "math"

// NormShape is the shape of a batch normalisation: Groups times Rows rows of Channels floats.
// Each group has statistics of its own; one group is the usual batch normalisation, several are ghost
// batches. Of an image batch [N, H, W, C] the rows are the N·H·W pixels.
type NormShape struct {
	Groups, Rows, Channels int
}

func (s NormShape) len() int { return s.Groups * s.Rows * s.Channels }

// BatchNorm holds the statistics of one batch normalisation and computes with them. Mean and InvStd
// are [Groups, Channels]; they are written by Statistics or Fixed and read by the rest.
type BatchNorm struct {
	Mean     []float32
	Variance []float32 // biased: divided by Rows
	InvStd   []float32 // 1/√(Variance + epsilon)

	shape            NormShape
	pool             *Pool
	rows, parts      int       // rows a part, parts a group
	sums             []float64 // [part][2][Channels]
	scale, mul, add  []float32 // [Groups][Channels]
	y, x, dy, shift  []float32
	stat, norm, both func(worker, part int)
	apply            func(worker, part int)
}

// NewBatchNorm makes the kernel for a shape.
func NewBatchNorm(p *Pool, s NormShape) *BatchNorm {
	b := &BatchNorm{shape: s, pool: p}
	b.rows = min(s.Rows, max(1, chunk/s.Channels))
	b.parts = (s.Rows + b.rows - 1) / b.rows
	b.sums = make([]float64, s.Groups*b.parts*2*s.Channels)
	n := s.Groups * s.Channels
	b.Mean, b.Variance, b.InvStd = make([]float32, n), make([]float32, n), make([]float32, n)
	b.scale, b.mul, b.add = make([]float32, n), make([]float32, n), make([]float32, n)
	b.stat, b.norm, b.both, b.apply = b.statPart, b.normPart, b.bothPart, b.applyPart
	return b
}

// Statistics computes mean, variance and inverse standard deviation of x:
//
//	for g, c {
//		mean[g, c] = Σ over r of x[g, r, c] / Rows
//		variance[g, c] = Σ over r of (x[g, r, c] - mean[g, c])² / Rows
//		invStd[g, c] = 1 / √(variance[g, c] + epsilon)
//	}
//
// The sums are in float64.
func (b *BatchNorm) Statistics(x []float32, epsilon float32) {
	mustLen("normalisation input", x, b.shape.len())
	b.x = x
	b.pool.Run(b.shape.Groups*b.parts, b.stat)
	b.x = nil
	ch := b.shape.Channels
	for g := range b.shape.Groups {
		for c := range ch {
			sum, square := b.total(g, c)
			m := sum / float64(b.shape.Rows)
			v := max(0, square/float64(b.shape.Rows)-m*m)
			if math.IsNaN(square) {
				v = square
			}
			b.Mean[g*ch+c], b.Variance[g*ch+c] = float32(m), float32(v)
			b.InvStd[g*ch+c] = float32(1 / math.Sqrt(v+float64(epsilon)))
		}
	}
}

// Fixed sets the statistics of every group to the given mean and variance, both [Channels].
func (b *BatchNorm) Fixed(mean, variance []float32, epsilon float32) {
	mustLen("mean", mean, b.shape.Channels)
	mustLen("variance", variance, b.shape.Channels)
	for i := range b.Mean {
		c := i % b.shape.Channels
		b.Mean[i], b.Variance[i] = mean[c], variance[c]
		b.InvStd[i] = float32(1 / math.Sqrt(float64(variance[c])+float64(epsilon)))
	}
}

// Normalise computes, with the statistics as they stand,
//
//	y[g, r, c] = (x[g, r, c] - mean[g, c]) * invStd[g, c] * gamma[c] + beta[c]
func (b *BatchNorm) Normalise(y, x, gamma, beta []float32) {
	mustLen("normalisation output", y, b.shape.len())
	mustLen("normalisation input", x, b.shape.len())
	mustLen("gamma", gamma, b.shape.Channels)
	mustLen("beta", beta, b.shape.Channels)
	for i, s := range b.InvStd {
		b.scale[i] = s * gamma[i%b.shape.Channels]
	}
	b.y, b.x, b.shift = y, x, beta
	b.pool.Run(b.shape.Groups*b.parts, b.norm)
	b.y, b.x, b.shift = nil, nil, nil
}

// Backward computes the gradients of Normalise after Statistics, x̂ being the normalised input:
//
//	dbeta[c] = Σ over g, r of dy[g, r, c]
//	dgamma[c] = Σ over g, r of dy[g, r, c] * x̂[g, r, c]
//	dx[g, r, c] = gamma[c] * invStd[g, c] * (dy[g, r, c] - mean over r of dy - x̂[g, r, c] * mean over r of dy·x̂)
//
// With fixed statistics (fixed is true) the two means are left out of dx. dx may be nil.
func (b *BatchNorm) Backward(dx, dgamma, dbeta, x, gamma, dy []float32, fixed bool) {
	mustLen("normalisation input", x, b.shape.len())
	mustLen("normalisation output gradient", dy, b.shape.len())
	mustLen("gamma", gamma, b.shape.Channels)
	mustLen("gamma gradient", dgamma, b.shape.Channels)
	mustLen("beta gradient", dbeta, b.shape.Channels)
	b.x, b.dy = x, dy
	b.pool.Run(b.shape.Groups*b.parts, b.both)
	ch, rows := b.shape.Channels, float64(b.shape.Rows)
	for c := range ch {
		var dg, db float64
		for g := range b.shape.Groups {
			i := g*ch + c
			sum, product := b.total(g, c)
			is := float64(b.InvStd[i])
			product *= is // Σ dy·x̂
			dg += product
			db += sum
			a := float64(gamma[c]) * is
			b.scale[i] = float32(a)
			b.mul[i], b.add[i] = 0, 0
			if !fixed {
				b.mul[i], b.add[i] = float32(-a*is*product/rows), float32(-a*sum/rows)
			}
		}
		dgamma[c], dbeta[c] = float32(dg), float32(db)
	}
	if dx != nil {
		mustLen("normalisation input gradient", dx, b.shape.len())
		b.y = dx
		b.pool.Run(b.shape.Groups*b.parts, b.apply)
	}
	b.y, b.x, b.dy = nil, nil, nil
}

// total adds up the partial sums of a group and a channel, in order.
func (b *BatchNorm) total(g, c int) (first, second float64) {
	for p := g * b.parts; p < (g+1)*b.parts; p++ {
		s := b.sums[p*2*b.shape.Channels:]
		first += s[c]
		second += s[b.shape.Channels+c]
	}
	return first, second
}

// span is the group of a part, its range of elements and its sums.
func (b *BatchNorm) span(part int) (group, lo, hi int, sums []float64) {
	group = part / b.parts
	r := part % b.parts * b.rows
	ch := b.shape.Channels
	lo = (group*b.shape.Rows + r) * ch
	hi = (group*b.shape.Rows + min(b.shape.Rows, r+b.rows)) * ch
	return group, lo, hi, b.sums[part*2*ch : (part+1)*2*ch]
}

func (b *BatchNorm) statPart(_, part int) {
	_, lo, hi, sums := b.span(part)
	x, ch := b.x[lo:hi], b.shape.Channels
	for c := 0; c < ch; c += 4 {
		if c+4 <= ch {
			var s0, s1, s2, s3, q0, q1, q2, q3 float64
			for i := c; i+4 <= len(x); i += ch {
				v := (*[4]float32)(x[i:])
				a0, a1, a2, a3 := float64(v[0]), float64(v[1]), float64(v[2]), float64(v[3])
				s0 += a0
				s1 += a1
				s2 += a2
				s3 += a3
				q0 += a0 * a0
				q1 += a1 * a1
				q2 += a2 * a2
				q3 += a3 * a3
			}
			*(*[4]float64)(sums[c:]) = [4]float64{s0, s1, s2, s3}
			*(*[4]float64)(sums[ch+c:]) = [4]float64{q0, q1, q2, q3}
			continue
		}
		for d := c; d < ch; d++ {
			var s, q float64
			for i := d; i < len(x); i += ch {
				v := float64(x[i])
				s += v
				q += v * v
			}
			sums[d], sums[ch+d] = s, q
		}
	}
}

// bothPart sums dy and dy·(x-mean).
func (b *BatchNorm) bothPart(_, part int) {
	g, lo, hi, sums := b.span(part)
	x, ch := b.x[lo:hi], b.shape.Channels
	dy := b.dy[lo:hi][:len(x)]
	mean := b.Mean[g*ch : (g+1)*ch]
	for c := 0; c < ch; c += 2 {
		if c+2 <= ch {
			var s0, s1, q0, q1 float64
			m0, m1 := mean[c], mean[c+1]
			for i := c; i+2 <= len(x); i += ch {
				v, d := (*[2]float32)(x[i:]), (*[2]float32)(dy[i:])
				d0, d1 := float64(d[0]), float64(d[1])
				s0 += d0
				s1 += d1
				q0 += d0 * float64(v[0]-m0)
				q1 += d1 * float64(v[1]-m1)
			}
			sums[c], sums[c+1], sums[ch+c], sums[ch+c+1] = s0, s1, q0, q1
			continue
		}
		var s, q float64
		for i := c; i < len(x); i += ch {
			s += float64(dy[i])
			q += float64(dy[i]) * float64(x[i]-mean[c])
		}
		sums[c], sums[ch+c] = s, q
	}
}

func (b *BatchNorm) normPart(_, part int) {
	g, lo, hi, _ := b.span(part)
	ch := b.shape.Channels
	mean, scale, shift := b.Mean[g*ch:(g+1)*ch], b.scale[g*ch:(g+1)*ch], b.shift[:ch]
	for ; lo < hi; lo += ch {
		x, y := b.x[lo:lo+ch], b.y[lo:lo+ch]
		for c, m := range mean {
			y[c] = (x[c]-m)*scale[c] + shift[c]
		}
	}
}

func (b *BatchNorm) applyPart(_, part int) {
	g, lo, hi, _ := b.span(part)
	ch := b.shape.Channels
	mean, scale := b.Mean[g*ch:(g+1)*ch], b.scale[g*ch:(g+1)*ch]
	mul, add := b.mul[g*ch:(g+1)*ch], b.add[g*ch:(g+1)*ch]
	for ; lo < hi; lo += ch {
		x, dy, dx := b.x[lo:lo+ch], b.dy[lo:lo+ch], b.y[lo:lo+ch]
		for c, m := range mean {
			dx[c] = dy[c]*scale[c] + (x[c]-m)*mul[c] + add[c]
		}
	}
}
