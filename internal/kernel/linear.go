package kernel

// LinearShape is the shape of y = x·wᵀ + b.
type LinearShape struct {
	N, In, Out int // x [N, In], w [Out, In], b [Out], y [N, Out]
}

// LinearForward computes
//
//	for n, o {
//		var sum float32
//		for i {
//			sum += x[n, i] * w[o, i]
//		}
//		y[n, o] = sum + b[o]
//	}
type LinearForward struct {
	shape LinearShape
	run   func(y, x, w, b []float32)
	gelu  func(y, pre, x, w, b []float32)
}

// NewLinearForward makes the kernel for a shape.
func NewLinearForward(p *Pool, s LinearShape) *LinearForward {
	if k := kernelsOf(ActivePath()); k != nil {
		g := newGEMM(p, ProductShape{M: s.N, N: s.Out, K: s.In, TransposeB: true}, k)
		return &LinearForward{s, g.Run, func(y, pre, x, w, b []float32) {
			g.gelu = y
			g.Run(pre, x, w, b)
		}}
	}
	g := newGenericLinear(p, s)
	return &LinearForward{s, g.Run, func(y, pre, x, w, b []float32) {
		g.Run(pre, x, w, b)
		GELU(y, pre)
	}}
}

// Run computes y. A nil b counts as zero. All of y is written.
func (l *LinearForward) Run(y, x, w, b []float32) {
	l.shape.mustFit(y, x, w)
	if b != nil {
		mustLen("bias", b, l.shape.Out)
	}
	l.run(y, x, w, b)
}

// RunGELU is Run with GELU behind it: pre gets what Run computes, which GELUBackward needs, and y its GELU. They may be the same slice.
func (l *LinearForward) RunGELU(y, pre, x, w, b []float32) {
	l.shape.mustFit(y, x, w)
	mustLen("linear output before GELU", pre, len(y))
	if b != nil {
		mustLen("bias", b, l.shape.Out)
	}
	l.gelu(y, pre, x, w, b)
}

func (s LinearShape) mustFit(y, x, w []float32) {
	mustLen("linear output", y, s.N*s.Out)
	mustLen("linear input", x, s.N*s.In)
	mustLen("linear weights", w, s.Out*s.In)
}

// LinearBackwardData computes
//
//	for n, i {
//		var sum float32
//		for o {
//			sum += dy[n, o] * w[o, i]
//		}
//		dx[n, i] = sum
//	}
type LinearBackwardData struct {
	shape LinearShape
	run   func(dx, w, dy []float32)
	gelu  func(dx, pre, w, dy []float32)
}

// NewLinearBackwardData makes the kernel for a shape.
func NewLinearBackwardData(p *Pool, s LinearShape) *LinearBackwardData {
	if k := kernelsOf(ActivePath()); k != nil {
		g := newGEMM(p, ProductShape{M: s.N, N: s.In, K: s.Out}, k)
		run := func(dx, w, dy []float32) { g.Run(dx, dy, w, nil) }
		return &LinearBackwardData{s, run, func(dx, pre, w, dy []float32) {
			g.slope = pre
			run(dx, w, dy)
		}}
	}
	g := newGenericLinearData(p, s)
	return &LinearBackwardData{s, g.Run, func(dx, pre, w, dy []float32) {
		g.Run(dx, w, dy)
		GELUBackward(dx, pre, dx)
	}}
}

// Run computes dx. All of it is written.
func (l *LinearBackwardData) Run(dx, w, dy []float32) {
	l.shape.mustFit(dy, dx, w)
	l.run(dx, w, dy)
}

// RunGELU is Run for an x that is the GELU of pre: dx becomes the gradient of pre.
func (l *LinearBackwardData) RunGELU(dx, pre, w, dy []float32) {
	l.shape.mustFit(dy, dx, w)
	mustLen("linear input before GELU", pre, len(dx))
	l.gelu(dx, pre, w, dy)
}

// LinearBackwardWeights computes
//
//	for o, i {
//		var sum float32
//		for n {
//			sum += dy[n, o] * x[n, i]
//		}
//		dw[o, i] = sum
//	}
//	for o {
//		db[o] = sum over n of dy[n, o]
//	}
type LinearBackwardWeights struct {
	shape LinearShape
	run   func(dw, db, x, dy []float32)
}

// NewLinearBackwardWeights makes the kernel for a shape.
func NewLinearBackwardWeights(p *Pool, s LinearShape) *LinearBackwardWeights {
	if k := kernelsOf(ActivePath()); k != nil {
		l := &linearWeights{
			weights: newGEMM(p, ProductShape{M: s.Out, N: s.In, K: s.N, TransposeA: true}, k),
			bias:    newGEMM(p, ProductShape{M: 1, N: s.Out, K: s.N}, k),
			ones:    make([]float32, s.N),
		}
		for i := range l.ones {
			l.ones[i] = 1
		}
		return &LinearBackwardWeights{s, l.Run}
	}
	return &LinearBackwardWeights{s, newGenericLinearWeights(p, s).Run}
}

// Run computes dw and, unless it is nil, db. All of them is written.
func (l *LinearBackwardWeights) Run(dw, db, x, dy []float32) {
	l.shape.mustFit(dy, x, dw)
	if db != nil {
		mustLen("bias gradient", db, l.shape.Out)
	}
	l.run(dw, db, x, dy)
}

// linearWeights is LinearBackwardWeights on micro-kernels: the bias is a constant input of one.
type linearWeights struct {
	weights, bias *gemm
	ones          []float32
}

func (l *linearWeights) Run(dw, db, x, dy []float32) {
	l.weights.Run(dw, dy, x, nil)
	if db != nil {
		l.bias.Run(db, l.ones, dy, nil)
	}
}
