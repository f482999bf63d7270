package kernel

import "unsafe"

// pass is the argument of the one-pass kernels; the declarations in passes_amd64.go say what
// each of them reads. Its layout is known to asm/passes.go.
type pass struct {
	y, a, b, c unsafe.Pointer // streams
	n          int            // elements, or rows
	stride     int            // bytes from a row to the next
	lanes      int            // of the vector of a masked kernel
	p          [5]unsafe.Pointer
	sums       unsafe.Pointer
	k          [9]float32
}

// passKernel is a one-pass kernel by name. Those over columns have a masked form, which is the next number.
type passKernel int

const (
	kAdd passKernel = iota
	kReLU
	kReLUBackward
	kScale
	kExp
	kGELU
	kGELUBackward
	kMax
	kExpSum
	kExpTotal
	kSoftmaxBackward
	kFinite
	kMoments
	kNormalise
	kNormaliseSums
	kNormaliseBackward
	kNormaliseWeights
	kSGD
	kMomentum
	kNesterov
	kAdam
	kBias
	kBiasMasked
	kStatistics
	kStatisticsMasked
	kColumnSums
	kColumnSumsMasked
	kNorm
	kNormMasked
	kNormReLU
	kNormReLUMasked
	kNormAddReLU
	kNormAddReLUMasked
	kNormSums
	kNormSumsMasked
	kNormReLUSums
	kNormReLUSumsMasked
	kNormAddReLUSums
	kNormAddReLUSumsMasked
	kNormBackward
	kNormBackwardMasked
	kNormReLUBackward
	kNormReLUBackwardMasked
	kPixels
)

// floats is the address of a slice's first element.
func floats(s []float32) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(s)) }

// bytes is the address of a slice's first element.
func bytes(s []uint8) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(s)) }

// stream runs a kernel over n elements of its streams, at most a chunk at a time: the collector cannot stop
// a goroutine within assembly.
func (p pass) stream(path Path, k passKernel, n int) {
	for n > 0 {
		p.n = min(n, chunk)
		p.call(path, k)
		if n -= p.n; n > 0 { // a pointer past the end must not be
			p = p.forward(4 * p.n)
		}
	}
}

// forward is p with the streams that there are moved on. It is a copy for the sake of escape analysis.
func (p pass) forward(bytes int) pass {
	p.y, p.a, p.b, p.c = addressAhead(p.y, bytes), addressAhead(p.a, bytes), addressAhead(p.b, bytes), addressAhead(p.c, bytes)
	return p
}

// addressAhead is the address some bytes on, nil for nil.
func addressAhead(p unsafe.Pointer, bytes int) unsafe.Pointer {
	if p == nil {
		return nil
	}
	return unsafe.Add(p, bytes)
}

// columns runs a kernel over rows of lanes floats, one after the other in memory, block by block of columns. k is the unmasked
// form. There is at least one row.
func (p pass) columns(path Path, k passKernel, lanes, rows int) {
	full, masked := 16, 8
	if path == AVX512 {
		full, masked = 64, 16
	}
	sum := 4 // bytes of an element of p[3]
	switch k {
	case kStatistics, kColumnSums, kNormSums, kNormReLUSums, kNormAddReLUSums: // float64
		masked /= 2
		sum = 8
	}
	p.n, p.stride = rows, 4*lanes
	for {
		n := full
		if lanes < full {
			n = min(masked, lanes)
			p.lanes = n
			p.call(path, k+1)
		} else {
			p.call(path, k)
		}
		if lanes -= n; lanes == 0 {
			return
		}
		p = p.forward(4 * n)
		for _, i := range [...]int{0, 1, 2, 4} {
			p.p[i] = addressAhead(p.p[i], 4*n)
		}
		p.p[3], p.sums = addressAhead(p.p[3], sum*n), addressAhead(p.sums, sum*n)
	}
}

// rowsPass runs a kernel over rows of channels floats, times of them taken as one: the arrays of p hold times·channels numbers.
// What the rest of the rows adds to the sums goes to those of the first channels.
func rowsPass(p pass, path Path, k passKernel, channels, times, rows int) {
	lanes := times * channels
	step := rows / times
	if p.sums == nil { // few rows at a time read memory more in order
		step = min(step, max(1, chunk/lanes))
	}
	for step > 0 && rows >= times {
		n := min(step, rows/times)
		p.columns(path, k, lanes, n)
		if rows -= n * times; rows == 0 {
			return
		}
		p = p.forward(4 * n * lanes)
	}
	p.columns(path, k, channels, rows)
}

// fold is how many rows of that many channels are best taken as one in columns, so that a row fills a block.
func fold(path Path, channels, rows int) int {
	switch path {
	case AVX512:
		return max(1, min(rows, 64/channels))
	case AVX2:
		return max(1, min(rows, 16/channels))
	}
	return 1
}
