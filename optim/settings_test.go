package optim

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"gorgonia.org/gorgonia"
)

func TestSettingsOutOfRangeAreNamed(t *testing.T) {
	nan := math.NaN()
	for want, v := range map[string]interface{ Check() error }{
		"momentum is 1,":            &SGD{Momentum: 1},
		"momentum is -0.1,":         &SGD{Momentum: -0.1},
		"nesterov needs a momentum": &SGD{Nesterov: true},
		"weight_decay is -1,":       &SGD{WeightDecay: -1},
		"weight_decay is NaN,":      &Adam{WeightDecay: nan},
		"beta1 is 1,":               &Adam{Beta1: 1},
		"beta2 is NaN,":             &AdamW{Beta2: nan},
		"epsilon is -1,":            &AdamW{Epsilon: -1},
		"a group has no prefix":     &SGD{Groups: []Group{{Rate: 2}}},
		`rate is -1, expected a finite number from 0, in group "fc."`: &AdamW{Groups: []Group{{"fc.", -1}}},
		"decay is 1,":                   &EMA{Decay: 1},
		"value is -1,":                  Constant{-1},
		"to is NaN,":                    Linear{To: nan},
		"over is -5,":                   Linear{Over: -5},
		"from is +Inf,":                 Cosine{From: math.Inf(1)},
		"at is -1,":                     Step{At: []float64{1, -1}},
		"factor is -2,":                 Step{Factor: -2},
		"every is -2,":                  Exponential{Every: -2},
		"warm-up has no schedule":       Warmup{},
		"over is -1,":                   Warmup{Over: -1, Then: Constant{}},
		"over is -7,":                   Warmup{Then: Cosine{Over: -7}},
		"value is NaN, expected a fini": Warmup{Then: Warmup{Then: Constant{nan}}},
	} {
		err := v.Check()
		if err == nil || !strings.HasPrefix(err.Error(), "optim: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, want %q", v, err, want)
		}
		if o, ok := v.(gorgonia.Solver); ok {
			if got := o.Step(nil); got == nil || got.Error() != err.Error() {
				t.Errorf("%+v: Step gives %v, want %v", v, got, err)
			}
		}
	}
}

func TestZeroValuesAreValid(t *testing.T) {
	for _, v := range []interface{ Check() error }{
		&SGD{}, &Adam{}, &AdamW{}, &EMA{}, Constant{}, Linear{}, Cosine{}, Step{}, Exponential{}, Warmup{Then: Constant{}},
	} {
		if err := v.Check(); err != nil {
			t.Errorf("%T: %v", v, err)
		}
	}
}

func TestARateOutOfRangeIsRefused(t *testing.T) {
	for name, o := range all() {
		for _, rate := range []float64{-1, math.NaN(), math.Inf(1)} {
			o.SetRate(rate)
			if err := o.Step(nil); err == nil || !strings.Contains(err.Error(), "rate is") {
				t.Errorf("%s, rate %g: %v", name, rate, err)
			}
		}
	}
}

func TestMomentumCannotBeginLate(t *testing.T) {
	ws := []gorgonia.ValueGrad{newVariable("w", true, []float32{1}, []float32{1})}
	o := &SGD{}
	if err := o.Step(ws); err != nil {
		t.Fatal(err)
	}
	o.Momentum = 0.9
	if err := o.Step(ws); err == nil || !strings.Contains(err.Error(), "momentum was changed") {
		t.Errorf("got %v", err)
	}
}

func TestSettingsKeepTheirValuesThroughYAML(t *testing.T) {
	groups := []Group{{Prefix: "fc.", Rate: 10}}
	for text, v := range map[string]any{
		"momentum: 0.0\nnesterov: false": &SGD{}, // written: the defaults of a spec are others
		"momentum: 0.9\nweight_decay: 0.0005\nnesterov: true\ngroups:\n- prefix: fc.\n  rate: 10.0": &SGD{Momentum: 0.9, WeightDecay: 5e-4, Nesterov: true, Groups: groups},
		"beta1: 0.8\nbeta2: 0.95\nepsilon: 0.001\nweight_decay: 0.1":                                &AdamW{Beta1: 0.8, Beta2: 0.95, Epsilon: 1e-3, WeightDecay: 0.1},
		"beta2: 0.95":                               &Adam{Beta2: 0.95},
		"decay: 0.9\nwarmup: true":                  &EMA{Decay: 0.9, Warmup: true},
		"value: 0.5":                                &Constant{0.5},
		"from: 0.5\nto: 0.25\nover: 100.0":          &Linear{0.5, 0.25, 100},
		"from: 0.5\nover: 100.0":                    &Cosine{From: 0.5, Over: 100},
		"from: 0.5\nfactor: 0.2\nat:\n- 1.0\n- 2.5": &Step{0.5, 0.2, []float64{1, 2.5}},
		"from: 0.5\nevery: 2.5\nstaircase: true":    &Exponential{From: 0.5, Every: 2.5, Staircase: true},
		"from: 0.5\nfactor: 0.97\nevery: 2.0":       &Exponential{From: 0.5, Factor: 0.97, Every: 2},
	} {
		got, err := yaml.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if strings.TrimSpace(string(got)) != text {
			t.Errorf("%+v is written as\n%swant\n%s", v, got, text)
		}
		back := reflect.New(reflect.TypeOf(v).Elem()).Interface()
		if err := yaml.UnmarshalWithOptions(got, back, yaml.Strict()); err != nil || !reflect.DeepEqual(back, v) {
			t.Errorf("%s is read as %+v, %v", got, back, err)
		}
	}
	got, err := yaml.Marshal(Warmup{Over: 5, Then: Constant{0.5}})
	if want := "over: 5.0\nthen:\n  value: 0.5\n"; err != nil || string(got) != want {
		t.Errorf("a warm-up is written as %q, %v, want %q", got, err, want)
	}
}
