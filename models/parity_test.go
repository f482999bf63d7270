package models

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/reprise-ml/reprise/internal/kernel"
	"github.com/reprise-ml/reprise/nn"
)

// gold is what PyTorch computed: see testdata/resnet8.py.
type gold struct {
	Logits         []float64
	Losses         []float64
	GradNorms      map[string]float64 `json:"grad_norms"`
	EvalLogits     []float64          `json:"eval_logits"`
	RunningMeanBN1 []float64          `json:"running_mean_bn1"`
	RunningVarBN1  []float64          `json:"running_var_bn1"`
}

func readGold(t *testing.T, file string) (g gold) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &g); err != nil {
		t.Fatal(err)
	}
	return g
}

// formula returns count numbers in [-1, 1) that depend on name and position.
func formula(name string, count int) []float64 {
	seed := uint32(2166136261) // FNV-1a
	for _, c := range []byte(name) {
		seed = (seed ^ uint32(c)) * 16777619
	}
	out := make([]float64, count)
	for i := range out {
		u := uint32(i)*2654435761 + seed
		u = (u ^ u>>15) * 2246822519
		u ^= u >> 13
		out[i] = float64(u)/(1<<31) - 1
	}
	return out
}

// setWeights gives every Param of p its value by the formula.
func setWeights(t *testing.T, p *nn.Params) {
	t.Helper()
	tensors := p.Export()
	for _, w := range tensors {
		scale, shift := 0.1, 0.0
		switch {
		case strings.HasSuffix(w.Name, "running_var"):
			scale, shift = 0.5, 1
		case strings.HasSuffix(w.Name, "running_mean"), strings.HasSuffix(w.Name, "bias"):
		case strings.HasSuffix(w.Name, "bn3.weight"):
			scale, shift = 0.05, 0.25
		case len(w.Shape) == 1:
			scale, shift = 0.2, 1
		default:
			scale = math.Sqrt(6 / float64(len(w.Data)/w.Shape[0]))
		}
		for i, u := range formula(w.Name, len(w.Data)) {
			w.Data[i] = float32(shift + scale*u)
		}
	}
	if err := p.Import(tensors); err != nil {
		t.Fatal(err)
	}
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*(1+math.Abs(want))) {
		t.Errorf("%s is %v, PyTorch has %v", what, got, want)
	}
}

// The gold values were computed in float64. PyTorch in float32 differs from them as much as we do:
// by 1e-7 in the first step, by 3e-5 in later losses, by 1e-3 in the logits of evaluation.
func TestResNet8TrainsAsInPyTorch(t *testing.T) {
	want := readGold(t, "testdata/resnet8.json")
	model, err := ResNetCIFAR(8, 10)
	if err != nil {
		t.Fatal(err)
	}
	pool := kernel.NewPool(2)
	defer pool.Close()
	var p nn.Params
	g := newGraph(t, model, &p, 4, nn.Config{Train: true, Pool: pool})
	setWeights(t, &p)
	g.setBatch()

	velocity := map[string][]float32{}
	for step, loss := range want.Losses {
		near(t, fmt.Sprintf("loss after %d steps", step), g.run(t), loss, 1e-4)
		if step == 0 {
			for i, v := range floats(g.machine.Value(g.logits)) {
				near(t, fmt.Sprintf("logit %d", i), float64(v), want.Logits[i], 1e-5)
			}
			if len(want.GradNorms) != len(g.weights) {
				t.Errorf("%d weights, PyTorch has %d", len(g.weights), len(want.GradNorms))
			}
			for i, n := range g.weights {
				var sum float64
				for _, v := range floats(g.machine.Value(g.grads[i])) {
					sum += float64(v) * float64(v)
				}
				near(t, "gradient norm of "+n.Name(), math.Sqrt(sum), want.GradNorms[n.Name()], 1e-5)
			}
		}
		if step < len(want.Losses)-1 {
			g.sgd(velocity, 0.05)
		}
	}

	mean, variance := floats(p.Lookup("bn1.running_mean").Value), floats(p.Lookup("bn1.running_var").Value)
	for c := range mean {
		near(t, fmt.Sprintf("running mean %d", c), float64(mean[c]), want.RunningMeanBN1[c], 1e-5)
		near(t, fmt.Sprintf("running variance %d", c), float64(variance[c]), want.RunningVarBN1[c], 1e-5)
	}
	eval := newGraph(t, model, &p, 4, nn.Config{Pool: pool})
	eval.setBatch()
	eval.run(t)
	for i, v := range floats(eval.machine.Value(eval.logits)) {
		near(t, fmt.Sprintf("evaluation logit %d", i), float64(v), want.EvalLogits[i], 5e-3)
	}
}
