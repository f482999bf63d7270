package optim

import (
	"errors"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/reprise-ml/reprise/internal/kernel"
)

// variable is a weight with its gradient, as a learner passes them.
type variable struct {
	name        string
	decay       bool
	value, grad *tensor.Dense
}

func (v *variable) Name() string                  { return v.name }
func (v *variable) Decay() bool                   { return v.decay }
func (v *variable) Value() gorgonia.Value         { return v.value }
func (v *variable) Grad() (gorgonia.Value, error) { return v.grad, nil }

// bare is a weight without the optional methods.
type bare struct {
	value, grad gorgonia.Value
	err         error
}

func (b bare) Value() gorgonia.Value         { return b.value }
func (b bare) Grad() (gorgonia.Value, error) { return b.grad, b.err }

func dense(x ...float32) *tensor.Dense {
	return tensor.New(tensor.WithShape(len(x)), tensor.WithBacking(append([]float32{}, x...)))
}

func newVariable(name string, decay bool, value, grad []float32) *variable {
	return &variable{name, decay, dense(value...), dense(grad...)}
}

// optimizer is what all optimizers of the package are.
type optimizer interface {
	gorgonia.Solver
	SetRate(float64)
	SetPool(*kernel.Pool)
	State() []Vector
	SetState([]Vector) error
	Check() error
}

// all returns a new optimizer of each kind, with every buffer in use.
func all() map[string]optimizer {
	return map[string]optimizer{
		"plain SGD":    &SGD{WeightDecay: 0.1},
		"SGD":          &SGD{Momentum: 0.9, WeightDecay: 0.1},
		"Nesterov SGD": &SGD{Momentum: 0.9, WeightDecay: 0.1, Nesterov: true},
		"Adam":         &Adam{WeightDecay: 0.1},
		"AdamW":        &AdamW{WeightDecay: 0.1},
	}
}

func TestStepRefusesAWeightAndLeavesAllUntouched(t *testing.T) {
	good := func() *variable { return newVariable("good", true, []float32{1, 2}, []float32{3, 4}) }
	transposed := tensor.New(tensor.WithShape(2, 3), tensor.WithBacking(make([]float32, 6)))
	if err := transposed.T(); err != nil {
		t.Fatal(err)
	}
	float64s := tensor.New(tensor.WithShape(1), tensor.WithBacking([]float64{1}))
	lost := errors.New("lost")
	for _, c := range []struct {
		name, want string
		bad        gorgonia.ValueGrad
	}{
		{"no value", "weight 1: there is no value", bare{grad: dense(1)}},
		{"no gradient", "gradient of w: there is no value", &variable{name: "w", value: dense(1)}},
		{"an error of Grad", "gradient of 1: lost", bare{value: dense(1), err: lost}},
		{"a scalar value", "expected a *tensor.Dense", bare{value: gorgonia.NewF32(1), grad: dense(1)}},
		{"float64", "got elements of float64, expected float32", bare{value: float64s, grad: float64s}},
		{"other sizes", "gradient of w has 1 elements, the weight 2", newVariable("w", true, []float32{1, 2}, []float32{3})},
		{"a view", "transposed or sliced view", bare{value: transposed, grad: transposed}},
		{"a name twice", `two weights are named "good"`, good()},
	} {
		for name, o := range all() {
			first := good()
			err := o.Step([]gorgonia.ValueGrad{first, c.bad})
			if err == nil || !strings.HasPrefix(err.Error(), "optim: ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, %s: got %v, want %q", c.name, name, err, c.want)
			}
			if w := first.value.Float32s(); w[0] != 1 || w[1] != 2 {
				t.Errorf("%s, %s: a failed step changed a weight", c.name, name)
			}
			if len(o.State()) != 1 {
				t.Errorf("%s, %s: a failed step left buffers", c.name, name)
			}
		}
	}
}

func TestStepRefusesOtherWeightsThanAtTheFirstStep(t *testing.T) {
	a := newVariable("a", true, []float32{1}, []float32{1})
	b := newVariable("b", true, []float32{1}, []float32{1})
	longer := newVariable("b", true, []float32{1, 2}, []float32{1, 2})
	for name, o := range all() {
		if err := o.Step([]gorgonia.ValueGrad{a, b}); err != nil {
			t.Fatal(err)
		}
		for want, ws := range map[string][]gorgonia.ValueGrad{
			"1 weights, at the first step there were 2": {a},
			"weight 0 is b, at the first step it was a": {b, a},
		} {
			if err := o.Step(ws); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %q", name, err, want)
			}
		}
		if err := o.Step([]gorgonia.ValueGrad{a, longer}); name != "plain SGD" && (err == nil || !strings.Contains(err.Error(), "has 2 elements, at the first step it had 1")) {
			t.Errorf("%s: got %v for a longer weight", name, err)
		}
	}
}

func TestGroupsMultiplyTheRateOfTheFirstPrefixThatFits(t *testing.T) {
	w := func(name string) *variable { return newVariable(name, true, []float32{0}, []float32{1}) }
	ws := []gorgonia.ValueGrad{w("fc.weight"), w("fc.bias"), w("conv1.weight"), w("bn1.weight")}
	o := &SGD{Groups: []Group{{Prefix: "fc.b", Rate: 2}, {Prefix: "fc.", Rate: 0.5}, {Prefix: "bn1."}}}
	o.SetRate(0.25)
	if err := o.Step(ws); err != nil {
		t.Fatal(err)
	}
	for i, want := range []float32{-0.125, -0.5, -0.25, -0.25} {
		if got := ws[i].(*variable).value.Float32s()[0]; got != want {
			t.Errorf("%s became %g, want %g", ws[i].(*variable).name, got, want)
		}
	}
	lost := &Adam{Groups: []Group{{Prefix: "fc."}, {Prefix: "fC."}}}
	if err := lost.Step(ws); err == nil || !strings.Contains(err.Error(), `group "fC." has no weight`) {
		t.Errorf("a prefix without a weight gives %v", err)
	}
}

func TestDecayAppliesUnlessTheWeightSaysNo(t *testing.T) {
	for name, o := range all() {
		yes, no := newVariable("yes", true, []float32{1}, []float32{0}), newVariable("no", false, []float32{1}, []float32{0})
		unsaid := bare{value: dense(1), grad: dense(0)}
		if err := o.Step([]gorgonia.ValueGrad{yes, no, unsaid}); err != nil {
			t.Fatal(err)
		}
		w := unsaid.value.(*tensor.Dense).Float32s()[0]
		if got := yes.value.Float32s()[0]; got >= 1 || got != w {
			t.Errorf("%s: decaying weights became %g and %g", name, got, w)
		}
		if got := no.value.Float32s()[0]; got != 1 {
			t.Errorf("%s: a weight without decay became %g", name, got)
		}
	}
}

func TestStepDoesNotAllocateInSteadyState(t *testing.T) {
	ws := []gorgonia.ValueGrad{
		newVariable("a", true, make([]float32, 1000), make([]float32, 1000)),
		newVariable("b", false, make([]float32, 3), make([]float32, 3)),
	}
	optimizers := all()
	optimizers["grouped"] = &SGD{Groups: []Group{{Prefix: "a", Rate: 2}}}
	for name, o := range optimizers {
		n := testing.AllocsPerRun(20, func() {
			o.SetRate(0.1)
			if _, err := ClipNorm(ws, 1); err != nil {
				t.Fatal(err)
			}
			if err := o.Step(ws); err != nil {
				t.Fatal(err)
			}
		})
		if n != 0 {
			t.Errorf("%s allocates %v times a step", name, n)
		}
	}
}
