package experiments

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/reprise-ml/reprise/optim"
)

func TestAStepIsMeasured(t *testing.T) {
	b := StepBench{Model: "mlp:hidden=[16,8]", Batch: 4, Threads: 1, Time: 20 * time.Millisecond}
	got, err := b.Run(context.Background(), DefaultRegistry())
	if err != nil {
		t.Fatal(err)
	}
	s := got.StepSeconds
	if !(s.Min > 0 && s.Min <= s.Median && s.Median <= 1) {
		t.Errorf("step seconds %+v", s)
	}
	if got.ExamplesPerSecond != 4/s.Median || got.ExamplesPerSecondBest != 4/s.Min {
		t.Errorf("%v examples/s, best %v, of steps of %+v", got.ExamplesPerSecond, got.ExamplesPerSecondBest, s)
	}
	// Forward and to the weights for all layers, to the input for all but the first.
	products := 2*3072*16 + 3*16*8 + 3*8*10
	if want := float64(2 * 4 * products); math.Abs(got.GFLOPS*s.Median*1e9-want) > 1 {
		t.Errorf("%v floating-point operations a step, want %v", got.GFLOPS*s.Median*1e9, want)
	}
	if got.PeakRSS < 1<<20 {
		t.Errorf("%d bytes at the peak", got.PeakRSS)
	}
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	want := []string{"allocs_per_step", "batch", "examples_per_second", "examples_per_second_best", "gflops", "kernel", "model", "peak_rss_bytes", "step_seconds", "threads"}
	if keys := slices.Sorted(maps.Keys(fields)); !slices.Equal(keys, want) {
		t.Errorf("the fields are %v", keys)
	}
}

// What the runtime allocates beside the steps counts too, so the best of some tries does.
func TestAStepDoesNotAllocate(t *testing.T) {
	b := StepBench{Model: "resnet_cifar:depth=8", Batch: 1, Threads: 2, Time: 50 * time.Millisecond}
	least := math.Inf(1)
	for try := 0; try < 10 && least >= 1; try++ {
		got, err := b.Run(context.Background(), DefaultRegistry())
		if err != nil {
			t.Fatal(err)
		}
		least = min(least, got.AllocsPerStep)
	}
	if least >= 1 {
		t.Errorf("%v allocations a step", least)
	}
}

func TestAStepIsBrokenDownIntoAllOfIt(t *testing.T) {
	b := StepBench{Model: "resnet_cifar:depth=8", Batch: 2, Threads: 1, Time: time.Millisecond, Ops: true}
	got, err := b.Run(context.Background(), DefaultRegistry())
	if err != nil {
		t.Fatal(err)
	}
	share, ops := 0.0, map[string]OpTime{}
	for i, o := range got.Ops {
		share += o.Share
		ops[o.Op] = o
		if i > 0 && o.Seconds > got.Ops[i-1].Seconds {
			t.Errorf("%s comes after what takes less", o.Op)
		}
	}
	if math.Abs(share-1) > 1e-9 {
		t.Errorf("the shares add up to %v", share)
	}
	for name, count := range map[string]int{
		"conv 3x3 3→16 32x32": 1, "convWeights 3x3 3→16 32x32": 1, "convData 3x3 16→16 32x32": 2,
		"conv 3x3 16→32 32x32→16x16": 1, "linear 64→10": 1, "update": 1, "rest": 1,
	} {
		o := ops[name]
		if multiplies := strings.Contains(name, "→"); o.Count != count || o.Seconds < 0 || (o.GFLOPS > 0) != multiplies {
			t.Errorf("%s is %+v, want a count of %d", name, o, count)
		}
	}
	if _, ok := ops["convData 3x3 3→16 32x32"]; ok {
		t.Error("the gradient of the picture is computed")
	}
	var text bytes.Buffer
	if err := got.Write(&text); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("a line of %d columns: %s", n, line)
		}
	}
	for _, part := range []string{"resnet_cifar:depth=8: batch 2, threads 1, kernels ", "GFLOP/s", "conv 3x3 16→16 32x32"} {
		if !strings.Contains(text.String(), part) {
			t.Errorf("%q is not in\n%s", part, text.String())
		}
	}
}

func TestAStepThatIsInterruptedEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	b := StepBench{Model: "mlp", Batch: 1, Threads: 1, Time: time.Hour}
	if _, err := b.Run(ctx, DefaultRegistry()); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestModelsAreMeasuredOnTheDataTheyWereMadeFor(t *testing.T) {
	for text, want := range map[string]Shape{"resnet:depth=18": {Size: 224, Classes: 1000}, "resnet_cifar:depth=8": {Size: 32, Classes: 10}, "mlp": {Size: 32, Classes: 10}} {
		if s, err := (StepBench{Model: text}).setUp(DefaultRegistry()); err != nil || s.shape != want {
			t.Errorf("%s: data %+v, error %v", text, s.shape, err)
		}
	}
	b := Shape{Size: 3, Classes: 5}.noise(7)
	if !slices.Equal(b.Inputs[0].Shape, []int{7, 3, 3, 3}) || len(b.Inputs[0].F32) != 7*27 || slices.Max(b.Targets[0].I32) > 4 || len(b.Origins) != 7 {
		t.Errorf("the batch is %+v", b)
	}
}

