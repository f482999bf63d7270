package nn

import (
	"fmt"
	"slices"
	"strings"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/reprise-ml/reprise/internal/exec"
	"github.com/reprise-ml/reprise/nn/op"
)

// Config says what a graph is for. The zero Config is an evaluation graph that computes on one
// thread.
type Config struct {
	Train bool        // normalise by the statistics of the batch, drop out
	Seed  uint64      // of the first values of weights, and of dropout
	Pool  *op.Pool    // the threads of every op, from op.NewPool; nil means one thread
	Cache *Cache      // makes a graph for one position at a time; nil means all of a sequence at once
	Trace *exec.Trace // is given the ops that run, and may time them; nil means none
}

// Scope is a place in a graph that is being built: a path, the weights, and the first error met.
type Scope struct {
	*build
	path string
}

// build is what all scopes of a graph share.
type build struct {
	config  Config
	graph   *gorgonia.ExprGraph
	params  *Params
	used    map[string]*gorgonia.Node
	weights gorgonia.Nodes
	ticker  *op.Ticker
	err     error

	dropouts map[string]int // so far, by path
}

// NewScope starts a graph. Weights that p lacks are added to it.
func NewScope(p *Params, c Config) *Scope {
	return &Scope{build: &build{
		config: c,
		graph:  gorgonia.NewGraph(),
		params: p,
		used:   map[string]*gorgonia.Node{},
		ticker: &op.Ticker{Seed: c.Seed},

		dropouts: map[string]int{},
	}}
}

// At returns the scope called name within s, or s itself if name is empty.
func (s *Scope) At(name string) *Scope {
	if name == "" {
		return s
	}
	return &Scope{s.build, s.join(name)}
}

func (s *Scope) join(name string) string {
	if s.path == "" {
		return name
	}
	return s.path + "." + name
}

// Train reports whether the graph is for training rather than for evaluation.
func (s *Scope) Train() bool { return s.config.Train }

// Pool returns the threads that ops are to use; nil means one.
func (s *Scope) Pool() *op.Pool { return s.config.Pool }

// Graph returns the graph being built.
func (s *Scope) Graph() *gorgonia.ExprGraph { return s.graph }

// Weights returns the nodes of the trainable weights used so far, in the order of use. A node has
// the name of its [Param].
func (s *Scope) Weights() gorgonia.Nodes { return slices.Clone(s.weights) }

// Ticker returns what the random numbers of a run depend on, one for the whole graph. Set its Tick
// to the number of the step before every run.
func (s *Scope) Ticker() *op.Ticker { return s.ticker }

// Err returns the first error met in any scope of the graph.
func (s *Scope) Err() error { return s.err }

// Fail records an error, unless there is one already; the text begins with the path of s.
func (s *Scope) Fail(err error) {
	switch {
	case s.err != nil:
	case s.path == "":
		s.err = fmt.Errorf("nn: %w", err)
	default:
		s.err = fmt.Errorf("nn: %s: %w", s.path, err)
	}
}

// Apply builds l on x in the scope called name within s; an empty name means s itself. After an
// error it builds nothing and returns x, so that a chain of calls needs no check.
func (s *Scope) Apply(name string, l Layer, x *gorgonia.Node) *gorgonia.Node {
	if s.err != nil {
		return x
	}
	if y := l.Apply(s.At(name), x); s.err == nil {
		return y
	}
	return x
}

// Add returns a + b, two nodes of one shape. After an error it returns a.
func (s *Scope) Add(a, b *gorgonia.Node) *gorgonia.Node {
	if s.err != nil {
		return a
	}
	if y := s.Keep(op.Add(s.Pool(), a, b)); s.err == nil {
		return y
	}
	return a
}

// wants reports whether x has the dimensions named, and records an error if not.
func (s *Scope) wants(x *gorgonia.Node, dims ...string) bool {
	if x.Dims() == len(dims) {
		return true
	}
	s.Fail(fmt.Errorf("the input has shape %v, want [%s]", x.Shape(), strings.Join(dims, ", ")))
	return false
}

// Keep takes what the constructor of an op returns: it names the node after the path of s, for
// the errors of a run, or records the error. It returns n.
func (s *Scope) Keep(n *gorgonia.Node, err error) *gorgonia.Node {
	if err != nil {
		s.Fail(err)
	} else if s.path != "" {
		gorgonia.WithName(s.path)(n)
	}
	return n
}

// Weight returns the node of the weight called name within s. If Params lacks it, init draws its
// first value from a source that depends on the seed and on its path alone. It is an error if
// Params has it in another shape, or if the graph has it already. The node is valid even then.
func (s *Scope) Weight(name string, init Init, shape ...int) *gorgonia.Node {
	path := s.join(name)
	p := s.params.Lookup(path)
	switch {
	case slices.ContainsFunc(shape, func(d int) bool { return d < 1 }) || len(shape) == 0:
		s.Fail(fmt.Errorf("%s: a weight cannot have shape %v", name, shape))
		return s.node(path, tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(1)))
	case s.used[path] != nil:
		s.Fail(fmt.Errorf("%s is used twice in one graph: two layers need two names, or Shared", name))
	case p == nil:
		w := make([]float32, tensor.Shape(shape).TotalSize())
		init.Fill(w, shape, generator(s.config.Seed, path))
		p = s.params.add(path, true, shape, w)
	case !slices.Equal(p.Value.Shape(), shape):
		s.Fail(fmt.Errorf("%s has shape %v, the layer wants %v", name, p.Value.Shape(), shape))
	}
	n := s.node(path, p.Value)
	s.used[path] = n
	if p.Trainable {
		s.weights = append(s.weights, n)
	}
	return n
}

// Shared returns the node of a weight that this graph has already, by its name within s, so that two layers can use it: its
// gradient is the sum of both. It is an error, and the result nil, if there is none.
func (s *Scope) Shared(name string) *gorgonia.Node {
	n := s.used[s.join(name)]
	if n == nil {
		s.Fail(fmt.Errorf("%s is to be shared and is not in the graph yet", name))
	}
	return n
}

// Alias tells [Params.Import] how else the weights of the model are called: for a name that no Param has, it asks f, which returns
// the name here, "" for a tensor to pass over, or what it was given. Names are whole paths.
func (s *Scope) Alias(f func(name string) string) { s.params.alias = f }

func (s *Scope) node(name string, v *tensor.Dense) *gorgonia.Node {
	return gorgonia.NewTensor(s.graph, tensor.Float32, v.Dims(), gorgonia.WithShape(v.Shape().Clone()...),
		gorgonia.WithName(name), gorgonia.WithValue(v))
}

// Statistics returns the running mean and variance of a normalisation in s, as the Params
// running_mean and running_var: at first 0 and 1. An op of a training graph changes them when its
// run is committed.
func (s *Scope) Statistics(channels int) *op.Statistics {
	return &op.Statistics{
		Mean: s.running("running_mean", Zeros, channels),
		Var:  s.running("running_var", Ones, channels),
	}
}

func (s *Scope) running(name string, init Constant, channels int) []float32 {
	path := s.join(name)
	p := s.params.Lookup(path)
	if p == nil {
		w := make([]float32, channels)
		init.Fill(w, nil, nil)
		p = s.params.add(path, false, []int{channels}, w)
	} else if !slices.Equal(p.Value.Shape(), []int{channels}) {
		s.Fail(fmt.Errorf("%s has shape %v, the layer wants [%d]", name, p.Value.Shape(), channels))
	}
	return p.Value.Float32s()
}
