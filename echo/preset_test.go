package echo_test

import (
	"fmt"

	"github.com/reprise-ml/reprise/echo"
)

func ExamplePreset() {
	for _, p := range echo.Presets() {
		s := echo.Spec{Preset: p, Factor: 4}.WithDefaults()
		fmt.Println(p.Short(), s.Strategy, s.Factor, p.Together(), s.Check())
	}
	// Output:
	// persistency batch 4 false <nil>
	// multiplicity example 4 true <nil>
	// repeated example 4 true <nil>
	// partial augmentation 4 false <nil>
}
