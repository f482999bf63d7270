package kernel

import "math"

// Softmax computes the probabilities p[k] = exp(x[k]) / Σ exp(x) of one row, computed without overflow, and returns
// log Σ exp(x).
func Softmax(p, x []float32) (logSum float64) {
	top := x[0]
	for _, v := range x {
		top = max(top, v)
	}
	p = p[:len(x)]
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
		for k, q := range p {
			dx[k] = scale * (q - rest)
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
