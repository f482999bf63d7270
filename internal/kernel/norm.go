package kernel

import (
	"fmt"
	"math"
)

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

	shape       NormShape
	pool        *Pool
	path        Path
	rows, parts int       // rows a part, parts a group
	times       int       // rows that assembly takes as one
	sums        []float64 // [part][2][times·Channels], of which the first Channels are valid

	// Factors by group and lane, [Groups][times·Channels].
	mean, scale, shift, mul, add []float32

	y, x, dy, skip               []float32 // of the pass under way; y is what it writes
	gate                         []float32 // output of the ReLU
	form                         normForm
	stat, norm, reduce, backward func(worker, part int)
}

// normForm says what a pass does besides normalising.
type normForm int

const (
	normPlain normForm = iota
	normReLU
	normAddReLU
)

// normRows is the least number of rows of a part: partial sums are to be few beside what is summed.
const normRows = 64

// NewBatchNorm makes the kernel for a shape.
func NewBatchNorm(p *Pool, s NormShape) *BatchNorm {
	b := &BatchNorm{shape: s, pool: p, path: ActivePath()}
	b.rows = min(s.Rows, max(normRows, chunk/s.Channels))
	b.parts = (s.Rows + b.rows - 1) / b.rows
	b.times = fold(b.path, s.Channels, b.rows)
	b.sums = make([]float64, s.Groups*b.parts*2*b.times*s.Channels)
	n := s.Groups * s.Channels
	b.Mean, b.Variance, b.InvStd = make([]float32, n), make([]float32, n), make([]float32, n)
	n *= b.times
	for _, f := range []*[]float32{&b.mean, &b.scale, &b.shift, &b.mul, &b.add} {
		*f = make([]float32, n)
	}
	b.stat, b.norm, b.reduce, b.backward = b.statPart, b.normPart, b.reducePart, b.backwardPart
	return b
}

// Twin is a BatchNorm of the same shape with the same statistics, now and later, but with room of its own for the sums and factors
// that BackwardSkip leaves to BackwardInput.
func (b *BatchNorm) Twin() *BatchNorm {
	t := NewBatchNorm(b.pool, b.shape)
	t.Mean, t.Variance, t.InvStd = b.Mean, b.Variance, b.InvStd
	return t
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
	for g := range b.shape.Groups {
		for c := range b.shape.Channels {
			sum, square := b.total(g, c)
			b.set(g, c, sum, square, epsilon)
		}
	}
}

// StatisticsFrom is Statistics of the output that a convolution gathered sums of, which is not read again. The shape is one group.
func (b *BatchNorm) StatisticsFrom(s *Sums, epsilon float32) {
	if want := (NormShape{1, s.rows, s.channels}); b.shape != want {
		panic(fmt.Sprintf("kernel: normalisation of %+v from sums of %+v", b.shape, want))
	}
	for c := range s.channels {
		sum, square := total(s.sums, s.times*s.channels, c)
		b.set(0, c, sum, square, epsilon)
	}
}

// set computes statistics from the sum of the values and of their squares.
func (b *BatchNorm) set(g, c int, sum, square float64, epsilon float32) {
	m := sum / float64(b.shape.Rows)
	v := max(0, square/float64(b.shape.Rows)-m*m)
	if math.IsNaN(square) {
		v = square
	}
	i := g*b.shape.Channels + c
	b.Mean[i], b.Variance[i] = float32(m), float32(v)
	b.InvStd[i] = float32(1 / math.Sqrt(v+float64(epsilon)))
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
	b.normalise(normPlain, y, x, nil, gamma, beta)
}

// NormaliseReLU computes the ReLU of what Normalise does, in one pass.
func (b *BatchNorm) NormaliseReLU(y, x, gamma, beta []float32) {
	b.normalise(normReLU, y, x, nil, gamma, beta)
}

// NormaliseAddReLU computes the ReLU of skip plus what Normalise does, in one pass.
func (b *BatchNorm) NormaliseAddReLU(y, x, skip, gamma, beta []float32) {
	mustLen("skip connection", skip, b.shape.len())
	b.normalise(normAddReLU, y, x, skip, gamma, beta)
}

func (b *BatchNorm) normalise(form normForm, y, x, skip, gamma, beta []float32) {
	mustLen("normalisation output", y, b.shape.len())
	mustLen("normalisation input", x, b.shape.len())
	mustLen("gamma", gamma, b.shape.Channels)
	mustLen("beta", beta, b.shape.Channels)
	b.spread(gamma, beta)
	b.form, b.y, b.x, b.skip = form, y, x, skip
	b.pool.Run(b.shape.Groups*b.parts, b.norm)
	b.y, b.x, b.skip = nil, nil, nil
}

// Backward computes the gradients of Normalise after Statistics, x̂ being the normalised input:
//
//	dbeta[c] = Σ over g, r of dy[g, r, c]
//	dgamma[c] = Σ over g, r of dy[g, r, c] * x̂[g, r, c]
//	dx[g, r, c] = gamma[c] * invStd[g, c] * (dy[g, r, c] - mean over r of dy - x̂[g, r, c] * mean over r of dy·x̂)
//
// With fixed statistics (fixed is true) the two means are left out of dx. dx may be nil.
func (b *BatchNorm) Backward(dx, dgamma, dbeta, x, gamma, dy []float32, fixed bool) {
	b.sumGradients(normPlain, nil, dgamma, dbeta, x, gamma, nil, nil, dy, fixed)
	if dx != nil {
		b.inputGradient(normPlain, dx, x, dy)
	}
}

