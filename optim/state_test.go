package optim

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
)

// twoWeights returns a pair of weights and a function that draws their next gradients.
func twoWeights() (ws []gorgonia.ValueGrad, draw func()) {
	a := newVariable("conv1.weight", true, []float32{1, 2, 3}, make([]float32, 3))
	b := newVariable("conv1.bias", false, []float32{4}, make([]float32, 1))
	r := rand.New(rand.NewPCG(1, 2))
	return []gorgonia.ValueGrad{a, b}, func() {
		for _, g := range [][]float32{a.grad.Float32s(), b.grad.Float32s()} {
			for i := range g {
				g[i] = float32(r.NormFloat64())
			}
		}
	}
}

func weightsOf(ws []gorgonia.ValueGrad) (out []float32) {
	for _, w := range ws {
		out = append(out, w.(*variable).value.Float32s()...)
	}
	return out
}

func TestAResumedOptimizerGivesTheSameBits(t *testing.T) {
	fresh := all()
	for name, o := range all() {
		for stop := range 4 {
			ws, draw := twoWeights()
			straight := o
			if err := straight.SetState([]Vector{countVector("step", 0)}); err != nil {
				t.Fatal(err)
			}
			var state []Vector
			var saved []float32
			resumed, redraw := twoWeights()
			for i := range 6 {
				if i == stop {
					state, saved = straight.State(), weightsOf(ws)
				}
				if i < stop {
					redraw()
				}
				draw()
				if err := straight.Step(ws); err != nil {
					t.Fatal(err)
				}
			}
			copy(resumed[0].(*variable).value.Float32s(), saved)
			copy(resumed[1].(*variable).value.Float32s(), saved[3:])
			slices.Reverse(state) // the order is of no importance
			again := fresh[name]
			if err := again.SetState(state); err != nil {
				t.Fatal(err)
			}
			if got := again.State(); len(got) != len(state) {
				t.Errorf("%s: the state before the first step has %d vectors, want %d", name, len(got), len(state))
			}
			for _, v := range state {
				clear(v.Data) // SetState has copied
			}
			for range 6 - stop {
				redraw()
				if err := again.Step(resumed); err != nil {
					t.Fatal(err)
				}
			}
			if got, want := weightsOf(resumed), weightsOf(ws); !slices.Equal(got, want) {
				t.Errorf("%s, stopped at %d: %v, want %v", name, stop, got, want)
			}
			if got, want := again.State(), straight.State(); !reflect.DeepEqual(got, want) {
				t.Errorf("%s, stopped at %d: state %v, want %v", name, stop, got, want)
			}
		}
	}
}

func TestStateNamesItsBuffersAfterTheWeights(t *testing.T) {
	for name, want := range map[string][]string{
		"plain SGD": {"step"},
		"SGD":       {"step", "momentum.conv1.weight", "momentum.conv1.bias"},
		"AdamW":     {"step", "exp_avg.conv1.weight", "exp_avg.conv1.bias", "exp_avg_sq.conv1.weight", "exp_avg_sq.conv1.bias"},
	} {
		o := all()[name]
		ws, draw := twoWeights()
		draw()
		if err := o.Step(ws); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, v := range o.State() {
			got = append(got, v.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
		o.State()[0].Data[1] = 99
		if n := o.State()[0].Data[1]; n != 1 {
			t.Errorf("%s: State is not a copy: step %g", name, n)
		}
	}
}

func TestSetStateRefuses(t *testing.T) {
	step := countVector("step", 3)
	a, b := Vector{"momentum.conv1.weight", make([]float32, 3)}, Vector{"momentum.conv1.bias", make([]float32, 1)}
	for _, c := range []struct {
		name, want string
		state      []Vector
	}{
		{"no count", `state has no "step"`, []Vector{a, b}},
		{"a bad count", `"step" is [0.5 1], expected two whole numbers`, []Vector{{"step", []float32{0.5, 1}}}},
		{"a short count", `"step" is [1], expected two whole numbers`, []Vector{{"step", []float32{1}}}},
		{"a name twice", `"momentum.conv1.bias" is given twice`, []Vector{step, a, b, b}},
		{"a missing buffer", `state has no "momentum.conv1.bias"`, []Vector{step, a}},
		{"no buffer", `state has no "momentum.conv1.weight"`, []Vector{step}},
		{"another buffer", `state has "momentum.fc", which is not expected`, []Vector{step, a, b, {"momentum.fc", nil}}},
		{"another size", `state has 2 elements of "momentum.conv1.weight", expected 3`, []Vector{step, {a.Name, make([]float32, 2)}, b}},
	} {
		ws, draw := twoWeights()
		draw()
		o := &SGD{Momentum: 0.9}
		err := o.SetState(c.state)
		if err == nil {
			err = o.Step(ws)
		}
		if err == nil || !strings.HasPrefix(err.Error(), "optim: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

func TestCountsOfAnySizeAreStoredExactly(t *testing.T) {
	for _, n := range []int64{0, 1, 1<<24 - 1, 1 << 24, 1<<24 + 1, 123456789012, 1<<48 - 1} {
		got, rest, err := takeCount([]Vector{countVector("step", n)}, "step")
		if got != n || len(rest) != 0 || err != nil {
			t.Errorf("%d became %d, %v, %v", n, got, rest, err)
		}
	}
}
