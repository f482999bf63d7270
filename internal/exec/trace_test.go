package exec

import (
	"slices"
	"testing"
	"time"

	"gorgonia.org/gorgonia"
)

// traced compiles 2x + relu(2x) on a clock that moves by a second whenever it is read, and with
// a dead node.
func traced(t *testing.T, trace *Trace) (*Machine, *gorgonia.Node) {
	t.Helper()
	x := vector(1, -2)
	y := times(2, x)
	gorgonia.WithName("double")(y)
	times(5, y)
	z := gorgonia.Must(gorgonia.Add(y, relu(y)))
	m, err := Config{Trace: trace}.Compile(x.Graph(), gorgonia.Nodes{z})
	if err != nil {
		t.Fatal(err)
	}
	return m, z
}

func TestATraceListsAndTimesTheStepsThatRun(t *testing.T) {
	var now time.Duration
	trace := &Trace{Clock: func() time.Duration { now += time.Second; return now }}
	m, z := traced(t, trace)
	for range 3 {
		run(t, m)
	}
	want(t, m, z, 4, -4)
	var names, ops []string
	for _, s := range trace.Steps {
		names, ops = append(names, s.Name), append(ops, s.Op.(interface{ String() string }).String())
		if s.Runs != 3 || s.Elapsed != 3*time.Second {
			t.Errorf("%s: %d runs in %v, want 3 in 3s", s.Name, s.Runs, s.Elapsed)
		}
	}
	if !slices.Equal(names, []string{"double (times)", "relu(double)", "+ false(double)"}) || !slices.Equal(ops, []string{"times", "relu", "sum"}) {
		t.Errorf("the steps are %q, the ops %q", names, ops)
	}
	if n := testing.AllocsPerRun(20, func() { run(t, m) }); n != 0 {
		t.Errorf("%v allocations a run, want none", n)
	}
}

func TestATraceWithoutAClockTimesNothing(t *testing.T) {
	trace := &Trace{}
	m, z := traced(t, trace)
	run(t, m)
	want(t, m, z, 4, -4)
	if len(trace.Steps) != 3 || trace.Steps[0].Runs != 0 || trace.Steps[0].Elapsed != 0 {
		t.Errorf("%d steps, the first %+v", len(trace.Steps), trace.Steps[0])
	}
}

func TestAStepThatFailsIsNotCounted(t *testing.T) {
	trace := &Trace{Clock: func() time.Duration { return 0 }}
	y := breaks(times(2, vector(1)), nil)
	m, err := Config{Trace: trace}.Compile(y.Graph(), gorgonia.Nodes{y})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.RunAll(); err == nil {
		t.Fatal("no error")
	}
	if trace.Steps[0].Runs != 1 || trace.Steps[1].Runs != 0 {
		t.Errorf("runs are %d and %d, want 1 and 0", trace.Steps[0].Runs, trace.Steps[1].Runs)
	}
}
