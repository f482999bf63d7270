package exec

import (
	"time"

	"gorgonia.org/gorgonia"
)

// Trace lists what the machines compiled with it run, and can time it.
type Trace struct {
	// Clock returns the time passed since some fixed moment. Nil means that nothing
	// is timed; a run then costs no more than without a Trace.
	Clock func() time.Duration
	// Steps are those of every machine, in the order in which they run. Compiling
	// appends to it.
	Steps []*TracedStep
}

// TracedStep is one op that a machine runs. Its counts may be set to 0 between runs.
type TracedStep struct {
	Name    string      // as in the text of errors
	Op      gorgonia.Op // as it runs: of a sum, what stands in for the built-in op
	Runs    int         // that ended without an error; 0 without a Clock
	Elapsed time.Duration
}

type do = func(...gorgonia.Value) (gorgonia.Value, error)

// add lists a step and returns what is to run for it.
func (t *Trace) add(name string, op gorgonia.Op) do {
	s := &TracedStep{Name: name, Op: op}
	t.Steps = append(t.Steps, s)
	if t.Clock == nil {
		return op.Do
	}
	return func(args ...gorgonia.Value) (gorgonia.Value, error) {
		start := t.Clock()
		v, err := op.Do(args...)
		if err == nil {
			s.Runs++
			s.Elapsed += t.Clock() - start
		}
		return v, err
	}
}
