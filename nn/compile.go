package nn

import (
	"gorgonia.org/gorgonia"

	"github.com/reprise-ml/reprise/internal/exec"
	"github.com/reprise-ml/reprise/nn/op"
)

// Compile returns a machine that computes keep on the threads of the graph. The error is the first
// one met in building, or that of exec.Compile.
func (s *Scope) Compile(keep ...*gorgonia.Node) (*exec.Machine, error) {
	if s.err != nil {
		return nil, s.err
	}
	return exec.Config{Sum: op.Sum(s.Pool()), Trace: s.config.Trace}.Compile(s.graph, keep)
}
