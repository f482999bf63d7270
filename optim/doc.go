// Package optim turns gradients into better weights: optimizers, learning-rate schedules, clipping and the moving average of weights.
//
// One step of training is
//
//	norm, err := optim.ClipNorm(weights, 1)      // optional
//	optimizer.SetRate(schedule.Rate(position))
//	err = optimizer.Step(weights)
//
// The optimizers SGD, Adam and AdamW follow PyTorch's formulas in float32, one pass over each tensor, and implement gorgonia.Solver.
// Each is a struct of its settings, whose zero value works, and it holds its own buffers: use one for one run, by pointer,
// and copy the settings before the first Step only. SetPool lets it use the threads that the graph runs on.
//
// A weight is a gorgonia.ValueGrad of two float32 *tensor.Dense of the same size. Two methods are optional:
//
//	Name() string // names the weight in errors, groups and checkpoints; without it the position does: "0", "1", …
//	Decay() bool  // whether weight decay applies (usually not for biases and norm layers); without it decay applies
//
// Both are asked at the first Step, and every later Step must be given the same weights in the same order.
// Step writes weights and buffers only after every weight has passed its checks, and leaves gradients as they are: unlike Gorgonia's
// solvers it does not zero them, for graphs whose gradients are written anew in every run. It does not look for NaN: ClipNorm does.
//
// A position in training is a float64 in whatever unit the caller counts, steps or fresh examples; the lengths in a schedule have that unit too.
package optim
