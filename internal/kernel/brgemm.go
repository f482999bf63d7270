package kernel

import "unsafe"

// brgemm is the argument of the batch-reduce micro-kernels. Each computes one tile of up to maxRows rows and
// one or two vectors of columns of a sum of many matrix products, whose factors lie at free strides:
//
//	for r := range rows {
//		for j := range columns { // those with a bit in mask
//			var sum float32
//			for o := range outer {
//				for n := range inner {
//					for k := range k {
//						sum += a[o*aOuter+n*aInner+k*ak+r*ai] * b[o*bOuter+n*bInner+k*bk+j]
//					}
//				}
//			}
//			if accumulate { sum += c[r*ci+j] }
//			if bias { sum += bias[j] }
//			if relu && sum < 0 { sum = 0 }
//			c[r*ci+j] = sum
//		}
//	}
//
// Strides are in bytes; those of the batches count from where the batch before ended, see setBatches. The
// kernels count outer down to 0. The layout is known to the generator.
type brgemm struct {
	a, b, c, bias  unsafe.Pointer
	k              int // at least 1, as are inner and outer
	inner, outer   int
	ai, ak, bk, ci int
	aInner, bInner int
	aOuter, bOuter int
	flags          int
	mask           [2]uint16
}

// Bits of brgemm.flags.
const (
	accumulate = 1 << iota
	addBias
	clampNegative
)

// setBatches sets the loops over batches from strides in floats between their beginnings. It needs k, ak and bk.
func (g *brgemm) setBatches(inner, aInner, bInner, outer, aOuter, bOuter int) {
	g.inner, g.outer = inner, outer
	g.aInner, g.bInner = 4*aInner-g.k*g.ak, 4*bInner-g.k*g.bk
	g.aOuter, g.bOuter = 4*aOuter-4*(inner-1)*aInner-g.k*g.ak, 4*bOuter-4*(inner-1)*bInner-g.k*g.bk
}

// vector is the number of columns of the narrowest micro-kernels: one vector of AVX-512, two of AVX2.
const vector = 16

// microKernels are those of one path: by the number of vectors of columns and the number of rows.
type microKernels struct {
	width  int  // columns of the widest, what panels of weights are packed to
	masked bool // stores the columns in mask only; otherwise all of them
	tiles  [3][]func(*byte)
}

// multiplier runs micro-kernels. It is scratch memory of one worker.
type multiplier struct {
	brgemm
	kernels *microKernels
	edge    []float32 // a tile with columns to spare
	ahead   [2]ahead
}

// ahead is memory to be used soon, which multiply begins to load, so much with each tile.
type ahead struct {
	at         uintptr
	left, step int // bytes
}

// prefetch has memory loaded during the next product of rows by columns.
func (m *multiplier) prefetch(at uintptr, bytes, rows, columns int) {
	highest := m.kernels.maxRows(columns)
	tiles := (rows + highest - 1) / highest
	m.ahead[0] = ahead{at, bytes, (bytes/tiles + 63) &^ 63}
}

func (a *ahead) advance() {
	if n := min(a.left, a.step); n > 0 {
		prefetch(a.at, n)
		a.at += uintptr(n)
		a.left -= n
	}
}

func newMultipliers(n int, k *microKernels) []*multiplier {
	m := make([]*multiplier, n)
	for i := range m {
		m[i] = &multiplier{kernels: k, edge: make([]float32, 6*vector)}
	}
	return m
}

// maxRows is the height of the highest tile of the given number of columns.
func (k *microKernels) maxRows(columns int) int {
	return len(k.tiles[(columns+vector-1)/vector]) - 1
}

// multiply computes rows by columns of the sum the arguments describe, columns being at most the width of a
// panel. The tiles are as equal as can be.
func (m *multiplier) multiply(a, b, c unsafe.Pointer, rows, columns int) {
	tiles := m.kernels.tiles[(columns+vector-1)/vector]
	parts := (rows + len(tiles) - 2) / (len(tiles) - 1)
	if !m.kernels.masked && columns%vector != 0 {
		m.multiplyEdge(tiles, a, b, c, rows, columns, parts)
		return
	}
	m.b = b
	m.mask[0], m.mask[1] = mask(columns), mask(columns-vector)
	outer := m.outer
	for i := range parts {
		lo, hi := Split(rows, parts, i)
		m.a, m.c = unsafe.Add(a, lo*m.ai), unsafe.Add(c, lo*m.ci)
		m.ahead[0].advance()
		m.ahead[1].advance()
		tiles[hi-lo]((*byte)(unsafe.Pointer(&m.brgemm)))
		m.outer = outer
	}
}

// multiplyEdge is multiply for kernels that store whole vectors.
func (m *multiplier) multiplyEdge(tiles []func(*byte), a, b, c unsafe.Pointer, rows, columns, parts int) {
	m.b = b
	outer, ci := m.outer, m.ci
	for i := range parts {
		lo, hi := Split(rows, parts, i)
		for r := lo; r < hi && m.flags&accumulate != 0; r++ {
			copy(m.edge[(r-lo)*vector:], unsafe.Slice((*float32)(unsafe.Add(c, r*ci)), columns))
		}
		m.a, m.c, m.ci = unsafe.Add(a, lo*m.ai), unsafe.Pointer(&m.edge[0]), 4*vector
		tiles[hi-lo]((*byte)(unsafe.Pointer(&m.brgemm)))
		m.outer, m.ci = outer, ci
		for r := lo; r < hi; r++ {
			copy(unsafe.Slice((*float32)(unsafe.Add(c, r*ci)), columns), m.edge[(r-lo)*vector:])
		}
	}
}

// mask has a bit for each of the first n columns of a vector.
func mask(n int) uint16 { return uint16(1<<max(0, min(n, vector)) - 1) }

// address is that of element i of a slice.
func address(x []float32, i int) unsafe.Pointer { return unsafe.Pointer(&x[i]) }

// aligned makes a slice that begins on a cache line.
func aligned(n int) []float32 {
	x := make([]float32, n+15)
	skip := int(-uintptr(unsafe.Pointer(&x[0]))%64) / 4
	return x[skip : skip+n : skip+n]
}