func TestModelsAreReadFromOneLine(t *testing.T) {
	for text, want := range map[string]Choice[Model]{
		"mlp":                    {"mlp", &MLP{}},
		"mlp:hidden=[64,32]":     {"mlp", &MLP{Hidden: []int{64, 32}}},
		"resnet_cifar:depth=20":  {"resnet_cifar", &ResNetCIFAR{Depth: 20}},
		"resnet_cifar:depth= 20": {"resnet_cifar", &ResNetCIFAR{Depth: 20}},
	} {
		if got, err := DefaultRegistry().ParseModel(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, error %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"":                         "want the name of a model",
		"resnt":                    `did you mean "resnet"`,
		"resnet:dpth=18":           `did you mean "depth"`,
		"resnet:18":                `"18" sets nothing`,
		"resnet:depth=x":           "no number",
		"resnet_cifar:depth=8,a=1": `unknown key "a"`,
	} {
		if _, err := DefaultRegistry().ParseModel(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", text, err, want)
		}
	}
}

func TestBenchesOutOfRangeAreRefused(t *testing.T) {
	good := StepBench{Model: "mlp", Batch: 1, Threads: 1, Time: 1}
	if err := good.Check(DefaultRegistry()); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*StepBench){
		"batch is 0, want 1 to":       func(b *StepBench) { b.Batch = 0 },
		"batch is 1048577, want 1 to": func(b *StepBench) { b.Batch = 1<<20 + 1 },
		"threads are 0, want 1 to":    func(b *StepBench) { b.Threads = 0 },
		"threads are 1025, want 1 to": func(b *StepBench) { b.Threads = 1025 },
		"time is 0s":                  func(b *StepBench) { b.Time = 0 },
		"not 20":                      func(b *StepBench) { b.Model = "resnet:depth=20" },
	} {
		b := good
		change(&b)
		if err := b.Check(DefaultRegistry()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v", b, err)
		}
		if _, err := b.Run(context.Background(), DefaultRegistry()); err == nil {
			t.Errorf("%+v runs", b)
		}
	}
}

func TestStepsOfTransformersAreMeasuredInTokens(t *testing.T) {
	b := StepBench{Model: "transformer:layers=2,width=16,heads=2,context=8,vocab=32", Batch: 3, Threads: 1, Time: time.Millisecond, Ops: true}
	got, err := b.Run(context.Background(), DefaultRegistry())
	if err != nil {
		t.Fatal(err)
	}
	if got.TokensPerSecond != 8*got.ExamplesPerSecond || got.TokensPerSecondBest != 8*got.ExamplesPerSecondBest || got.TokensPerSecond == 0 {
		t.Errorf("%v tokens/s, best %v, and %v examples/s", got.TokensPerSecond, got.TokensPerSecondBest, got.ExamplesPerSecond)
	}
	ops := map[string]OpTime{}
	for _, o := range got.Ops {
		ops[o.Op] = o
	}
	for name, count := range map[string]int{"attention 2 heads of 8, 8 positions, causal": 2, "attentionBack 2 heads of 8, 8 positions, causal": 2, "linear 16→64": 2} {
		if o := ops[name]; o.Count != count || o.GFLOPS <= 0 {
			t.Errorf("%s is %+v, want a count of %d", name, o, count)
		}
	}
	// Linear layers forward, to the weights and to the input, and causal attention, 7 products in all, of 8·9/2 of the pairs of positions.
	linears := 3 * 2 * 3 * 8 * (2*(16*48+16*16+2*16*64) + 16*32)
	attention := 7 * 2 * 3 * 2 * 16 * 8 * 9 / 2
	if flops := got.GFLOPS * got.StepSeconds.Median * 1e9; math.Abs(flops-float64(linears+attention)) > 1 {
		t.Errorf("%.0f floating-point operations a step, want %d and %d", flops, linears, attention)
	}
	var text bytes.Buffer
	if err := got.Write(&text); err != nil || !strings.Contains(text.String(), "tokens/s") {
		t.Errorf("written as %s, %v", text.String(), err)
	}
	pictures, err := StepBench{Model: "vit:layers=1,width=16,heads=2,patch=8", Batch: 2, Threads: 1, Time: time.Millisecond}.Run(context.Background(), DefaultRegistry())
	if err != nil || pictures.TokensPerSecond != 0 || pictures.ExamplesPerSecond <= 0 {
		t.Errorf("of pictures %+v, %v", pictures, err)
	}
}

func TestTransformersAreMeasuredWithAdamW(t *testing.T) {
	for text, want := range map[string]Shape{
		"transformer":                       {Classes: 8192, Context: 128},
		"transformer:context=64,vocab=1000": {Classes: 1000, Context: 64},
		"vit:size=tiny":                     {Size: 224, Classes: 1000},
		"vit:size=tiny,patch=4":             {Size: 32, Classes: 10},
	} {
		s, err := StepBench{Model: text}.setUp(DefaultRegistry())
		if err != nil || s.shape != want {
			t.Errorf("%s: data %+v, error %v", text, s.shape, err)
		}
		if o, ok := s.optimizer.(*optim.AdamW); !ok || o.WeightDecay != 0.01 {
			t.Errorf("%s: optimizer %+v", text, s.optimizer)
		}
	}
}
