// Package nn builds neural networks as Gorgonia graphs.
//
// A [Layer] is a plain value that says what a layer is; it holds no weights. Weights live in a
// [Params], by path, so that the training graph and the evaluation graph of a model share them
// and a checkpoint is just Params. A [Scope] is the place in a graph where a layer is being built.
//
//	func (l Linear) Apply(s *Scope, x *gorgonia.Node) *gorgonia.Node {
//		w := s.Weight("weight", …, l.Out, x.Shape()[1])
//		b := s.Weight("bias", …, l.Out)
//		return s.Keep(op.Linear(s.Pool(), x, w, b))
//	}
//
// Images are [rows, height, width, channels], sequences are [rows, tokens, width]; everything is float32 but the numbers of tokens
// and classes, int32. Names and layouts of weights
// outside of a graph are those of PyTorch.
package nn

import "gorgonia.org/gorgonia"

// Layer adds its computation on x to the graph of s and returns the result. It reports trouble
// through s, not through a return value, and is called only while s has no error.
type Layer interface {
	Apply(s *Scope, x *gorgonia.Node) *gorgonia.Node
}

// Model is a Layer with any number of inputs and outputs.
type Model interface {
	Apply(s *Scope, inputs gorgonia.Nodes) gorgonia.Nodes
}

// Loss adds to the graph of s a scalar that says how far outputs are from targets: a mean over
// rows weighted by weights, float32 of shape [rows].
type Loss interface {
	Apply(s *Scope, outputs, targets gorgonia.Nodes, weights *gorgonia.Node) *gorgonia.Node
}
