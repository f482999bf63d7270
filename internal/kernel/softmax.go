package kernel

import (
	"math"
	"slices"
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
	top := largest(path, x)
	var sums [16]float64
	pass{y: floats(p), a: floats(x), sums: unsafe.Pointer(&sums), k: [9]float32{top}}.stream(path, kExpSum, len(x))
	sum := addUp(&sums)
	Scale(p, p, float32(1/sum))
	return float64(top) + math.Log(sum)
}

// LogSumExp is log Σ exp(x), computed without overflow.
func LogSumExp(x []float32) float64 {
	path := ActivePath()
	if path != Generic && len(x) >= shortRow {
		top := largest(path, x)
		var sums [16]float64
		pass{a: floats(x), sums: unsafe.Pointer(&sums), k: [9]float32{top}}.stream(path, kExpTotal, len(x))
		return float64(top) + math.Log(addUp(&sums))
	}
	top, sum := slices.Max(x), 0.0 // NaN where there is one
	for _, v := range x {
		sum += math.Exp(float64(v - top))
	}
	return float64(top) + math.Log(sum)
}

// largest is the largest of x, NaN left out.
func largest(path Path, x []float32) float32 {
	lanes := 16
	if path == AVX2 {
		lanes = 8
	}
	top := float32(math.Inf(-1))
	for rest := x; len(rest) > 0; {
		var most [16]float32
		n := min(len(rest), chunk)
		pass{a: floats(rest), sums: unsafe.Pointer(&most)}.stream(path, kMax, n)
		for _, v := range most[:lanes] {
			top = max(top, v)
		}
		rest = rest[n:]
	}
	return top
}

func addUp(sums *[16]float64) (sum float64) {
	for _, v := range sums {
		sum += v
	}
	return sum
}

// CrossEntropy is the cross-entropy of one row of logits x against a distribution: the given target, or where that is
// nil all of it on label. The target is smoothed first,
//
//	t[k] = (1-smoothing)*target[k] + smoothing/len(x)
//	loss = Σ t[k] * (logSum - x[k])
//
// and logSum = log Σ exp(x) is returned for CrossEntropyBackward.
func CrossEntropy(x, target []float32, label int, smoothing float32) (loss, logSum float64) {
	logSum = LogSumExp(x)
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
		return loss, logSum
	}
	var uniform float64
	for _, v := range x {
		uniform += logSum - float64(v)
	}
	s := float64(smoothing)
	return (1-s)*loss + s*uniform/float64(len(x)), logSum
}

// CrossEntropyBackward computes dx[k] = scale * (exp(x[k] - logSum) * Σ t - t[k]) with t and logSum as in CrossEntropy; dx may be x.
func CrossEntropyBackward(dx, x []float32, logSum float64, target []float32, label int, smoothing, scale float32) {
	dx = dx[:len(x)]
	rest := smoothing / float32(len(x))
	sum := float32(1)
	if target != nil {
		sum = 0
		for _, t := range target[:len(x)] {
			sum += (1-smoothing)*t + rest
		}
	}
	less := scale * rest
	if path := ActivePath(); path != Generic {
		k := [9]float32{float32(logSum), scale * sum, less}
		pass{y: floats(dx), a: floats(x), k: k}.stream(path, kSoftmaxBackward, len(x))
	} else {
		for k, v := range x {
			dx[k] = scale*sum*float32(math.Exp(float64(v-float32(logSum)))) - less
		}
	}
	share := scale * (1 - smoothing)
	if target == nil {
		dx[label] -= share
		return
	}
	for k, t := range target {
		dx[k] -= share * t
	}
}
