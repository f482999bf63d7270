package kernel

import "unsafe"

// gemm is Product on micro-kernels. The right factor is packed to panels of columns, unless it is used too
// little for that; a part computes some rows of some panels. Sums over k go in blocks that leave room for
// both factors in the caches.
type gemm struct {
	shape       ProductShape
	pool        *Pool
	kernels     *microKernels
	panels      int
	rowParts    int  // parts of a matrix, one above the other
	columnParts int  // and side by side
	direct      bool // b is read where it lies
	copyA       bool // blocks of a are copied
	aStep       int  // floats from a row of a, as it lies, to the next
	yStep       int  // and of y
	packK       int  // of a sum between packing
	keep        bool // b is packed already, for all of K
	packed      []float32
	bias        []float32 // whole vectors
	biased      bool
	k0, k1      int // of the sums, what is packed
	y, a, b     []float32
	gelu        []float32 // where the GELU of y goes
	slope       []float32 // y is multiplied by the derivative of GELU here
	workers     []*multiplier
	blocks      [][]float32 // of a, one a worker
	pack, part  func(worker, part int)
}

const (
	blockK    = 256  // of a sum over k
	blockRows = 140  // of a part
	packedK   = 1024 // of a sum between packing, unless b is kept
	serial    = 2e6  // floating-point operations below which threads do not pay
)

func newGEMM(p *Pool, s ProductShape, k *microKernels) *gemm {
	aStep := s.K
	if s.TransposeA {
		aStep = s.M
	}
	return newStridedGEMM(p, s, k, aStep, s.N, min(s.K, packedK))
}

// newStridedGEMM is newGEMM for matrices that lie in wider ones, with memory for packK of each sum.
func newStridedGEMM(p *Pool, s ProductShape, k *microKernels, aStep, yStep, packK int) *gemm {
	s.Batch = max(1, s.Batch)
	p = p.worth(s.Batch * s.M * s.N * s.K)
	g := &gemm{shape: s, pool: p, kernels: k, panels: (s.N + k.width - 1) / k.width, aStep: aStep, yStep: yStep, packK: packK}
	g.setRows(s.M)
	g.direct = !s.TransposeB && s.N%vector == 0 && (s.N == k.width || s.M <= 4*k.maxRows(k.width))
	if !g.direct {
		g.packed = aligned(s.Batch * g.panels * packK * k.width)
	}
	// Rows at multiples of a page share the lines of the cache.
	g.copyA = s.N > k.width && aStep%1024 == 0
	g.workers = newMultipliers(p.Threads(), k)
	if g.copyA {
		for range p.Threads() {
			g.blocks = append(g.blocks, aligned((blockRows+16)*(blockK+16)))
		}
	}
	g.bias = make([]float32, g.panels*k.width)
	g.pack, g.part = g.packPanel, g.multiply
	return g
}

// setRows makes y and a matrices of m rows.
func (g *gemm) setRows(m int) {
	g.shape.M = m
	g.rowParts = (m + blockRows - 1) / blockRows
	g.columnParts = min(g.panels, (leastParts+g.shape.Batch*g.rowParts-1)/(g.shape.Batch*g.rowParts))
}

func (g *gemm) Run(y, a, b, bias []float32) {
	g.y, g.a, g.b = y, a, b
	if g.shape.GELU {
		g.gelu = y
	}
	g.biased = bias != nil
	copy(g.bias, bias)
	for g.k0 = 0; g.k0 < g.shape.K; g.k0 = g.k1 {
		g.k1 = min(g.k0+g.packK, g.shape.K)
		if !g.direct && !g.keep {
			g.pool.Run(g.shape.Batch*g.panels, g.pack)
		}
		g.pool.Run(g.shape.Batch*g.rowParts*g.columnParts, g.part)
	}
	g.y, g.a, g.b, g.gelu, g.slope = nil, nil, nil, nil, nil
}

func (g *gemm) packPanel(_, part int) {
	s, width := &g.shape, g.kernels.width
	matrix, column := part/g.panels, part%g.panels*width
	k := g.k1 - g.k0
	dst, lanes := g.packed[part*k*width:(part+1)*k*width], min(width, s.N-column)
	if !s.TransposeB {
		packRows(dst, g.b[(matrix*s.K+g.k0)*s.N+column:], s.N, width, lanes)
		return
	}
	if lanes < width {
		clear(dst)
	}
	transpose(dst, width, g.b[(matrix*s.N+column)*s.K+g.k0:], s.K, lanes, k)
}

func (g *gemm) multiply(worker, part int) {
	s, m, width := &g.shape, g.workers[worker], g.kernels.width
	column, row, matrix := part%g.columnParts, part/g.columnParts%g.rowParts, part/g.columnParts/g.rowParts
	m0, m1 := Split(s.M, g.rowParts, row)
	p0, p1 := Split(g.panels, g.columnParts, column)
	m.ci = 4 * g.yStep
	for k0 := g.k0; k0 < g.k1; k0 += blockK {
		m.k = min(blockK, g.k1-k0)
		m.flags = 0
		if k0 > 0 || s.Accumulate {
			m.flags |= accumulate
		}
		if k0+m.k == s.K && g.biased {
			m.flags |= addBias
		}
		if k0+m.k == s.K && s.ReLU {
			m.flags |= clampNegative
		}
		a := g.block(worker, matrix, m0, m1, k0)
		for p := p0; p < p1; p++ {
			var b unsafe.Pointer
			if g.direct {
				m.bk, b = 4*s.N, address(g.b, (matrix*s.K+k0)*s.N+p*width)
			} else {
				m.bk, b = 4*width, address(g.packed, ((matrix*g.panels+p)*(g.k1-g.k0)+k0-g.k0)*width)
			}
			m.setBatches(1, 0, 0, 1, 0, 0)
			m.bias = address(g.bias, p*width)
			m.multiply(a, b, address(g.y, (matrix*s.M+m0)*g.yStep+p*width), m1-m0, min(width, s.N-p*width))
		}
	}
	if g.k1 == s.K && (g.gelu != nil || g.slope != nil) {
		for row := matrix*s.M + m0; row < matrix*s.M+m1; row++ {
			lo, hi := row*g.yStep+p0*width, row*g.yStep+min(p1*width, s.N)
			if y := g.y[lo:hi]; g.gelu != nil {
				GELU(g.gelu[lo:hi], y)
			} else {
				GELUBackward(y, g.slope[lo:hi], y)
			}
		}
	}
}

// block is where rows [m0, m1) of a begin, at column k0; it sets their strides.
func (g *gemm) block(worker, matrix, m0, m1, k0 int) unsafe.Pointer {
	s, m := &g.shape, g.workers[worker]
	if s.TransposeA {
		at := (matrix*s.K+k0)*g.aStep + m0
		if !g.copyA {
			m.ai, m.ak = 4, 4*g.aStep
			return address(g.a, at)
		}
		rows := m1 - m0
		stride := (rows + 15) &^ 15
		for k := range m.k {
			copy(g.blocks[worker][k*stride:][:rows], g.a[at+k*g.aStep:])
		}
		m.ai, m.ak = 4, 4*stride
		return address(g.blocks[worker], 0)
	}
	at := (matrix*s.M+m0)*g.aStep + k0
	if !g.copyA {
		m.ai, m.ak = 4*g.aStep, 4
		return address(g.a, at)
	}
	stride := m.k + 16
	for r := range m1 - m0 {
		copy(g.blocks[worker][r*stride:][:m.k], g.a[at+r*g.aStep:])
	}
	m.ai, m.ak = 4*stride, 4
	return address(g.blocks[worker], 0)
}
