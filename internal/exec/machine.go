package exec

import (
	"fmt"
	"runtime/debug"

	"gorgonia.org/gorgonia"
)

// Machine computes a part of a graph, as often as it is told to. It is a
// [gorgonia.VM]. Only one goroutine may use it at a time.
type Machine struct {
	inputs     []input
	steps      []step
	values     []gorgonia.Value // of every live node
	slots      map[*gorgonia.Node]int
	arena      []float32
	committers []Committer
	at         int  // the step that runs
	complete   bool // the last run ended well and is not committed
}

var _ gorgonia.VM = (*Machine)(nil)

type input struct {
	node *gorgonia.Node
	slot int
}

type step struct {
	do   do
	name string
	in   []int
	args []gorgonia.Value
	out  int
}

// RunAll computes every kept node from the values bound to the inputs of the
// graph. The error names the op that failed; if it panicked, the error is a
// [*PanicError]. After an error the values of kept nodes are undefined.
func (m *Machine) RunAll() (err error) {
	m.complete = false
	for _, in := range m.inputs {
		v := in.node.Value()
		if v == nil {
			return fmt.Errorf("exec: input %s has no value", in.node.Name())
		}
		m.values[in.slot] = v
	}
	defer m.caught(&err)
	for m.at = 0; m.at < len(m.steps); m.at++ {
		s := &m.steps[m.at]
		for i, slot := range s.in {
			s.args[i] = m.values[slot]
		}
		v, err := s.do(s.args...)
		if err != nil {
			return fmt.Errorf("exec: %s: %w", s.name, err)
		}
		m.values[s.out] = v
	}
	m.complete = true
	return nil
}

// caught is deferred by RunAll.
func (m *Machine) caught(err *error) {
	if v := recover(); v != nil {
		*err = &PanicError{Op: m.steps[m.at].name, Value: v, Stack: debug.Stack()}
	}
}

// Value returns the value of n after the last run: the same tensor after every
// run if its op owns its output; a *gorgonia.F32 of a scalar. It is valid until
// the next run. It is nil before the first run and for a node that is not kept.
func (m *Machine) Value(n *gorgonia.Node) gorgonia.Value {
	if slot, ok := m.slots[n]; ok {
		return m.values[slot]
	}
	return nil
}

// Commit calls Commit on every live op that is a [Committer], in the order of
// the steps. It does nothing unless a run has ended well since the last call.
func (m *Machine) Commit() {
	if !m.complete {
		return
	}
	m.complete = false
	for _, c := range m.committers {
		c.Commit()
	}
}

// PlannedBytes returns the size of the memory that results share. What ops
// hold besides their results, and weights and inputs, are not in it.
func (m *Machine) PlannedBytes() int64 { return 4 * int64(len(m.arena)) }

// Reset does nothing: a run needs no preparation. It is there for
// [gorgonia.VM].
func (m *Machine) Reset() {}

// Close does nothing, and returns nil. It is there for [gorgonia.VM].
func (m *Machine) Close() error { return nil }

// PanicError is the error of a run in which an op panicked.
type PanicError struct {
	Op    string // as in the text of other errors
	Value any    // what the op panicked with
	Stack []byte // of the goroutine that ran the op, as text
}

func (e *PanicError) Error() string { return fmt.Sprintf("exec: %s: panic: %v", e.Op, e.Value) }

// Unwrap returns Value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
