package nn

import (
	"gorgonia.org/gorgonia"

	"github.com/reprise-ml/reprise/internal/exec"
	"github.com/reprise-ml/reprise/internal/kernel"
)

// Compile returns a machine that computes keep on the threads of the graph. The error is the first
// one met in building, or that of exec.Compile.
func (s *Scope) Compile(keep ...*gorgonia.Node) (*exec.Machine, error) {
	if s.err != nil {
		return nil, s.err
	}
	return exec.Config{Sum: newSum(s.Pool()).add}.Compile(s.graph, keep)
}

// sum adds slices on the threads of a pool.
type sum struct {
	pool      *kernel.Pool
	dst, a, b []float32
	f         func(worker, part int)
}

func newSum(p *kernel.Pool) *sum {
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
