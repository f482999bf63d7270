package models

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/reprise-ml/reprise/internal/kernel"
	"github.com/reprise-ml/reprise/nn"
	"github.com/reprise-ml/reprise/train"
)

// torchvision is what PyTorch computed for a ResNet: see testdata/resnet.py.
type torchvision struct {
	gold
	State map[string][]int // shape of every entry of the state dict
}

func readTorchvision(t *testing.T, depth int) (g torchvision) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("testdata/resnet%d.json", depth))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &g); err != nil {
		t.Fatal(err)
	}
	return g
}

func imageNet(t *testing.T, depth, classes int) nn.Model {
	t.Helper()
	m, err := ResNet(depth, classes)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestResNetHasThePublishedNumberOfParameters(t *testing.T) {
	for depth, want := range map[int]int{18: 11689512, 34: 21797672, 50: 25557032} {
		if got := params(t, imageNet(t, depth, 1000)).Count(); got != want {
			t.Errorf("ResNet-%d has %d parameters, published are %d", depth, got, want)
		}
	}
}

func TestResNetRefusesOtherDepths(t *testing.T) {
	for _, depth := range []int{0, 8, 20, 101, 152} {
		if _, err := ResNet(depth, 10); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("not %d", depth)) {
			t.Errorf("depth %d: error %v", depth, err)
		}
	}
	if _, err := ResNet(50, 0); err == nil {
		t.Error("no classes, and no error")
	}
}

// The gold values were computed in float64; ours are float32.
func TestResNetsAgreeWithPyTorch(t *testing.T) {
	pool := kernel.NewPool(2)
	defer pool.Close()
	for _, depth := range []int{18, 50} {
		t.Run(fmt.Sprint(depth), func(t *testing.T) {
			want := readTorchvision(t, depth)
			model := imageNet(t, depth, 10)
			var p nn.Params
			eval := newGraphOf(t, model, &p, 2, 40, nn.Config{Pool: pool})
			setWeights(t, &p)
			eval.setBatchOf(want.Input)
			eval.run(t)
			for i, v := range floats(eval.machine.Value(eval.logits)) {
				near(t, fmt.Sprintf("evaluation logit %d", i), float64(v), want.EvalLogits[i], 1e-4)
			}

			g := newGraphOf(t, model, &p, 2, 40, nn.Config{Train: true, Pool: pool})
			g.setBatchOf(want.Input)
			near(t, "loss", g.run(t), want.Losses[0], 1e-4)
			for i, v := range floats(g.machine.Value(g.logits)) {
				near(t, fmt.Sprintf("logit %d", i), float64(v), want.Logits[i], 1e-4)
			}
			nearGradients(t, g, want.gold, 1e-4)
			mean, variance := floats(p.Lookup("bn1.running_mean").Value), floats(p.Lookup("bn1.running_var").Value)
			for c := range mean {
				near(t, fmt.Sprintf("running mean %d", c), float64(mean[c]), want.RunningMeanBN1[c], 1e-5)
				near(t, fmt.Sprintf("running variance %d", c), float64(variance[c]), want.RunningVarBN1[c], 1e-5)
			}
		})
	}
}

// measures returns the norm of a gradient, and its product with numbers of the formula in PyTorch's
// order.
func measures(name string, grad gorgonia.Value) (norm, product float64) {
	g := floats(grad)
	u := formula("gradient of "+name, len(g))
	for i, v := range g {
		norm += float64(v) * float64(v)
		product += float64(v) * u[outsideAt(grad.Shape(), i)]
	}
	return math.Sqrt(norm), product
}

// outsideAt returns where PyTorch has value i of a weight of the given shape of ours: the weight of
// a convolution is [height, width, in, out] here and [out, in, height, width] there.
func outsideAt(shape []int, i int) int {
	if len(shape) != 4 {
		return i
	}
	pixels, in, out := shape[0]*shape[1], shape[2], shape[3]
	return (i%out*in+i/out%in)*pixels + i/out/in
}

func TestTorchvisionsWeightsLoad(t *testing.T) {
	want := readTorchvision(t, 50)
	path := filepath.Join(t.TempDir(), "resnet50.safetensors")
	writeState(t, path, want.State)
	p := params(t, imageNet(t, 50, 10))
	if err := train.Load(path, p); err != nil {
		t.Fatal(err)
	}
	loaded := 0
	for _, w := range p.Export() {
		for i, u := range formula(w.Name, len(w.Data)) {
			if w.Data[i] != float32(u) {
				t.Fatalf("%s: value %d is %v, the file has %v", w.Name, i, w.Data[i], float32(u))
			}
		}
		loaded++
	}
	counters := 0
	for name := range want.State {
		if strings.HasSuffix(name, "num_batches_tracked") {
			counters++
		}
	}
	if counters == 0 || loaded != len(want.State)-counters {
		t.Errorf("%d tensors of %d loaded, of which %d are counters", loaded, len(want.State), counters)
	}
}

func TestWeightsThatDoNotFitAreNamed(t *testing.T) {
	state := readTorchvision(t, 18).State
	delete(state, "layer2.0.downsample.1.running_var")
	delete(state, "layer3.1.bn2.num_batches_tracked") // nobody misses it
	state["layer2.0.shortcut.weight"] = []int{3}
	state["fc.weight"] = []int{1000, 512}
	path := filepath.Join(t.TempDir(), "resnet18.safetensors")
	writeState(t, path, state)
	p := params(t, imageNet(t, 18, 10))
	before := p.Export()
	err := train.Load(path, p)
	if err == nil {
		t.Fatal("no error")
	}
	for _, part := range []string{path, "missing layer2.0.downsample.1.running_var", "unexpected layer2.0.shortcut.weight", "fc.weight has shape [1000 512], want [10 512]"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not say %q: %v", part, err)
		}
	}
	if strings.Contains(err.Error(), "num_batches_tracked") || strings.Count(err.Error(), ";") != 2 {
		t.Errorf("the error says more: %v", err)
	}
	for i, w := range p.Export() {
		if !slices.Equal(w.Data, before[i].Data) {
			t.Errorf("%s was overwritten", w.Name)
		}
	}
}

// writeState writes a safetensors file as PyTorch's users do: float32 by the formula, and the
// counters of batches as integers without dimensions.
func writeState(t *testing.T, path string, state map[string][]int) {
	t.Helper()
	var data bytes.Buffer
	header := map[string]any{"__metadata__": map[string]string{"format": "pt"}}
	for name, shape := range state {
		from, kind := data.Len(), "F32"
		if strings.HasSuffix(name, "num_batches_tracked") {
			kind = "I64"
			data.Write(binary.LittleEndian.AppendUint64(nil, 5000))
		} else {
			n := 1
			for _, d := range shape {
				n *= d
			}
			raw := data.AvailableBuffer()
			for _, u := range formula(name, n) {
				raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(float32(u)))
			}
			data.Write(raw)
		}
		header[name] = map[string]any{"dtype": kind, "shape": shape, "data_offsets": []int{from, data.Len()}}
	}
	text, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	file := append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
	if err := os.WriteFile(path, append(file, data.Bytes()...), 0o644); err != nil {
		t.Fatal(err)
	}
}
