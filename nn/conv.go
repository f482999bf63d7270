package nn

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/reprise-ml/reprise/nn/op"
)

// Conv is a convolution with a square kernel: [rows, height, width, in] to [rows, height', width',
// Out], where height' = (height + 2·Pad - Kernel)/Stride + 1, rounded down.
type Conv struct {
	Out, Kernel int
	Stride      int  // 0 means 1
	Pad         int  // rows and columns of zeros on every side
	Groups      int  // of channels, each made of its own inputs alone; divides in and Out, 0 means 1, in is depthwise
	Bias        bool // add a bias [Out], at first 0
	Init        Init // of the weight; nil means He{}
}

// Apply implements [Layer].
func (l Conv) Apply(s *Scope, x *gorgonia.Node) *gorgonia.Node {
	if !s.wants(x, "rows", "height", "width", "channels") {
		return x
	}
	init := l.Init
	if init == nil {
		init = He{}
	}
	in, groups := x.Shape()[3], l.Groups
	if groups == 0 {
		groups = 1
	}
	if groups < 0 || in%groups != 0 || l.Out%groups != 0 {
		s.Fail(fmt.Errorf("%d groups do not divide %d channels of the input and %d of the output", groups, in, l.Out))
		return x
	}
	w := s.Weight("weight", init, l.Kernel, l.Kernel, in/groups, l.Out)
	y := s.Keep(op.Conv(s.Pool(), x, w, op.ConvConfig{Stride: l.Stride, Pad: l.Pad, Groups: groups}))
	if !l.Bias || s.Err() != nil {
		return y
	}
	return s.Keep(op.Bias(s.Pool(), y, s.Weight("bias", Zeros, l.Out)))
}

// MaxPool is the largest value of every window of Kernel × Kernel pixels: [rows, height, width,
// channels] to [rows, height', width', channels] with height' as of [Conv].
type MaxPool struct {
	Kernel int
	Stride int // 0 means Kernel
	Pad    int // at most Kernel/2; what is added never is the largest
}

// Apply implements [Layer].
func (l MaxPool) Apply(s *Scope, x *gorgonia.Node) *gorgonia.Node {
	if !s.wants(x, "rows", "height", "width", "channels") {
		return x
	}
	return s.Keep(op.MaxPool(s.Pool(), x, op.PoolConfig{Kernel: l.Kernel, Stride: l.Stride, Pad: l.Pad}))
}

// GlobalAvgPool is the mean over all pixels, [rows, height, width, channels] to [rows, channels], or over all tokens, [rows, tokens,
// channels] to [rows, channels].
type GlobalAvgPool struct{}

// Apply implements [Layer].
func (GlobalAvgPool) Apply(s *Scope, x *gorgonia.Node) *gorgonia.Node {
	if x.Dims() != 3 && !s.wants(x, "rows", "height", "width", "channels") {
		return x
	}
	return s.Keep(op.GlobalAvgPool(s.Pool(), x))
}

// Shortcut is the shortcut without weights of He et al. (2015), option A: every Stride-th pixel,
// and channels of zeros, half of them before and half after those of x: [rows, height, width, in] to
// [rows, height/Stride, width/Stride, Out], rounded up. It is x itself where nothing changes.
type Shortcut struct {
	Out    int
	Stride int // 0 means 1
}

// Apply implements [Layer].
func (l Shortcut) Apply(s *Scope, x *gorgonia.Node) *gorgonia.Node {
	if !s.wants(x, "rows", "height", "width", "channels") {
		return x
	}
	stride := max(l.Stride, 1)
	if stride == 1 && l.Out == x.Shape()[3] {
		return x
	}
	return s.Keep(op.Shortcut(s.Pool(), x, stride, l.Out))
}
