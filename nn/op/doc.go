// Package op holds the operations of neural networks as fused Gorgonia operations with gradients.
//
// A function such as Conv checks shapes, adds one node to the graph of its inputs and returns it;
// gorgonia.Grad then finds the gradients. Activations are float32 and NHWC: the batch first, the
// channel last. Errors name the operation, what it expected and what it found.
//
//	p := op.NewPool(0)
//	defer p.Close()
//	h, err := op.Conv(p, x, w, op.ConvConfig{Pad: 1})
//
// The first argument is the Pool whose goroutines share the work; a nil *Pool runs on the caller's. The
// results are the same bits for a pool of any size.
//
// # What an executor needs to know
//
// Every operation owns the tensor it returns from Do, writes all of it each time, and allocates
// nothing in Do. An executor may lend it another tensor of the same shape through
//
//	Output() *tensor.Dense   // nil: not plannable (scalars and side outputs)
//	SetOutput(*tensor.Dense)
//
// and may reuse that memory once every node that takes the output as an input has run: what a gradient needs is
// an input of the gradient's node or private to the operation. Where only the order matters (batch statistics, the mask of
// a dropout) the gradient takes a side output of the forward operation instead of its output, so that the output need not
// be kept; running side outputs right after their input frees it soonest. An operation never writes to its inputs.
//
// Operations with something to publish after a good step implement Committer.
//
// An operation belongs to one graph and one machine: two machines must not run it at once.
package op
