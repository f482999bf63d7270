package kernel

import (
	"math"
	"unsafe"
)

// LayerNorm normalises each of Rows rows of Channels floats by its own mean and variance. It keeps them between Forward and Backward.
type LayerNorm struct {
	Mean, InvStd []float32 // [rows]

	pool              *Pool
	path              Path
	rows, ch          int
	step              int       // rows a part, at most 256: that many terms are summed in float32
	partial           []float32 // [part][2][channels], of dgamma and dbeta
	epsilon           float32
	y, x, dy          []float32
	gamma, beta       []float32
	dgamma, dbeta     []float32
	forward, backward func(worker, part int)
	merge             func(worker, part int)
}

// mergeChannels is the number of channels whose partial sums are one part of the merging.
const mergeChannels = 256

// NewLayerNorm makes the kernel for a shape.
func NewLayerNorm(p *Pool, rows, channels int) *LayerNorm {
	l := &LayerNorm{pool: p, path: ActivePath(), rows: rows, ch: channels, step: max(1, min(rows, 256, chunk/channels))}
	l.Mean, l.InvStd = make([]float32, rows), make([]float32, rows)
	l.partial = make([]float32, l.parts()*2*channels)
	l.forward, l.backward, l.merge = l.forwardPart, l.backwardPart, l.mergePart
	return l
}

func (l *LayerNorm) parts() int { return (l.rows + l.step - 1) / l.step }

// Forward computes
//
//	for r {
//		mean[r] = Σ over c of x[r, c] / Channels
//		variance[r] = Σ over c of (x[r, c] - mean[r])² / Channels
//		invStd[r] = 1 / √(variance[r] + epsilon)
//		y[r, c] = (x[r, c] - mean[r]) * invStd[r] * gamma[c] + beta[c]
//	}
//
// The sums are in float64.
func (l *LayerNorm) Forward(y, x, gamma, beta []float32, epsilon float32) {
	mustLen("layer normalisation output", y, l.rows*l.ch)
	mustLen("layer normalisation input", x, l.rows*l.ch)
	mustLen("gamma", gamma, l.ch)
	mustLen("beta", beta, l.ch)
	l.y, l.x, l.gamma, l.beta, l.epsilon = y, x, gamma, beta, epsilon
	l.pool.Run(l.parts(), l.forward)
	l.y, l.x, l.gamma, l.beta = nil, nil, nil, nil
}

// Backward computes the gradients of Forward, x̂ being the normalised input:
//
//	dbeta[c] = Σ over r of dy[r, c]
//	dgamma[c] = Σ over r of dy[r, c] * x̂[r, c]
//	dx[r, c] = invStd[r] * (d[r, c] - mean over c of d - x̂[r, c] * mean over c of d·x̂) with d[r, c] = dy[r, c] * gamma[c]
func (l *LayerNorm) Backward(dx, dgamma, dbeta, x, gamma, dy []float32) {
	mustLen("layer normalisation input gradient", dx, l.rows*l.ch)
	mustLen("layer normalisation input", x, l.rows*l.ch)
	mustLen("layer normalisation output gradient", dy, l.rows*l.ch)
	mustLen("gamma", gamma, l.ch)
	mustLen("gamma gradient", dgamma, l.ch)
	mustLen("beta gradient", dbeta, l.ch)
	l.y, l.x, l.dy, l.gamma, l.dgamma, l.dbeta = dx, x, dy, gamma, dgamma, dbeta
	l.pool.Run(l.parts(), l.backward)
	l.pool.Run((l.ch+mergeChannels-1)/mergeChannels, l.merge)
	l.y, l.x, l.dy, l.gamma, l.dgamma, l.dbeta = nil, nil, nil, nil, nil, nil
}

