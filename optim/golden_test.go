package optim

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/goccy/go-yaml"
	"gorgonia.org/gorgonia"
)

// golden is what testdata/golden.py made with PyTorch.
type golden struct {
	Optimizers []struct {
		Optimizer string
		Settings  json.RawMessage
		BRate     float64 `json:"b_rate"`
		W, B      []float32
		Steps     []struct {
			Rate         float64
			GW, GB, W, B []float32
		}
	}
	Clips []struct {
		Max, Norm float64
		GW, GB    []float32
		ClippedGW []float32 `json:"clipped_gw"`
		ClippedGB []float32 `json:"clipped_gb"`
	}
}

func readGolden(t *testing.T) golden {
	t.Helper()
	text, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var g golden
	if err := json.Unmarshal(text, &g); err != nil {
		t.Fatal(err)
	}
	return g
}

// near reports the largest difference between got and want where it is above a part in 2^20 of want, or of 1/16 where want is smaller.
func near(got, want []float32) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d elements, want %d", len(got), len(want))
	}
	for i := range got {
		if d := math.Abs(float64(got[i]) - float64(want[i])); !(d <= 0x1p-20*max(math.Abs(float64(want[i])), 1.0/16)) {
			return fmt.Errorf("element %d is %g, want %g", i, got[i], want[i])
		}
	}
	return nil
}

func TestOptimizersAgreeWithPyTorch(t *testing.T) {
	for _, c := range readGolden(t).Optimizers {
		t.Run(fmt.Sprintf("%s %s b·%g", c.Optimizer, c.Settings, c.BRate), func(t *testing.T) {
			groups := []Group{{Prefix: "b", Rate: c.BRate}}
			sgd, adam, adamW := &SGD{Groups: groups}, &Adam{Groups: groups}, &AdamW{Groups: groups}
			o := map[string]optimizer{"sgd": sgd, "adam": adam, "adamw": adamW}[c.Optimizer]
			if err := yaml.UnmarshalWithOptions(c.Settings, o, yaml.Strict()); err != nil { // JSON is YAML, and so the tags are tested too
				t.Fatal(err)
			}
			w := newVariable("w", true, c.W, make([]float32, len(c.W)))
			b := newVariable("b", false, c.B, make([]float32, len(c.B)))
			for i, s := range c.Steps {
				copy(w.grad.Float32s(), s.GW)
				copy(b.grad.Float32s(), s.GB)
				o.SetRate(s.Rate)
				if err := o.Step([]gorgonia.ValueGrad{w, b}); err != nil {
					t.Fatal(err)
				}
				if err := near(w.value.Float32s(), s.W); err != nil {
					t.Fatalf("step %d: w: %v", i, err)
				}
				if err := near(b.value.Float32s(), s.B); err != nil {
					t.Fatalf("step %d: b: %v", i, err)
				}
				if near(w.grad.Float32s(), s.GW) != nil {
					t.Fatal("the gradient was changed")
				}
			}
		})
	}
}

func TestClipNormAgreesWithPyTorch(t *testing.T) {
	for _, c := range readGolden(t).Clips {
		w, b := newVariable("w", true, c.GW, c.GW), newVariable("b", true, c.GB, c.GB)
		norm, err := ClipNorm([]gorgonia.ValueGrad{w, b}, c.Max)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(norm-c.Norm) > 1e-6*c.Norm {
			t.Errorf("norm %g, want %g", norm, c.Norm)
		}
		if err := near(w.grad.Float32s(), c.ClippedGW); err != nil {
			t.Errorf("max %g: w: %v", c.Max, err)
		}
		if err := near(b.grad.Float32s(), c.ClippedGB); err != nil {
			t.Errorf("max %g: b: %v", c.Max, err)
		}
	}
}
