package op

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/reprise-ml/reprise/internal/kernel"
)

// SymDiff returns the gradients of x, gamma and beta, and with a skip connection of that.
func (b *batchNorm) SymDiff(in gorgonia.Nodes, out, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	x, gamma := in[0], in[1]
	last := out // the ReLU's output says where it was 0
	if b.form == normPlain {
		var err error
		if last, err = ran(out); err != nil {
			return nil, err
		}
	}
	o, err := newBase(b.pool, b.form.String()+"Back", x.Shape(), x, gamma, grad, last)
	if err != nil {
		return nil, err
	}
	back := batchNormBack{base: o, forward: b, gamma: newTensor(gamma.Shape()), beta: newTensor(gamma.Shape())}
	if b.form == normAddReLU {
		return b.skipGradients(&batchNormSkip{back, b.kernel.Twin()}, x, gamma, grad, last)
	}
	dx, err := gorgonia.ApplyOp(&back, x, gamma, grad, last)
	if err != nil {
		return nil, err
	}
	dgamma, dbeta, err := back.picks(dx)
	return gorgonia.Nodes{dx, dgamma, dbeta}, err
}

// skipGradients makes two operations, one for the gradient of the skip connection and one for that of x, so that both can share
// planned memory.
func (b *batchNorm) skipGradients(back *batchNormSkip, x, gamma, grad, out *gorgonia.Node) (gorgonia.Nodes, error) {
	dskip, err := gorgonia.ApplyOp(back, x, gamma, grad, out)
	if err != nil {
		return nil, err
	}
	dgamma, dbeta, err := back.picks(dskip)
	if err != nil {
		return nil, err
	}
	o, err := newBase(b.pool, "batchNormInput", x.Shape(), x, dskip)
	if err != nil {
		return nil, err
	}
	dx, err := gorgonia.ApplyOp(&batchNormInput{o, back.kernel}, x, dskip)
	return gorgonia.Nodes{dx, dgamma, dbeta, dskip}, err
}

// batchNormBack is the gradient of x, beside those of gamma and beta.
type batchNormBack struct {
	base
	forward     *batchNorm
	gamma, beta *tensor.Dense
}

func (b *batchNormBack) picks(of *gorgonia.Node) (dgamma, dbeta *gorgonia.Node, err error) {
	if dgamma, err = newPick("batchNormGamma", of, b.gamma); err != nil {
		return nil, nil, err
	}
	dbeta, err = newPick("batchNormBeta", of, b.beta)
	return dgamma, dbeta, err
}

func (b *batchNormBack) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	dx, dgamma, dbeta := b.output(), b.gamma.Float32s(), b.beta.Float32s()
	x, gamma, dy := b.arg(in, 0), b.arg(in, 1), b.arg(in, 2)
	fixed := !b.forward.config.Train
	if b.forward.form == normReLU {
		b.forward.kernel.BackwardReLU(dx, dgamma, dbeta, x, gamma, b.arg(in, 3), dy, fixed)
	} else {
		b.forward.kernel.Backward(dx, dgamma, dbeta, x, gamma, dy, fixed)
	}
	return b.out, nil
}

// batchNormSkip is the gradient of a skip connection, beside those of gamma and beta.
type batchNormSkip struct {
	batchNormBack
	kernel *kernel.BatchNorm // keeps what batchNormInput needs
}

func (b *batchNormSkip) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	b.kernel.BackwardSkip(b.output(), b.gamma.Float32s(), b.beta.Float32s(), b.arg(in, 0), b.arg(in, 1), b.arg(in, 3), b.arg(in, 2), !b.forward.config.Train)
	return b.out, nil
}

// batchNormInput is the gradient of x after batchNormSkip.
type batchNormInput struct {
	base
	kernel *kernel.BatchNorm
}

func (b *batchNormInput) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	b.kernel.BackwardInput(b.output(), b.arg(in, 0), b.arg(in, 1))
	return b.out, nil
}