func (l *LayerNorm) forwardPart(_, part int) {
	n := float64(l.ch)
	for r := part * l.step; r < min(l.rows, (part+1)*l.step); r++ {
		x, y := l.x[r*l.ch:(r+1)*l.ch], l.y[r*l.ch:(r+1)*l.ch]
		sum, square := moments(l.path, x)
		m := sum / n
		v := max(0, square/n-m*m)
		mean, scale := float32(m), float32(1/math.Sqrt(v+float64(l.epsilon)))
		l.Mean[r], l.InvStd[r] = mean, scale
		if l.path != Generic {
			p := pass{y: floats(y), a: floats(x), b: floats(l.gamma), c: floats(l.beta), k: [9]float32{mean, scale}}
			p.stream(l.path, kNormalise, l.ch)
			continue
		}
		for c, v := range x {
			y[c] = (v-mean)*scale*l.gamma[c] + l.beta[c]
		}
	}
}

// moments are the sums of x and of x².
func moments(path Path, x []float32) (sum, square float64) {
	if path == Generic {
		for _, v := range x {
			sum += float64(v)
			square += float64(v) * float64(v)
		}
		return sum, square
	}
	var sums [32]float64
	pass{a: floats(x), sums: unsafe.Pointer(&sums)}.stream(path, kMoments, len(x))
	return pairs(path, &sums)
}

// pairs adds up the lanes of two sums.
func pairs(path Path, sums *[32]float64) (first, second float64) {
	n := 16
	if path == AVX2 {
		n = 8
	}
	for i := range n {
		first += sums[i]
		second += sums[n+i]
	}
	return first, second
}

func (l *LayerNorm) backwardPart(_, part int) {
	dgamma := l.partial[part*2*l.ch : (part*2+1)*l.ch]
	dbeta := l.partial[(part*2+1)*l.ch : (part*2+2)*l.ch]
	clear(dgamma)
	clear(dbeta)
	for r := part * l.step; r < min(l.rows, (part+1)*l.step); r++ {
		x, dx, dy := l.x[r*l.ch:(r+1)*l.ch], l.y[r*l.ch:(r+1)*l.ch], l.dy[r*l.ch:(r+1)*l.ch]
		mean, scale := l.Mean[r], l.InvStd[r]
		sum, product := l.rowSums(x, dy, mean)
		s, n := float64(scale), float64(l.ch)
		mul, add := float32(-s*s*s*product/n), float32(-s*sum/n)
		if l.path != Generic {
			p := pass{y: floats(dgamma), a: floats(x), b: floats(dy), c: floats(dbeta), k: [9]float32{mean, scale, mul, add}}
			p.stream(l.path, kNormaliseWeights, l.ch)
			p.y, p.c = floats(dx), floats(l.gamma)
			p.stream(l.path, kNormaliseBackward, l.ch)
			continue
		}
		for c, v := range x {
			d := dy[c]
			dgamma[c] += d * ((v - mean) * scale)
			dbeta[c] += d
			dx[c] = d*l.gamma[c]*scale + (v-mean)*mul + add
		}
	}
}

// rowSums are the sums of dy·gamma and of dy·gamma·(x-mean).
func (l *LayerNorm) rowSums(x, dy []float32, mean float32) (sum, product float64) {
	if l.path == Generic {
		for c, v := range x {
			d := dy[c] * l.gamma[c]
			sum += float64(d)
			product += float64(d) * float64(v-mean)
		}
		return sum, product
	}
	var sums [32]float64
	p := pass{a: floats(x), b: floats(dy), c: floats(l.gamma), sums: unsafe.Pointer(&sums), k: [9]float32{mean}}
	p.stream(l.path, kNormaliseSums, l.ch)
	return pairs(l.path, &sums)
}

// mergePart adds up the partial sums of some channels.
func (l *LayerNorm) mergePart(_, part int) {
	for c := part * mergeChannels; c < min(l.ch, (part+1)*mergeChannels); c++ {
		var dg, db float64
		for p := range l.parts() {
			dg += float64(l.partial[2*p*l.ch+c])
			db += float64(l.partial[(2*p+1)*l.ch+c])
		}
		l.dgamma[c], l.dbeta[c] = float32(dg), float32(db)
	}
}
