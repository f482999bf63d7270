package train_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reprise-ml/reprise/internal/safetensors"
	"github.com/reprise-ml/reprise/models"
	"github.com/reprise-ml/reprise/nn"
	"github.com/reprise-ml/reprise/train"
)

func TestWeightsSurviveAFileBitForBit(t *testing.T) {
	l := residual(t)
	b := images(4, 1)
	learn(t, l, 2, b)
	odd := l.Params.Lookup("fc.bias").Value.Float32s()
	odd[0], odd[1] = float32(math.Copysign(0, -1)), math.SmallestNonzeroFloat32
	path := filepath.Join(t.TempDir(), "model.safetensors")
	if err := train.Save(path, &l.Params, map[string]string{"step": "2"}); err != nil {
		t.Fatal(err)
	}

	other := residual(t)
	other.Build.Seed = 99
	if err := other.Prepare(b); err != nil {
		t.Fatal(err)
	}
	if furthest(t, other.Params.Export(), l.Params.Export()) == 0 {
		t.Fatal("both have the same weights already")
	}
	if err := train.Load(path, &other.Params); err != nil {
		t.Fatal(err)
	}
	same(t, "after a file", other.Params.Export(), l.Params.Export())
	mine, err := l.Evaluate(t.Context(), batches(b), nil)
	if err != nil {
		t.Fatal(err)
	}
	if theirs, err := other.Evaluate(t.Context(), batches(b), nil); err != nil || theirs.Loss != mine.Loss {
		t.Errorf("with the weights loaded the loss is %g, want %g (%v)", theirs.Loss, mine.Loss, err)
	}
}

func TestAFileHasTheNamesAndLayoutOfPyTorch(t *testing.T) {
	l := residual(t)
	if err := l.Prepare(images(4, 1)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "model.safetensors")
	if err := train.Save(path, &l.Params, map[string]string{"format": "pt"}); err != nil {
		t.Fatal(err)
	}
	f, err := safetensors.ReadFile(path)
	if err != nil || f.Metadata["format"] != "pt" {
		t.Fatalf("%v, the header says %v", err, f.Metadata)
	}
	stored := map[string]safetensors.Tensor{}
	for _, w := range f.Tensors {
		stored[w.Name] = w
	}
	for name, shape := range map[string][]int{
		"conv1.weight":             {16, 3, 3, 3},
		"bn1.running_mean":         {16},
		"layer2.0.conv1.weight":    {32, 16, 3, 3},
		"layer3.0.bn2.running_var": {64},
		"layer3.0.bn2.weight":      {64},
		"fc.weight":                {2, 64},
		"fc.bias":                  {2},
	} {
		if !slices.Equal(stored[name].Shape, shape) {
			t.Errorf("%s has shape %v, want %v", name, stored[name].Shape, shape)
		}
	}
	// in memory [kernel height, kernel width, in, out], in the file [out, in, kernel height, kernel width]
	memory := l.Params.Lookup("layer2.0.conv1.weight").Value.Float32s()
	for out := range 32 {
		for in := range 16 {
			for y := range 3 {
				for x := range 3 {
					got := stored["layer2.0.conv1.weight"].Data[((out*16+in)*3+y)*3+x]
					if want := memory[((y*3+x)*16+in)*32+out]; got != want {
						t.Fatalf("layer2.0.conv1.weight[%d,%d,%d,%d] is %g in the file, %g in memory", out, in, y, x, got, want)
					}
				}
			}
		}
	}
	for i, w := range l.Params.Export() {
		if f.Tensors[i].Name != w.Name || !slices.Equal(f.Tensors[i].Shape, w.Shape) || !slices.Equal(f.Tensors[i].Data, w.Data) {
			t.Errorf("%s in the file is not what Export gives", w.Name)
		}
	}
}

