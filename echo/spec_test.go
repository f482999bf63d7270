package echo_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/reprise-ml/reprise/echo"
)

func ExampleSpec() {
	spec := echo.Spec{Strategy: echo.Example}.WithDefaults()
	fmt.Println("strategy", spec.Strategy, "factor", spec.Factor)
	for _, place := range echo.Strategies() {
		fmt.Println("at", place, "by", spec.At(place))
	}
	// Output:
	// strategy example factor 2
	// at none by 1
	// at read by 1
	// at example by 2
	// at augmentation by 1
	// at batch by 1
}

func ExampleSpec_Check() {
	fmt.Println(echo.Spec{Strategy: echo.Batch, Factor: 3, ShuffleBatches: 10}.Check())
	fmt.Println(echo.Spec{Strategy: "examples"}.Check())
	// Output:
	// <nil>
	// echo: the strategy is "examples", want one of ["none" "read" "example" "augmentation" "batch"]
}

func TestStrategiesStandInTheOrderDataFlows(t *testing.T) {
	want := []echo.Strategy{"none", "read", "example", "augmentation", "batch"}
	got := echo.Strategies()
	if !slices.Equal(got, want) {
		t.Errorf("the strategies are %q, want %q", got, want)
	}
	got[0] = "changed"
	if echo.Strategies()[0] != echo.None {
		t.Error("the list can be written to")
	}
}

func TestDefaultsFillWhatIsNotSet(t *testing.T) {
	for _, test := range []struct{ spec, want echo.Spec }{
		{echo.Spec{}, echo.Spec{Strategy: echo.None, Factor: 1}},
		{echo.Spec{Strategy: echo.None}, echo.Spec{Strategy: echo.None, Factor: 1}},
		{echo.Spec{Strategy: echo.None, Factor: 1}, echo.Spec{Strategy: echo.None, Factor: 1}},
		{echo.Spec{Strategy: echo.Read}, echo.Spec{Strategy: echo.Read, Factor: 2}},
		{echo.Spec{Strategy: echo.Example}, echo.Spec{Strategy: echo.Example, Factor: 2}},
		{echo.Spec{Strategy: echo.Augmentation, Factor: 1}, echo.Spec{Strategy: echo.Augmentation, Factor: 1}},
		{echo.Spec{Strategy: echo.Batch, Factor: 2.5, ShuffleBatches: 10}, echo.Spec{Strategy: echo.Batch, Factor: 2.5, ShuffleBatches: 10}},
	} {
		if got := test.spec.WithDefaults(); got != test.want {
			t.Errorf("%+v with defaults is %+v, want %+v", test.spec, got, test.want)
		}
		if again := test.want.WithDefaults(); again != test.want {
			t.Errorf("defaults change %+v to %+v", test.want, again)
		}
	}
}

func TestCheckReportsWhatIsWrong(t *testing.T) {
	for _, test := range []struct {
		spec echo.Spec
		want string // "" for nothing
	}{
		{echo.Spec{}, ""},
		{echo.Spec{Strategy: echo.Batch, ShuffleBatches: 100}, ""},
		{echo.Spec{Strategy: echo.Example, ShuffleBatches: 1}, ""}, // a buffer of one is none
		{echo.Spec{Strategy: echo.Read, Factor: 1024}, ""},
		{echo.Spec{Strategy: "Example"}, `echo: the strategy is "Example", want one of ["none" "read" "example" "augmentation" "batch"]`},
		{echo.Spec{Strategy: echo.Batch, ShuffleBatches: -1}, "echo: shuffle_batches is -1, want 0 (none) or more"},
		{echo.Spec{Strategy: echo.Example, ShuffleBatches: 10}, "echo: shuffle_batches is 10, which goes with the strategy batch, not example"},
		{echo.Spec{Preset: echo.MinibatchPersistency, Factor: 2.5}, ""},
		{echo.Spec{Preset: echo.RepeatedAugmentation, Factor: 3}, ""},
		{echo.Spec{Preset: "persistence"}, `echo: the preset is "persistence", want one of ["minibatch_persistency" "augmentation_multiplicity" "repeated_augmentation" "partial_augmentation"]`},
		{echo.Spec{Preset: echo.PartialAugmentation, Strategy: echo.Batch}, "echo: the preset partial_augmentation is of the strategy augmentation, and the strategy is batch; want one of the two"},
		{echo.Spec{Preset: echo.AugmentationMultiplicity, Factor: 2.5}, "echo: the factor is 2.5, and the preset augmentation_multiplicity takes a whole one"},
		{echo.Spec{Preset: echo.MinibatchPersistency, ShuffleBatches: 2}, "echo: shuffle_batches is 2, and the preset minibatch_persistency keeps the copies of a batch together"},
		{echo.Spec{ShuffleBatches: 10}, "echo: shuffle_batches is 10, which goes with the strategy batch, not none"},
		{echo.Spec{Strategy: echo.Read, Factor: 0.5}, "echo: the factor is 0.5, want 1 to 1024, or auto"},
		{echo.Spec{Strategy: echo.Read, Factor: -2}, "echo: the factor is -2, want 1 to 1024, or auto"},
		{echo.Spec{Strategy: echo.Read, Factor: echo.Auto}, ""},
		{echo.Spec{Factor: echo.Auto}, `echo: the factor is auto and there is no strategy, want one of ["none" "read" "example" "augmentation" "batch"]`},
		{echo.Spec{Strategy: echo.Read, Factor: echo.Auto, Max: 1024}, ""},
		{echo.Spec{Strategy: echo.Read, Factor: echo.Auto, Max: 1025}, "echo: max is 1025, want 1 to 1024"},
		{echo.Spec{Strategy: echo.Read, Factor: 2, Max: 4}, "echo: max is 4, which goes with the factor auto, not 2"},
		{echo.Spec{Strategy: echo.Read, Factor: 1025}, "echo: the factor is 1025, want 1 to 1024, or auto"},
		{echo.Spec{Strategy: echo.Read, Factor: echo.Factor(math.NaN())}, "echo: the factor is NaN, want 1 to 1024, or auto"},
	} {
		got := ""
		if err := test.spec.Check(); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%+v: %q, want %q", test.spec, got, test.want)
		}
	}
}

func TestASpecEchoesAtItsOwnPlaceAlone(t *testing.T) {
	for _, strategy := range append(echo.Strategies(), "") {
		for given, factor := range map[echo.Factor]echo.Factor{0: 2, 1: 1, 2.5: 2.5} {
			spec := echo.Spec{Strategy: strategy, Factor: given}
			for _, place := range echo.Strategies() {
				want := echo.Factor(1)
				if place == strategy && place != echo.None {
					want = factor
				}
				if got := spec.At(place); got != want {
					t.Errorf("%+v echoes by %v at %s, want %v", spec, got, place, want)
				}
			}
		}
	}
}
