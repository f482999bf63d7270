package models

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/reprise-ml/reprise/nn"
)

func resNet(t *testing.T, depth int) nn.Model {
	t.Helper()
	m, err := ResNetCIFAR(depth, 10)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// params builds an evaluation graph of m for one row and returns its Params.
func params(t *testing.T, m nn.Model) *nn.Params {
	t.Helper()
	var p nn.Params
	newGraph(t, m, &p, 1, nn.Config{})
	return &p
}

func TestParameterCountsAreThePublishedOnes(t *testing.T) {
	for _, c := range []struct {
		depth     int
		published float64 // millions, He et al. (2015), table 6
	}{{20, 0.27}, {32, 0.46}, {44, 0.66}, {56, 0.85}, {110, 1.7}} {
		n := (c.depth - 2) / 6
		conv := func(in, out int) int { return 9*in*out + 2*out } // with its normalisation
		formula := conv(3, 16) + 2*n*conv(16, 16) + conv(16, 32) + (2*n-1)*conv(32, 32) + conv(32, 64) + (2*n-1)*conv(64, 64) + 64*10 + 10
		got := params(t, resNet(t, c.depth)).Count()
		if got != formula {
			t.Errorf("ResNet-%d has %d parameters, by the formula %d", c.depth, got, formula)
		}
		if digits := math.Pow(10, math.Ceil(-math.Log10(c.published))+1); math.Round(float64(got)/1e6*digits)/digits != c.published {
			t.Errorf("ResNet-%d has %d parameters, published are %vM", c.depth, got, c.published)
		}
	}
	if got := params(t, resNet(t, 20)).Count(); got != 269722 {
		t.Errorf("ResNet-20 has %d parameters, want 269722", got)
	}
	if got, want := params(t, MLP([]int{100, 50}, 10)).Count(), 3072*100+100+100*50+50+50*10+10; got != want {
		t.Errorf("the perceptron has %d parameters, want %d", got, want)
	}
}

func TestOtherDepthsAreRefused(t *testing.T) {
	for _, depth := range []int{-4, 0, 2, 7, 18, 21, 116, 1202} {
		if _, err := ResNetCIFAR(depth, 10); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("not %d", depth)) {
			t.Errorf("depth %d: error %v", depth, err)
		}
	}
	if _, err := ResNetCIFAR(20, 0); err == nil {
		t.Error("no classes, and no error")
	}
}

func TestNamesAndShapesAreThoseOfPyTorch(t *testing.T) {
	var got []string
	for _, w := range params(t, resNet(t, 8)).Export() {
		if !strings.HasPrefix(w.Name, "layer1") && !strings.HasPrefix(w.Name, "layer3") {
			got = append(got, fmt.Sprint(w.Name, w.Shape))
		}
	}
	want := []string{
		"conv1.weight[16 3 3 3]", "bn1.weight[16]", "bn1.bias[16]", "bn1.running_mean[16]", "bn1.running_var[16]",
		"layer2.0.conv1.weight[32 16 3 3]", "layer2.0.bn1.weight[32]", "layer2.0.bn1.bias[32]", "layer2.0.bn1.running_mean[32]", "layer2.0.bn1.running_var[32]",
		"layer2.0.conv2.weight[32 32 3 3]", "layer2.0.bn2.weight[32]", "layer2.0.bn2.bias[32]", "layer2.0.bn2.running_mean[32]", "layer2.0.bn2.running_var[32]",
		"fc.weight[10 64]", "fc.bias[10]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	got = nil
	for q := range params(t, MLP([]int{5}, 10)).All() {
		got = append(got, q.Name)
	}
	if want := []string{"1.weight", "1.bias", "3.weight", "3.bias"}; !slices.Equal(got, want) {
		t.Errorf("the perceptron has %v, want %v", got, want)
	}
}

func TestTrainingAndEvaluationShareWeightsAndRunningStatistics(t *testing.T) {
	var p nn.Params
	model := resNet(t, 8)
	train := newGraph(t, model, &p, 6, nn.Config{Train: true, Seed: 1})
	count := p.Count()
	eval := newGraph(t, model, &p, 3, nn.Config{})
	if p.Count() != count {
		t.Errorf("the evaluation graph made weights: %d, then %d values", count, p.Count())
	}
	for i, n := range eval.weights {
		if n.Value() != train.weights[i].Value() || n.Value() != gorgonia.Value(p.Lookup(n.Name()).Value) {
			t.Errorf("%s is not shared", n.Name())
		}
	}
	train.setBatch()
	eval.setBatch()
	before := eval.run(t)
	mean := p.Lookup("layer3.0.bn2.running_mean").Value.Float32s()

	if err := train.machine.RunAll(); err != nil {
		t.Fatal(err)
	}
	if after := eval.run(t); after != before || slices.ContainsFunc(mean, func(v float32) bool { return v != 0 }) {
		t.Error("a run that is not committed changes evaluation")
	}
	train.machine.Commit()
	if after := eval.run(t); after == before || !slices.ContainsFunc(mean, func(v float32) bool { return v != 0 }) {
		t.Error("evaluation does not see the running statistics")
	}
}

func TestTrainingIsBitForBitThatOfTheTapeMachineAndDoesNotAllocate(t *testing.T) {
	bits := func(step func(*graph), value func(*graph, *gorgonia.Node) gorgonia.Value) (out []uint32) {
		var p nn.Params
		g := newGraph(t, resNet(t, 8), &p, 2, nn.Config{Train: true})
		g.setBatch()
		for range 4 {
			step(g)
			out = append(out, math.Float32bits(value(g, g.loss).Data().(float32)))
			for i, n := range g.weights {
				w, d := floats(n.Value()), floats(value(g, g.grads[i]))
				for j := range w {
					w[j] -= 0.01 * d[j]
					out = append(out, math.Float32bits(d[j]))
				}
			}
		}
		return out
	}
	onMachine := func(g *graph, n *gorgonia.Node) gorgonia.Value { return g.machine.Value(n) }
	got := bits(func(g *graph) { g.run(t) }, onMachine)

	var tape gorgonia.VM
	want := bits(func(g *graph) {
		if tape == nil {
			tape = gorgonia.NewTapeMachine(g.x.Graph())
		}
		tape.Reset()
		if err := tape.RunAll(); err != nil {
			t.Fatal(err)
		}
	}, func(_ *graph, n *gorgonia.Node) gorgonia.Value { return n.Value() })
	if !slices.Equal(got, want) {
		t.Error("losses or gradients differ from those of the TapeMachine")
	}

	var p nn.Params
	g := newGraph(t, resNet(t, 8), &p, 2, nn.Config{Train: true})
	g.setBatch()
	if n := testing.AllocsPerRun(2, func() { g.run(t) }); n > 1 { // the loss in an interface
		t.Errorf("%v allocations a step", n)
	}
}