// store writes tensors as another program would.
func store(t *testing.T, tensors ...safetensors.Tensor) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "given.safetensors")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := safetensors.Write(f, safetensors.File{Tensors: tensors}); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAFileMustFitTheModel(t *testing.T) {
	weight := safetensors.Tensor{Name: "1.weight", Shape: []int{3, 2}, Data: []float32{1, 2, 3, 4, 5, 6}}
	bias := safetensors.Tensor{Name: "1.bias", Shape: []int{3}, Data: []float32{7, 8, 9}}
	counter := safetensors.Tensor{Name: "bn1.num_batches_tracked", Data: []float32{5}}
	extra := safetensors.Tensor{Name: "fc.weight", Shape: []int{1}, Data: []float32{1}}
	turned := safetensors.Tensor{Name: "1.weight", Shape: []int{2, 3}, Data: weight.Data}
	for _, c := range []struct {
		name    string
		tensors []safetensors.Tensor
		want    []string // in the error; none means it fits
	}{
		{"fits in any order", []safetensors.Tensor{bias, weight}, nil},
		{"fits with PyTorch's counters", []safetensors.Tensor{weight, bias, counter}, nil},
		{"lacks one", []safetensors.Tensor{weight}, []string{"missing 1.bias"}},
		{"has one too many", []safetensors.Tensor{weight, bias, extra}, []string{"unexpected fc.weight"}},
		{"lacks and has others", []safetensors.Tensor{extra}, []string{"missing 1.weight", "missing 1.bias", "unexpected fc.weight"}},
		{"is of another shape", []safetensors.Tensor{turned, bias}, []string{"1.weight has shape [2 3], want [3 2]"}},
		{"is empty", nil, []string{"missing 1.weight", "missing 1.bias"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := perceptron()
			l.Model = models.MLP(nil, 3)
			if err := l.Prepare(points(4, 1)); err != nil {
				t.Fatal(err)
			}
			before := l.Params.Export()
			path := store(t, c.tensors...)
			err := train.Load(path, &l.Params)
			if c.want == nil {
				if err != nil || !slices.Equal(l.Params.Lookup("1.weight").Value.Float32s(), weight.Data) {
					t.Errorf("%v, the weight is %v", err, l.Params.Lookup("1.weight").Value)
				}
				return
			}
			if err == nil || !strings.HasPrefix(err.Error(), "train: loading weights from "+path) {
				t.Fatalf("the error is %v", err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error %q does not say %q", err, want)
				}
			}
			same(t, "after a file that does not fit", l.Params.Export(), before)
		})
	}
}

func TestAFileOfAnotherDepthIsRefused(t *testing.T) {
	l := residual(t)
	if err := l.Prepare(images(4, 1)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "8.safetensors")
	if err := train.Save(path, &l.Params, nil); err != nil {
		t.Fatal(err)
	}
	deeper := residual(t)
	m, err := models.ResNetCIFAR(14, 2)
	if err != nil {
		t.Fatal(err)
	}
	deeper.Model = m
	if err := deeper.Prepare(images(4, 1)); err != nil {
		t.Fatal(err)
	}
	if err := train.Load(path, &deeper.Params); err == nil || !strings.Contains(err.Error(), "missing layer1.1.conv1.weight") || strings.Contains(err.Error(), "unexpected") {
		t.Errorf("the error is %v", err)
	}
}

func TestAFileThatIsNoneIsAnErrorThatNamesIt(t *testing.T) {
	var p nn.Params
	folder := t.TempDir()
	text := filepath.Join(folder, "text")
	if err := os.WriteFile(text, []byte("no weights here, only words"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(folder, "absent"), text} {
		if err := train.Load(path, &p); err == nil || !strings.HasPrefix(err.Error(), "train: loading weights: ") || !strings.Contains(err.Error(), path) {
			t.Errorf("the error is %v", err)
		}
	}
	if err := train.Save(filepath.Join(folder, "absent", "x"), &p, nil); err == nil {
		t.Error("a folder was made up")
	}
}

// Weights go from one Learner to another through a file that PyTorch reads too.
func ExampleSave() {
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "model.safetensors")

	trained, fresh := perceptron(), perceptron()
	enough := func(p train.Progress) bool { return p.Steps >= 2 }
	if _, err := train.Run(context.Background(), train.Progress{}, trained, batches(points(8, 1), points(8, 2)), enough); err != nil {
		fmt.Println(err)
		return
	}
	if err := train.Save(path, &trained.Params, map[string]string{"format": "pt"}); err != nil {
		fmt.Println(err)
		return
	}
	if err := fresh.Prepare(points(8, 1)); err != nil { // the model tells which weights there are
		fmt.Println(err)
		return
	}
	if err := train.Load(path, &fresh.Params); err != nil {
		fmt.Println(err)
		return
	}
	for i, w := range fresh.Params.Export() {
		fmt.Println(w.Name, w.Shape, slices.Equal(w.Data, trained.Params.Export()[i].Data))
	}
	// Output:
	// 1.weight [16 2] true
	// 1.bias [16] true
	// 3.weight [3 16] true
	// 3.bias [3] true
}
