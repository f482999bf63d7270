package nn

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

func TestFirstValuesDependOnSeedAndPathAlone(t *testing.T) {
	weights := func(seed uint64, paths ...string) map[string][]float32 {
		var p Params
		s := NewScope(&p, Config{Seed: seed})
		for _, path := range paths {
			s.At(path).Weight("weight", Normal{1}, 3, 5)
		}
		values := map[string][]float32{}
		for q := range p.All() {
			values[strings.TrimSuffix(q.Name, ".weight")] = q.Value.Float32s()
		}
		return values
	}
	one, other, next := weights(1, "a", "b", "a.b"), weights(1, "b", "a"), weights(2, "a", "b")
	for _, path := range []string{"a", "b"} {
		if !slices.Equal(one[path], other[path]) {
			t.Errorf("%s depends on the order of building", path)
		}
		if slices.Equal(one[path], next[path]) {
			t.Errorf("%s does not depend on the seed", path)
		}
	}
	if slices.Equal(one["a"], one["b"]) || slices.Equal(one["b"], one["a.b"]) {
		t.Error("two weights have the same values")
	}
}

func TestInitialisersHaveTheirDistribution(t *testing.T) {
	conv, linear := []int{3, 3, 20, 50}, []int{100, 90}
	for _, c := range []struct {
		name      string
		init      Init
		shape     []int
		deviation float64
		limit     float64
	}{
		{"He of a convolution", He{}, conv, math.Sqrt(2. / (9 * 20)), 1},
		{"He by fan-out of a convolution", He{FanOut: true}, conv, math.Sqrt(2. / (9 * 50)), 1},
		{"He of a linear layer", He{}, linear, math.Sqrt(2. / 90), 1},
		{"He by fan-out of a linear layer", He{FanOut: true}, linear, math.Sqrt(2. / 100), 1},
		{"normal", Normal{0.3}, linear, 0.3, 3},
		{"Glorot", Glorot{}, linear, math.Sqrt(2. / 190), math.Sqrt(6. / 190)},
		{"uniform", Uniform{0.3}, linear, 0.3 / math.Sqrt(3), 0.3},
		{"zeros", Zeros, linear, 0, 0},
	} {
		w := make([]float32, tensor.Shape(c.shape).TotalSize())
		c.init.Fill(w, c.shape, generator(5, c.name))
		var sum, squares, largest float64
		for _, v := range w {
			sum += float64(v)
			squares += float64(v) * float64(v)
			largest = max(largest, math.Abs(float64(v)))
		}
		n := float64(len(w))
		if got := math.Sqrt(squares / n); math.Abs(got-c.deviation) > 0.03*c.deviation || math.Abs(sum/n) > 5*c.deviation/math.Sqrt(n) || largest > c.limit {
			t.Errorf("%s: deviation %v, want %v; mean %v; largest %v", c.name, got, c.deviation, sum/n, largest)
		}
	}
}

func TestTheFirstErrorStaysAndNamesThePath(t *testing.T) {
	for _, c := range []struct {
		name  string
		layer Layer
		shape []int
		want  string
	}{
		{"in a Sequential", Sequential{ReLU{}, Sequential{Conv{Out: 0, Kernel: 3}, Linear{Out: 2}}, Flatten{}}, []int{1, 4, 4, 3}, "nn: net.1.0: weight"},
		{"of an op", Sequential{Conv{Out: 2, Kernel: 9}, ReLU{}, GlobalAvgPool{}}, []int{1, 4, 4, 3}, "nn: net.0: op: conv"},
		{"of a shape", Linear{Out: 3}, []int{4}, "nn: net: the input has shape (4), want [rows, features]"},
		{"of a residual", Residual{Body: Linear{Out: 3}}, []int{1, 4}, "nn: net: op: add"},
		{"of dropout", Dropout{Rate: 1}, []int{1, 4}, "nn: net: op: dropout"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := NewScope(new(Params), Config{Train: true})
			x := images(s, c.shape...)
			y := s.Apply("net", c.layer, x)
			s.Fail(errors.New("later"))
			if err := s.Err(); err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("error %v, want %s…", err, c.want)
			}
			if y == nil || s.Add(y, x) != y {
				t.Error("a scope with an error still builds")
			}
			if _, err := s.Compile(y); err != s.Err() {
				t.Errorf("compiling gives %v", err)
			}
			if l := (CrossEntropy{}).Apply(s, gorgonia.Nodes{y}, nil, nil); l != nil {
				t.Error("the loss is built")
			}
		})
	}
}

func TestWeightsThatDoNotFitAreErrors(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(s *Scope)
		want  string
	}{
		{"twice", func(s *Scope) { s.Weight("weight", Ones, 2, 2) }, "nn: fc: weight is used twice in one graph"},
		{"shape", func(s *Scope) { s.Weight("old", Ones, 2, 3) }, "nn: fc: old has shape (3, 2), the layer wants [2 3]"},
		{"no shape", func(s *Scope) { s.Weight("new", Ones) }, "nn: fc: new: a weight cannot have shape []"},
		{"statistics", func(s *Scope) { s.Statistics(3) }, "nn: fc: running_mean has shape (2), the layer wants [3]"},
	} {
		var p Params
		old := NewScope(&p, Config{}).At("fc")
		old.Weight("old", Ones, 3, 2)
		old.Statistics(2)
		s := NewScope(&p, Config{})
		s.At("fc").Weight("weight", Ones, 2, 2)
		c.build(s.At("fc"))
		if err := s.Err(); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", c.name, err, c.want)
		}
	}
}

func TestFrozenWeightsAreNotAmongTheWeights(t *testing.T) {
	var p Params
	names := func() (names []string) {
		s := NewScope(&p, Config{})
		s.Weight("b", Ones, 1)
		s.Weight("a", Ones, 1)
		s.Statistics(1)
		for _, n := range s.Weights() {
			names = append(names, n.Name())
		}
		return names
	}
	if got := names(); !slices.Equal(got, []string{"b", "a"}) {
		t.Errorf("weights %v", got)
	}
	p.Lookup("b").Trainable = false
	if got := names(); !slices.Equal(got, []string{"a"}) || p.Count() != 1 {
		t.Errorf("weights %v, %d values, after freezing b", got, p.Count())
	}
}

func TestAFailedRunNamesTheLayer(t *testing.T) {
	s := NewScope(new(Params), Config{})
	logits := s.Apply("fc", Linear{Out: 2}, images(s, 1, 3))
	y, w := input(s, "y", tensor.Int32, 1), input(s, "w", tensor.Float32, 1)
	y.Value().(*tensor.Dense).Int32s()[0], floats(w.Value())[0] = 7, 1
	for _, c := range []struct{ path, want string }{
		{"", "exec: softmaxCrossEntropy"}, // named by its inputs
		{"loss", "exec: loss (softmaxCrossEntropy"},
	} {
		m, err := s.Compile(CrossEntropy{}.Apply(s.At(c.path), gorgonia.Nodes{logits}, gorgonia.Nodes{y}, w))
		if err != nil {
			t.Fatal(err)
		}
		if err := m.RunAll(); err == nil || !strings.HasPrefix(err.Error(), c.want) || c.path == "" && !strings.Contains(err.Error(), "(fc, y, w)") {
			t.Errorf("error %v, want %s…", err, c.want)
		}
	}
}
