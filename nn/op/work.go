package op

import (
	"fmt"

	"gorgonia.org/tensor"

	"github.com/reprise-ml/reprise/internal/kernel"
)

// Multiplier is an operation whose time goes into products: a convolution, a linear layer,
// attention, or one of their gradients.
type Multiplier interface {
	// FLOPs is the number of floating-point operations of a run: two for every product. Products
	// with the zeros of a padding count, biases do not.
	FLOPs() int64
	// Geometry is its shape without the batch, of a gradient that of the layer: kernel, channels
	// and image as in 3x3 16→32 32x32→16x16 (the image once where it stays), 3x3 16→32 in 4 groups 32x32; 64→10 of a
	// linear layer; 4 heads of 64, 128 positions of attention.
	Geometry() string
}

// FLOPs implements [Multiplier].
func (c *conv) FLOPs() int64 { return flops(c.in[1], c.shape[:3]) }

// Geometry implements [Multiplier].
func (c *conv) Geometry() string { return convGeometry(c.in[1], c.in[0], c.shape) }

// FLOPs implements [Multiplier].
func (c *convData) FLOPs() int64 { return flops(c.in[0], c.in[1][:3]) }

// Geometry implements [Multiplier].
func (c *convData) Geometry() string { return convGeometry(c.in[0], c.shape, c.in[1]) }

// FLOPs implements [Multiplier].
func (c *convWeights) FLOPs() int64 { return flops(c.shape, c.in[1][:3]) }

// Geometry implements [Multiplier].
func (c *convWeights) Geometry() string { return convGeometry(c.shape, c.in[0], c.in[1]) }

// FLOPs implements [Multiplier].
func (l *linear) FLOPs() int64 { return flops(l.in[1], rows(l.in[0])) }

// Geometry implements [Multiplier].
func (l *linear) Geometry() string { return linearGeometry(l.in[1]) }

// FLOPs implements [Multiplier].
func (l *linearData) FLOPs() int64 { return flops(l.in[0], rows(l.in[1])) }

// Geometry implements [Multiplier].
func (l *linearData) Geometry() string { return linearGeometry(l.in[0]) }

// FLOPs implements [Multiplier].
func (l *linearWeights) FLOPs() int64 { return flops(l.shape, rows(l.in[0])) }

// Geometry implements [Multiplier].
func (l *linearWeights) Geometry() string { return linearGeometry(l.shape) }

// FLOPs implements [Multiplier]: with its gradients it has three products.
func (l *linearCrossEntropy) FLOPs() int64 {
	products := int64(1)
	if l.dx != nil {
		products = 3
	}
	return products * flops(l.in[1], rows(l.in[0]))
}

// Geometry implements [Multiplier].
func (l *linearCrossEntropy) Geometry() string { return linearGeometry(l.in[1]) }

// flops is twice the number of weights times the number of places they are applied at.
func flops(weights, places tensor.Shape) int64 {
	return 2 * int64(weights.TotalSize()) * int64(places.TotalSize())
}

// rows are all dimensions but the last.
func rows(s tensor.Shape) tensor.Shape { return s[:len(s)-1] }

func convGeometry(w, x, y tensor.Shape) string {
	image := fmt.Sprintf("%dx%d", x[1], x[2])
	if x[1] != y[1] || x[2] != y[2] {
		image += fmt.Sprintf("→%dx%d", y[1], y[2])
	}
	channels := fmt.Sprintf("%d→%d", x[3], w[3])
	if groups := x[3] / w[2]; groups > 1 {
		channels += fmt.Sprintf(" in %d groups", groups)
	}
	return fmt.Sprintf("%dx%d %s %s", w[0], w[1], channels, image)
}

func linearGeometry(w tensor.Shape) string { return fmt.Sprintf("%d→%d", w[1], w[0]) }

// FLOPs implements [Multiplier]. The products of positions that are not seen do not count.
func (a *attention) FLOPs() int64 { return int64(a.kernel.FLOPs()) }

// Geometry implements [Multiplier].
func (a *attention) Geometry() string { return attentionGeometry(a.heads) }

// FLOPs implements [Multiplier]: five products where the forward operation has two, one of them again.
func (a *attentionBack) FLOPs() int64 { return int64(a.kernel.FLOPs()) * 5 / 2 }

// Geometry implements [Multiplier].
func (a *attentionBack) Geometry() string { return attentionGeometry(a.heads) }

func attentionGeometry(s kernel.AttentionShape) string {
	text := fmt.Sprintf("%d heads of %d, %d positions", s.Heads, s.HeadSize, s.Context)
	if s.Causal {
		text += ", causal"
	}
	return text
}
