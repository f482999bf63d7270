package kernel

import (
	"math"
	"unsafe"
)

// shortRow is the length from which a softmax is faster in assembly, which takes three calls.
const shortRow = 32

// Softmax computes the probabilities p[k] = exp(x[k]) / Σ exp(x) of one row, computed without overflow, and returns
// log Σ exp(x).
func Softmax(p, x []float32) (logSum float64) {
	p = p[:len(x)]
	if path := ActivePath(); path != Generic && len(x) >= shortRow {
		return softmax(path, p, x)
	}
	top := x[0]
	for _, v := range x {
		top = max(top, v)
	}
	var sum float64
	for k, v := range x {
		e := math.Exp(float64(v - top))
		p[k] = float32(e)
		sum += e
	}
	scale := float32(1 / sum)
	for k := range p {
		p[k] *= scale
	}
	return float64(top) + math.Log(sum)
}

// softmax is Softmax in assembly: the largest logit, the exponentials and their sum, the quotients.
func softmax(path Path, p, x []float32) (logSum float64) {
	lanes := 16
	if path == AVX2 {
		lanes = 8
	}
	top := float32(math.Inf(-1))
	for rest := x; len(rest) > 0; {
		var largest [16]float32
		n := min(len(rest), chunk)
		pass{a: floats(rest), sums: unsafe.Pointer(&largest)}.stream(path, kMax, n)
		for _, v := range largest[:lanes] {
			top = max(top, v)
		}
		rest = rest[n:]
	}
	var sums [16]float64
	pass{y: floats(p), a: floats(x), sums: unsafe.Pointer(&sums), k: [9]float32{top}}.stream(path, kExpSum, len(x))
	var sum float64
	for _, v := range sums {
		sum += v
	}
	Scale(p, p, float32(1/sum))
	return float64(top) + math.Log(sum)
}

// CrossEntropy is the cross-entropy of one row of logits x against a distribution: the given target, or where that is
// nil all of it on label. The target is smoothed first,
//
//	t[k] = (1-smoothing)*target[k] + smoothing/len(x)
//	loss = Σ t[k] * (log Σ exp(x) - x[k])
//
// and the probabilities are left in p for CrossEntropyBackward.
func CrossEntropy(p, x, target []float32, label int, smoothing float32) (loss float64) {
	logSum := Softmax(p, x)
	if target == nil {
		loss = logSum - float64(x[label])
	} else {
		for k, t := range target[:len(x)] {
			if t != 0 {
				loss += float64(t) * (logSum - float64(x[k]))
			}
		}
	}
	if smoothing == 0 {
		return loss
	}
	var uniform float64
	for _, v := range x {
		uniform += logSum - float64(v)
	}
	s := float64(smoothing)
	return (1-s)*loss + s*uniform/float64(len(x))
}

// CrossEntropyBackward computes dx[k] = scale * (p[k] * Σ t - t[k]) with t as in CrossEntropy.
func CrossEntropyBackward(dx, p, target []float32, label int, smoothing, scale float32) {
	dx = dx[:len(p)]
	rest := smoothing / float32(len(p))
	if target == nil {
		if path := ActivePath(); path != Generic {
			pass{y: floats(dx), a: floats(p), k: [9]float32{scale, rest}}.stream(path, kScale, len(p))
		} else {
			for k, q := range p {
				dx[k] = scale * (q - rest)
			}
		}
		dx[label] = scale * (p[label] - rest - (1 - smoothing))
		return
	}
	target = target[:len(p)]
	var sum float32
	for _, t := range target {
		sum += (1-smoothing)*t + rest
	}
	for k, q := range p {
		dx[k] = scale * (q*sum - ((1-smoothing)*target[k] + rest))
	}
}
