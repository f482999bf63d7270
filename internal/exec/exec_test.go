package exec

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// vector returns a new input of a new graph.
func vector(values ...float32) *gorgonia.Node {
	v := tensor.New(tensor.WithShape(len(values)), tensor.WithBacking(values))
	return gorgonia.NewTensor(gorgonia.NewGraph(), tensor.Float32, 1, gorgonia.WithShape(len(values)), gorgonia.WithName("x"), gorgonia.WithValue(v))
}

func compile(t *testing.T, keep ...*gorgonia.Node) *Machine {
	t.Helper()
	m, err := Compile(keep[0].Graph(), keep)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func run(t *testing.T, m *Machine) {
	t.Helper()
	if err := m.RunAll(); err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, m *Machine, n *gorgonia.Node, values ...float32) {
	t.Helper()
	v := m.Value(n)
	if v == nil {
		t.Fatalf("%s has no value", n.Name())
	}
	if got := v.Data().([]float32); !slices.Equal(got, values) {
		t.Errorf("%s is %v, want %v", n.Name(), got, values)
	}
}

func TestNodesThatNothingNeedsAreNotRun(t *testing.T) {
	x := vector(1, -2)
	y := times(3, x)
	breaks(x, "must not run")
	m := compile(t, y)
	run(t, m)
	want(t, m, y, 3, -6)
	if len(m.steps) != 1 {
		t.Errorf("%d steps, want 1", len(m.steps))
	}
}

func TestAChainOfAnyLengthSharesTwoPlaces(t *testing.T) {
	x := vector(make([]float32, 64)...)
	y := x
	for range 10 {
		y = times(1, y)
	}
	m := compile(t, y)
	if got := m.PlannedBytes(); got != 2*64*4 {
		t.Errorf("%d bytes planned, want %d", got, 2*64*4)
	}
}

func TestKeptNodesKeepTheirValues(t *testing.T) {
	x := vector(1)
	var chain gorgonia.Nodes
	for y, i := x, 0; i < 6; i++ {
		y = times(2, y)
		chain = append(chain, y)
	}
	m := compile(t, append(chain[1:4:4], chain[5], x)...)
	run(t, m)
	want(t, m, chain[1], 4)
	want(t, m, chain[2], 8)
	want(t, m, chain[3], 16)
	want(t, m, chain[5], 64)
	want(t, m, x, 1)
	if m.Value(chain[0]) != nil {
		t.Error("a node that is not kept has a value")
	}
}

func TestAViewKeepsWhatItPointsInto(t *testing.T) {
	for name, alias := range map[string]func(*gorgonia.Node) *gorgonia.Node{
		"view that says so": view,
		"view of a view":    func(n *gorgonia.Node) *gorgonia.Node { return view(view(n)) },
		"built-in reshape": func(n *gorgonia.Node) *gorgonia.Node {
			return gorgonia.Must(gorgonia.Reshape(gorgonia.Must(gorgonia.Reshape(n, tensor.Shape{1, 2})), tensor.Shape{2}))
		},
		"built-in slice": func(n *gorgonia.Node) *gorgonia.Node { return gorgonia.Must(gorgonia.Slice(n, gorgonia.S(0, 2))) },
	} {
		t.Run(name, func(t *testing.T) {
			x := vector(1, 2)
			v := alias(times(2, x))
			y := x
			for range 5 { // would take the place of times(2, x)
				y = times(-1, y)
			}
			z := gorgonia.Must(gorgonia.Add(v, y))
			m := compile(t, z)
			run(t, m)
			want(t, m, z, 1, 2)
		})
	}
	t.Run("kept", func(t *testing.T) {
		x := vector(1, 2)
		v, y := view(times(2, x)), x
		for range 5 {
			y = times(-1, y)
		}
		m := compile(t, v, y)
		run(t, m)
		want(t, m, v, 2, 4)
		want(t, m, y, -1, -2)
	})
}

func TestASideOutputIsFetchedAtOnceAndKeepsNothingAlive(t *testing.T) {
	x := vector(make([]float32, 64)...)
	a := times(2, x)
	a.Op().(*toy).side = tensor.New(tensor.WithShape(64), tensor.WithBacking(make([]float32, 64)))
	y := a
	for range 6 {
		y = times(1, y)
	}
	s := sideOf(a) // made last, as those of a forward op are when the gradient is
	z := gorgonia.Must(gorgonia.Add(y, s))
	m := compile(t, z, s)
	run(t, m)
	if got := m.PlannedBytes(); got != 2*64*4 {
		t.Errorf("%d bytes planned, want %d", got, 2*64*4)
	}
	if m.Value(s) != gorgonia.Value(a.Op().(*toy).side) || len(m.Value(z).Data().([]float32)) != 64 {
		t.Error("the side output is another tensor")
	}
}

func TestBuiltInSumsAreReplacedAndOthersAreNot(t *testing.T) {
	x := vector(1, 2)
	a, b := times(2, x), times(3, x)
	s := gorgonia.Must(gorgonia.Add(gorgonia.Must(gorgonia.Add(a, b)), a)) // 7x
	d := gorgonia.Must(gorgonia.Sub(s, a))                                 // 5x
	q := gorgonia.Must(gorgonia.Add(d, gorgonia.Must(gorgonia.HadamardProd(a, b))))
	m, err := Config{Sum: func(dst, a, b []float32) {
		for i := range dst {
			dst[i] = a[i] + b[i] + 100
		}
	}}.Compile(x.Graph(), gorgonia.Nodes{s, d, q})
	if err != nil {
		t.Fatal(err)
	}
	run(t, m)
	want(t, m, s, 207, 214)
	want(t, m, d, 205, 210)
	want(t, m, q, 211, 234) // an operand that is built-in: not replaced
}

func TestARunDoesNotAllocate(t *testing.T) {
	x := vector(make([]float32, 100)...)
	y := relu(view(times(2, x)))
	y = gorgonia.Must(gorgonia.Add(y, times(3, y)))
	m := compile(t, y)
	run(t, m)
	if n := testing.AllocsPerRun(20, func() { run(t, m); m.Commit() }); n != 0 {
		t.Errorf("%v allocations a run, want none", n)
	}
}

func TestNewInputValuesAreSeenWithoutReset(t *testing.T) {
	x := vector(1)
	y := times(2, x)
	m := compile(t, y)
	run(t, m)
	first := m.Value(y)
	x.Value().Data().([]float32)[0] = 5
	run(t, m)
	want(t, m, y, 10)
	if m.Value(y) != first {
		t.Error("the second run has another tensor")
	}
	if err := gorgonia.Let(x, tensor.New(tensor.WithShape(1), tensor.WithBacking([]float32{7}))); err != nil {
		t.Fatal(err)
	}
	run(t, m)
	want(t, m, y, 14)
}

func TestFailuresNameTheOp(t *testing.T) {
	for _, c := range []struct {
		name  string
		named string
		v     any
		want  string
	}{
		{"error", "", nil, "exec: broken(x): broken"},
		{"error in a named node", "layer1.0.conv1", nil, "exec: layer1.0.conv1 (broken): broken"},
		{"panic", "", "index", "exec: broken(x): panic: index"},
		{"panic with an error", "", errBroken, "exec: broken(x): panic: broken"},
	} {
		t.Run(c.name, func(t *testing.T) {
			y := breaks(vector(1), c.v)
			if c.named != "" {
				gorgonia.WithName(c.named)(y)
			}
			m := compile(t, times(2, y))
			err := m.RunAll()
			if err == nil || err.Error() != c.want {
				t.Fatalf("error %q, want %q", err, c.want)
			}
			var p *PanicError
			if errors.As(err, &p) != (c.v != nil) {
				t.Errorf("error is %T", err)
			}
			if p != nil && !strings.Contains(string(p.Stack), "broken") {
				t.Errorf("the stack does not show the op:\n%s", p.Stack)
			}
			if c.v != "index" && !errors.Is(err, errBroken) {
				t.Error("the error does not wrap that of the op")
			}
		})
	}
	t.Run("input without a value", func(t *testing.T) {
		x := gorgonia.NewVector(gorgonia.NewGraph(), tensor.Float32, gorgonia.WithShape(2), gorgonia.WithName("picture"))
		if err := compile(t, times(2, x)).RunAll(); err == nil || err.Error() != "exec: input picture has no value" {
			t.Errorf("error %v", err)
		}
	})
}

func TestOnlyACompleteRunIsCommittedAndOnlyOnce(t *testing.T) {
	x := vector(1)
	y := times(2, x)
	dead := times(3, x)
	op, unused := y.Op().(*toy), dead.Op().(*toy)
	m := compile(t, y)
	commits := func(n int) {
		t.Helper()
		if m.Commit(); op.commits != n || unused.commits != 0 {
			t.Errorf("%d commits and %d of a dead op, want %d and 0", op.commits, unused.commits, n)
		}
	}
	commits(0)
	run(t, m)
	commits(1)
	commits(1)
	run(t, m)
	f := op.f
	op.f = func([]float32, ...[]float32) { panic("no") }
	if m.RunAll() == nil {
		t.Fatal("no error")
	}
	commits(1)
	op.f = f
	run(t, m)
	run(t, m)
	commits(2)
}

func TestCompileRefusesWhatItCannotRun(t *testing.T) {
	x := vector(1)
	y := times(2, x)
	twice := gorgonia.Must(gorgonia.ApplyOp(y.Op(), y))
	var read gorgonia.Value
	for name, keep := range map[string]gorgonia.Nodes{
		"no nodes":                     nil,
		"is nil":                       {y, nil},
		"not in the graph":             {vector(1)},
		"is a statement":               {gorgonia.Read(y, &read)},
		"stands for two nodes but own": {twice},
	} {
		if _, err := Compile(x.Graph(), keep); err == nil || !strings.HasPrefix(err.Error(), "exec: ") || !strings.Contains(err.Error(), name) {
			t.Errorf("error %v, want one with %q", err, name)
		}
	}
}

func TestScalarsAndConstantsRun(t *testing.T) {
	x := vector(1, 2)
	y := gorgonia.Must(gorgonia.Sum(gorgonia.Must(gorgonia.HadamardProd(times(2, x), gorgonia.NewConstant(float32(3))))))
	grads, err := gorgonia.Grad(y, x)
	if err != nil {
		t.Fatal(err)
	}
	m := compile(t, y, grads[0])
	run(t, m)
	if got := m.Value(y).Data().(float32); got != 18 {
		t.Errorf("sum %v, want 18", got)
	}
	want(t, m, grads[0], 6, 6)
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}
