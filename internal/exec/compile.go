package exec

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Owner is an op that writes its result to a tensor of its own.
type Owner interface {
	// Output returns the tensor, or nil if the machine must not exchange it. Nil
	// also stands for a side output: a tensor that an op fills besides its
	// result, fetched by an op of its own. It is then fetched at once.
	Output() *tensor.Dense
	// SetOutput makes the op write to t from now on. t has the shape of the
	// tensor it replaces, float32 values, and undefined content.
	SetOutput(t *tensor.Dense)
}

// Viewer is an op whose result points into one of its inputs, all of whose
// values it has in their order.
type Viewer interface {
	// Aliases returns the number of that input; a negative number means none.
	Aliases() int
}

// Committer is an op with state that changes only when Commit is called.
type Committer interface{ Commit() }

// Config says how to compile. The zero Config is that of [Compile].
type Config struct {
	// Sum writes a + b to dst; it is used where a value has several
	// gradients, which Gorgonia adds with a built-in op. The three have the
	// same length and dst overlaps neither a nor b. Nil means a plain loop.
	Sum func(dst, a, b []float32)
	// Trace, if not nil, is given the steps of the machine.
	Trace *Trace
}

// Compile prepares to compute the nodes of keep, and what they need, in g.
//
// The ops of g belong to the machine from then on: compiling g again
// invalidates it. An error means that keep is empty or has a node without a
// value in g, or that one op that owns its output stands for two nodes.
func Compile(g *gorgonia.ExprGraph, keep gorgonia.Nodes) (*Machine, error) {
	return Config{}.Compile(g, keep)
}

// Compile is like the function [Compile].
func (c Config) Compile(g *gorgonia.ExprGraph, keep gorgonia.Nodes) (*Machine, error) {
	if len(keep) == 0 {
		return nil, errors.New("exec: no nodes to compute")
	}
	for i, n := range keep {
		if n == nil {
			return nil, fmt.Errorf("exec: node %d of those to compute is nil", i)
		}
		if n.Graph() != g {
			return nil, fmt.Errorf("exec: node %s is not in the graph", n.Name())
		}
		if n.Type() == nil {
			return nil, fmt.Errorf("exec: node %s is a statement without a value", n.Name())
		}
	}

	nodes := live(g, keep)
	slot := make(map[*gorgonia.Node]int, len(nodes))
	m := &Machine{values: make([]gorgonia.Value, len(nodes)), slots: make(map[*gorgonia.Node]int, len(keep))}
	var work []task
	fanIn := &sums{map[int]gorgonia.Op{}, map[*gorgonia.Node]bool{}}
	for i, n := range nodes {
		slot[n] = i
		if n.Op() == nil {
			m.inputs = append(m.inputs, input{n, i})
			continue
		}
		t := task{node: n, op: n.Op(), slot: i}
		for _, in := range children(g, n) {
			t.in = append(t.in, slot[in])
		}
		if fanIn.match(n, children(g, n)) {
			t.op = newSum(n, c.Sum)
		}
		work = append(work, t)
		s := step{do: t.op.Do, name: label(g, n), in: t.in, out: i, args: make([]gorgonia.Value, len(t.in))}
		if c.Trace != nil {
			s.do = c.Trace.add(s.name, t.op)
		}
		m.steps = append(m.steps, s)
		if c, ok := t.op.(Committer); ok {
			m.committers = append(m.committers, c)
		}
	}
	for _, n := range keep {
		m.slots[n] = slot[n]
	}
	if err := m.plan(work); err != nil {
		return nil, err
	}
	return m, nil
}

// live returns the nodes that keep needs, inputs before what uses them. The
// order is that of creation: Gorgonia makes a node after its inputs, and the
// gradients of one op side by side, so that few results wait for their use.
// Only what is not exchanged, such as a side output, comes right after its
// inputs, so that it does not keep them alive.
func live(g *gorgonia.ExprGraph, keep gorgonia.Nodes) gorgonia.Nodes {
	var nodes gorgonia.Nodes
	seen := map[*gorgonia.Node]bool{}
	todo := slices.Clone(keep)
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[n] {
			continue
		}
		seen[n] = true
		nodes = append(nodes, n)
		todo = append(todo, children(g, n)...)
	}
	byID := func(a, b *gorgonia.Node) int { return cmp.Compare(a.ID(), b.ID()) }
	slices.SortFunc(nodes, byID)
	place := make(map[*gorgonia.Node]int64, len(nodes))
	for _, n := range nodes {
		place[n] = n.ID()
		if o, ok := n.Op().(Owner); ok && o.Output() == nil {
			place[n] = 0
			for _, in := range children(g, n) {
				place[n] = max(place[n], place[in])
			}
		}
	}
	slices.SortFunc(nodes, func(a, b *gorgonia.Node) int {
		return cmp.Or(cmp.Compare(place[a], place[b]), byID(a, b))
	})
	return nodes
}

// children returns the inputs of n in the order of the arguments of its op.
func children(g *gorgonia.ExprGraph, n *gorgonia.Node) gorgonia.Nodes {
	var in gorgonia.Nodes
	for it := g.From(n.ID()); it.Next(); {
		in = append(in, it.Node().(*gorgonia.Node))
	}
	return in
}

// label names n for an error: by its own name if it was given one, else by its
// op and those of its inputs that were, such as the weights of a layer.
func label(g *gorgonia.ExprGraph, n *gorgonia.Node) string {
	if named(n) {
		return fmt.Sprintf("%s (%v)", n.Name(), n.Op())
	}
	var in []string
	for _, c := range children(g, n) {
		if c.Op() == nil || named(c) {
			in = append(in, c.Name())
		}
	}
	return fmt.Sprintf("%v(%s)", n.Op(), strings.Join(in, ", "))
}

// named reports whether n has a name of its own; without one, Gorgonia makes
// up a name that begins with the op.
func named(n *gorgonia.Node) bool {
	return n.Op() != nil && !strings.HasPrefix(n.Name(), fmt.Sprintf("%v(", n.Op()))
}