// BackwardReLU computes the gradients of NormaliseReLU: those of Normalise with dy only where the output was not 0. It
// computes again where that is, to the bit, which is faster than reading the output. dx may be nil.
func (b *BatchNorm) BackwardReLU(dx, dgamma, dbeta, x, gamma, beta, dy []float32, fixed bool) {
	mustLen("beta", beta, b.shape.Channels)
	b.sumGradients(normReLU, nil, dgamma, dbeta, x, gamma, beta, nil, dy, fixed)
	if dx != nil {
		b.inputGradient(normReLU, dx, x, dy)
	}
}

// BackwardSkip is the first pass of the gradients of NormaliseAddReLU: it computes dgamma and dbeta as Backward does with dskip for dy, and
//
//	dskip[g, r, c] = dy[g, r, c] where y[g, r, c] is not 0, else 0
//
// which is the gradient of the skip connection. The second pass is BackwardInput.
func (b *BatchNorm) BackwardSkip(dskip, dgamma, dbeta, x, gamma, y, dy []float32, fixed bool) {
	mustLen("skip connection gradient", dskip, b.shape.len())
	mustLen("normalisation output", y, b.shape.len())
	b.sumGradients(normAddReLU, dskip, dgamma, dbeta, x, gamma, nil, y, dy, fixed)
}

// BackwardInput is the second pass of the gradients of NormaliseAddReLU, after BackwardSkip: dx as in Backward with dskip for dy.
func (b *BatchNorm) BackwardInput(dx, x, dskip []float32) {
	b.inputGradient(normPlain, dx, x, dskip)
}

// sumGradients computes dgamma, dbeta and the factors of inputGradient.
func (b *BatchNorm) sumGradients(form normForm, dskip, dgamma, dbeta, x, gamma, beta, y, dy []float32, fixed bool) {
	mustLen("normalisation input", x, b.shape.len())
	mustLen("normalisation output gradient", dy, b.shape.len())
	mustLen("gamma", gamma, b.shape.Channels)
	mustLen("gamma gradient", dgamma, b.shape.Channels)
	mustLen("beta gradient", dbeta, b.shape.Channels)
	b.spread(gamma, beta)
	b.form, b.y, b.x, b.gate, b.dy = form, dskip, x, y, dy
	b.pool.Run(b.shape.Groups*b.parts, b.reduce)
	b.y, b.x, b.gate, b.dy = nil, nil, nil, nil
	rows := float64(b.shape.Rows)
	ch := b.shape.Channels
	for c := range ch {
		var dg, db float64
		for g := range b.shape.Groups {
			sum, product := b.total(g, c)
			dg += product * float64(b.InvStd[g*ch+c])
			db += sum
		}
		dgamma[c], dbeta[c] = float32(dg), float32(db)
	}
	for i := range b.Mean {
		var mul, add float32
		if !fixed {
			sum, product := b.total(i/ch, i%ch)
			is := float64(b.InvStd[i])
			a := float64(gamma[i%ch]) * is
			mul, add = float32(-a*is*is*product/rows), float32(-a*sum/rows)
		}
		b.repeat(b.mul, i, mul)
		b.repeat(b.add, i, add)
	}
}

func (b *BatchNorm) inputGradient(form normForm, dx, x, dy []float32) {
	mustLen("normalisation input gradient", dx, b.shape.len())
	mustLen("normalisation input", x, b.shape.len())
	mustLen("normalisation output gradient", dy, b.shape.len())
	b.form, b.y, b.x, b.dy = form, dx, x, dy
	b.pool.Run(b.shape.Groups*b.parts, b.backward)
	b.y, b.x, b.dy = nil, nil, nil
}

// spread sets mean, scale and shift of every group and lane; beta may be nil where no shift is needed.
func (b *BatchNorm) spread(gamma, beta []float32) {
	ch := b.shape.Channels
	for i, m := range b.Mean {
		b.repeat(b.mean, i, m)
		b.repeat(b.scale, i, b.InvStd[i]*gamma[i%ch])
		if beta != nil {
			b.repeat(b.shift, i, beta[i%ch])
		}
	}
}

// repeat sets the factor of element i of Mean in every lane of that channel.
func (b *BatchNorm) repeat(factor []float32, i int, x float32) {
	ch := b.shape.Channels
	g, c := i/ch, i%ch
	for lane := g*ch*b.times + c; lane < (g+1)*ch*b.times; lane += ch {
		factor[lane] = x
	}
}

// total adds up the partial sums of a group and a channel, in order.
func (b *BatchNorm) total(g, c int) (first, second float64) {
	lanes := b.times * b.shape.Channels
	n := b.parts * 2 * lanes
	return total(b.sums[g*n:(g+1)*n], lanes, c)
}
