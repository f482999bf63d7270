package nn

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"math/rand/v2"
)

// Init draws the first value of a weight.
type Init interface {
	// Fill writes every element of w, a weight of the given shape, in the order
	// of memory: [kernel height, kernel width, in, out] of a convolution,
	// [out, in] of a linear layer. r is for this weight alone.
	Fill(w []float32, shape []int, r *rand.Rand)
}

// He draws from a normal distribution with mean 0 and variance 2/fan, the fan
// being the number of inputs of one output: PyTorch's kaiming_normal_. The
// fans of a weight are those of PyTorch, which leave out stride and groups.
type He struct {
	FanOut bool // the number of outputs of one input instead: mode="fan_out"
}

// Fill implements [Init].
func (h He) Fill(w []float32, shape []int, r *rand.Rand) {
	fan, out := fans(shape)
	if h.FanOut {
		fan = out
	}
	Normal{Deviation: math.Sqrt(2 / float64(fan))}.Fill(w, shape, r)
}

// Glorot draws uniformly within ±√(6/(in + out)) by the numbers of inputs of one output and of outputs of one input: PyTorch's xavier_uniform_.
type Glorot struct{}

// Fill implements [Init].
func (Glorot) Fill(w []float32, shape []int, r *rand.Rand) {
	in, out := fans(shape)
	Uniform{math.Sqrt(6 / float64(in+out))}.Fill(w, shape, r)
}

// Normal draws from a normal distribution with mean 0.
type Normal struct{ Deviation float64 }

// Fill implements [Init].
func (n Normal) Fill(w []float32, _ []int, r *rand.Rand) {
	for i := range w {
		w[i] = float32(n.Deviation * r.NormFloat64())
	}
}

// Uniform draws from [-Bound, Bound).
type Uniform struct{ Bound float64 }

// Fill implements [Init].
func (u Uniform) Fill(w []float32, _ []int, r *rand.Rand) {
	for i := range w {
		w[i] = float32(u.Bound * (2*r.Float64() - 1))
	}
}

// Constant is the same number everywhere.
type Constant float32

// The constants a bias and a scale begin with.
const (
	Zeros Constant = 0
	Ones  Constant = 1
)

// Fill implements [Init].
func (c Constant) Fill(w []float32, _ []int, _ *rand.Rand) {
	for i := range w {
		w[i] = float32(c)
	}
}

// fans returns the numbers of inputs of one output and of outputs of one
// input of a weight: of [kernel height, kernel width, in, out], of [out, in],
// or of a vector, which counts as one input.
func fans(shape []int) (in, out int) {
	switch len(shape) {
	case 4:
		return shape[0] * shape[1] * shape[2], shape[0] * shape[1] * shape[3]
	case 2:
		return shape[1], shape[0]
	}
	n := 1
	for _, d := range shape {
		n *= d
	}
	return 1, n
}

// generator returns the source of the first value of the weight at path. It
// depends on nothing else, so that the order of building does not matter.
func generator(seed uint64, path string) *rand.Rand {
	return rand.New(rand.NewChaCha8(sha256.Sum256(append(binary.LittleEndian.AppendUint64(nil, seed), path...))))
}
