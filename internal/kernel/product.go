package kernel

// ProductShape is the shape of y = a·b for one matrix or a batch of them. The zero of the options is the plain
// product.
type ProductShape struct {
	Batch      int  // products, 0 for one
	M, N, K    int  // y [Batch, M, N]
	TransposeA bool // a is [Batch, K, M], else [Batch, M, K]
	TransposeB bool // b is [Batch, N, K], else [Batch, K, N]
	Accumulate bool // add to y rather than set it
	ReLU       bool // clamp the result at 0, keeping NaN
	GELU       bool // apply GELU to the result
}

// Product computes, for each matrix of the batch,
//
//	for m, n {
//		var sum float32
//		for k {
//			sum += a[m, k] * b[k, n]
//		}
//		if Accumulate { sum += y[m, n] }
//		sum += bias[n]
//		if ReLU { sum = max(sum, 0) }
//		if GELU { sum = gelu(sum) }
//		y[m, n] = sum
//	}
type Product struct {
	shape ProductShape
	run   func(y, a, b, bias []float32)
}

// NewProduct makes the kernel for a shape. An empty dimension is a bug and panics.
func NewProduct(p *Pool, s ProductShape) *Product {
	if s.Batch == 0 {
		s.Batch = 1
	}
	if s.Batch < 1 || s.M < 1 || s.N < 1 || s.K < 1 {
		panic("kernel: product with an empty dimension")
	}
	if k := kernelsOf(ActivePath()); k != nil {
		return &Product{s, newGEMM(p, s, k).Run}
	}
	return &Product{s, newGenericProduct(p, s).Run}
}

// Run computes y. The bias of N columns counts as zero when it is nil.
func (p *Product) Run(y, a, b, bias []float32) {
	s := p.shape
	mustLen("product", y, s.Batch*s.M*s.N)
	mustLen("left factor", a, s.Batch*s.M*s.K)
	mustLen("right factor", b, s.Batch*s.K*s.N)
	if bias != nil {
		mustLen("bias", bias, s.N)
	}
	p.run(y, a, b, bias)
}
