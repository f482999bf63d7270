package op

import "github.com/reprise-ml/reprise/internal/kernel"

// Sum returns a function that writes a + b to dst, three slices of one length, on the threads of p: what
// a graph needs where a value has several gradients. It is for one goroutine at a time.
func Sum(p *Pool) func(dst, a, b []float32) { return newSum(p).add }

// sum adds slices on the threads of a pool.
type sum struct {
	pool      *Pool
	dst, a, b []float32
	f         func(worker, part int)
}

func newSum(p *Pool) *sum {
	s := &sum{pool: p}
	s.f = func(_, part int) {
		lo, hi := kernel.Chunk(len(s.dst), part)
		kernel.Add(s.dst[lo:hi], s.a[lo:hi], s.b[lo:hi])
	}
	return s
}

func (s *sum) add(dst, a, b []float32) {
	s.dst, s.a, s.b = dst, a, b
	s.pool.Run(kernel.Chunks(len(dst)), s.f)
	s.dst, s.a, s.b = nil, nil, nil
}
