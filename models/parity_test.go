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

// gold is what PyTorch computed: see testdata/resnet_cifar.py and testdata/resnet.py.
type gold struct {
	Input          string // name of the batch in the formula
	Rows           int
	Logits         []float64
	Losses         []float64
	GradNorms      map[string]float64 `json:"grad_norms"`
	GradProducts   map[string]float64 `json:"grad_products"`
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

// nearGradients compares norm and product of every gradient, relative to the norm.
func nearGradients(t *testing.T, g *graph, want gold, tolerance float64) {
	t.Helper()
	if len(want.GradNorms) != len(g.weights) {
		t.Errorf("%d weights, PyTorch has %d", len(g.weights), len(want.GradNorms))
	}
	for i, n := range g.weights {
		norm, product := measures(n.Name(), g.machine.Value(g.grads[i]))
		size := want.GradNorms[n.Name()]
		e := max(math.Abs(norm-size), math.Abs(product-want.GradProducts[n.Name()])) / size
		if !(e <= tolerance) {
			t.Errorf("the gradient of %s is off by %v of its norm", n.Name(), e)
		}
	}
}

// The gold values were computed in float64; ours are float32. Rounding grows in training: it is
// largest in the logits of evaluation, after five steps.
func TestResNetsForCIFARTrainAsInPyTorch(t *testing.T) {
	pool := kernel.NewPool(2)
	defer pool.Close()
	for _, depth := range []int{8, 20} {
		t.Run(fmt.Sprint(depth), func(t *testing.T) {
			want := readGold(t, fmt.Sprintf("testdata/resnet%d.json", depth))
			model := resNet(t, depth)
			var p nn.Params
			g := newGraph(t, model, &p, want.Rows, nn.Config{Train: true, Pool: pool})
			setWeights(t, &p)
			g.setBatchOf(want.Input)

			velocity := map[string][]float32{}
			for step, loss := range want.Losses {
				near(t, fmt.Sprintf("loss after %d steps", step), g.run(t), loss, 1e-4)
				if step == 0 {
					for i, v := range floats(g.machine.Value(g.logits)) {
						near(t, fmt.Sprintf("logit %d", i), float64(v), want.Logits[i], 1e-5)
					}
					nearGradients(t, g, want, 1e-5)
				}
				if step < len(want.Losses)-1 {
					g.sgd(velocity, 0.05)
				}
			}

			mean, variance := floats(p.Lookup("bn1.running_mean").Value), floats(p.Lookup("bn1.running_var").Value)
			for i := range mean {
				near(t, fmt.Sprintf("running mean %d", i), float64(mean[i]), want.RunningMeanBN1[i], 1e-5)
				near(t, fmt.Sprintf("running variance %d", i), float64(variance[i]), want.RunningVarBN1[i], 1e-5)
			}
			eval := newGraph(t, model, &p, want.Rows, nn.Config{Pool: pool})
			eval.setBatchOf(want.Input)
			eval.run(t)
			for i, v := range floats(eval.machine.Value(eval.logits)) {
				near(t, fmt.Sprintf("evaluation logit %d", i), float64(v), want.EvalLogits[i], 5e-3)
			}
		})
	}
}
