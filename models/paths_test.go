package models

import (
	"encoding/gob"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/reprise-ml/reprise/internal/kernel"
	"github.com/reprise-ml/reprise/nn"
)

const (
	pathSteps  = 50
	pathRows   = 3
	pathSize   = 24
	pathRate   = 0.01
	pathMargin = 1e-5
	pathFolder = "REPRISE_TEST_PATH_FOLDER" // set: the test is a child and leaves its results there
)

// trajectory is a training on the fastest path: at every step its batch and the weights before it.
type trajectory struct {
	Batches []string
	Weights [][][]float32
}

// followed is what one path computed.
type followed struct {
	Path      string
	Names     []string
	Gradients [][][]float32 // at the points of the trajectory
	Losses    []float64     // of a training of its own on the same batches
}

// A path is chosen once in a process, so the test runs itself anew for each. The fastest path trains
// first and writes down batches and weights of its 50 steps. Then every path computes the gradients
// there, and trains by itself from the same start on the same batches.
//
// Paths round differently, by about 1e-6 in the input of a ReLU. Where such an input is closer to 0
// than that, two paths may see it on different sides, and gradients jump without any kernel being
// wrong: with batches as they come, by 4e-3 of their norm at step 88 of 300, and trainings part after
// 81 steps. So the batch of every step is the first by the formula that keeps the inputs of all ReLUs
// further from 0 than 1e-5 at the weights of that step, in a graph whose ReLUs are not fused. The
// fastest path alone decides that, before any other has computed anything, and all points are
// compared. Trainings of their own leave these weights a little; there only the losses are compared.
//
// The error is relative to the norm of a gradient, so that must not be a small rest. In a batch of 2
// the rows cancel in the gradient of fc.bias, down to 2e-3, of which the rounding of the softmax is
// 1e-4. Hence 3 rows.
func TestKernelPathsAgreeOnATrajectory(t *testing.T) {
	if folder := os.Getenv(pathFolder); folder != "" {
		followInChild(t, folder)
		return
	}
	everyPath(t)
}

// everyPath runs the test once for each path in a process of its own and compares what they left.
func everyPath(t *testing.T) {
	folder := t.TempDir()
	test := t.Name()
	var results []followed
	for _, path := range []kernel.Path{kernel.AVX512, kernel.AVX2, kernel.Generic} {
		t.Run(path.String(), func(t *testing.T) {
			if !slices.Contains(kernel.Paths(), path) {
				t.Skipf("this machine or build has no path %v, only %v", path, kernel.Paths())
			}
			got := runChild(t, test, folder, path)
			for _, other := range results {
				compareFollowed(t, got, other)
			}
			results = append(results, got)
		})
	}
}

// runChild runs a test in a process that takes the path.
func runChild(t *testing.T, test, folder string, path kernel.Path) (f followed) {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(binary, "-test.run=^"+test+"$", "-test.count=1")
	c.Env = append(os.Environ(), pathFolder+"="+folder, "REPRISE_KERNEL="+path.String())
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	readGob(t, filepath.Join(folder, path.String()), &f)
	if f.Path != path.String() {
		t.Fatalf("the child took the path %s", f.Path)
	}
	return f
}

func compareFollowed(t *testing.T, a, b followed) {
	t.Helper()
	if len(a.Gradients) != pathSteps || len(b.Gradients) != pathSteps || len(a.Losses) != pathSteps || len(b.Losses) != pathSteps || !slices.Equal(a.Names, b.Names) {
		t.Fatalf("%s and %s did not compute the same things", a.Path, b.Path)
	}
	var worst, worstLoss float64
	for step := range pathSteps {
		for i, name := range a.Names {
			e := distance(a.Gradients[step][i], b.Gradients[step][i])
			if !(e <= 1e-4) {
				t.Errorf("step %d: the gradient of %s differs from that of %s by %v of its norm", step, name, b.Path, e)
			}
			worst = max(worst, e)
		}
		e := math.Abs(a.Losses[step]-b.Losses[step]) / math.Abs(b.Losses[step])
		if !(e <= 1e-2) {
			t.Errorf("step %d: the loss is %v, that of %s is %v", step, a.Losses[step], b.Path, b.Losses[step])
		}
		worstLoss = max(worstLoss, e)
	}
	t.Logf("%s and %s: gradients differ by at most %.1e, losses by at most %.1e, the last is %.4f", a.Path, b.Path, worst, worstLoss, a.Losses[pathSteps-1])
}

// distance is the norm of a - b relative to that of b.
func distance(a, b []float32) float64 {
	var difference, norm float64
	for i, v := range b {
		d := float64(a[i]) - float64(v)
		difference += d * d
		norm += float64(v) * float64(v)
	}
	return math.Sqrt(difference / norm)
}

// followInChild computes what the active path has at the points of the trajectory, which the fastest
// path makes.
func followInChild(t *testing.T, folder string) {
	pool := kernel.NewPool(2)
	defer pool.Close()
	var p nn.Params
	g := newGraphOf(t, resNet(t, 8), &p, pathRows, pathSize, nn.Config{Train: true, Pool: pool})
	var line trajectory
	file := filepath.Join(folder, "trajectory")
	if paths := kernel.Paths(); kernel.ActivePath() == paths[len(paths)-1] {
		setWeights(t, &p)
		line = newTrajectory(t, g, newProbe(t, &p, g, pool))
		writeGob(t, file, line)
	} else {
		readGob(t, file, &line)
	}

	out := followed{Path: kernel.ActivePath().String()}
	for _, n := range g.weights {
		out.Names = append(out.Names, n.Name())
	}
	for step, batch := range line.Batches {
		for i, n := range g.weights {
			copy(floats(n.Value()), line.Weights[step][i])
		}
		g.setBatchOf(batch)
		g.run(t)
		var grads [][]float32
		for _, n := range g.grads {
			grads = append(grads, slices.Clone(floats(g.machine.Value(n))))
		}
		out.Gradients = append(out.Gradients, grads)
	}

	setWeights(t, &p)
	velocity := map[string][]float32{}
	for _, batch := range line.Batches {
		g.setBatchOf(batch)
		out.Losses = append(out.Losses, g.run(t))
		g.sgd(velocity, pathRate)
	}
	writeGob(t, filepath.Join(folder, out.Path), out)
}

// newTrajectory trains g and returns where it was.
func newTrajectory(t *testing.T, g *graph, near *probe) (line trajectory) {
	velocity := map[string][]float32{}
	batch, tried := "", 0
	for range pathSteps {
		for {
			batch = fmt.Sprintf("batch %d", tried)
			tried++
			g.setBatchOf(batch)
			if near.margin(t) > pathMargin {
				break
			}
			if tried > 40*pathSteps {
				t.Fatal("hardly any batch keeps the ReLUs away from 0")
			}
		}
		var weights [][]float32
		for _, n := range g.weights {
			weights = append(weights, slices.Clone(floats(n.Value())))
		}
		line.Batches, line.Weights = append(line.Batches, batch), append(line.Weights, weights)
		loss := g.run(t)
		if e := math.Abs(loss - near.loss()); e > 1e-5 {
			t.Fatalf("the graph of the probe is another one: its loss differs by %v", e)
		}
		g.sgd(velocity, pathRate)
	}
	t.Logf("%d batches were tried", tried)
	return line
}

func writeGob(t *testing.T, path string, v any) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := gob.NewEncoder(f).Encode(v); err != nil {
		t.Fatal(err)
	}
}

func readGob(t *testing.T, path string, v any) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := gob.NewDecoder(f).Decode(v); err != nil {
		t.Fatal(err)
	}
}
