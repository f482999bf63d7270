package models

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/reprise-ml/reprise/internal/kernel"
	"github.com/reprise-ml/reprise/nn"
)

// As TestKernelPathsAgreeOnATrajectory, but GELU has no kinks to keep away from.
func TestKernelPathsAgreeOnATransformer(t *testing.T) {
	folder := os.Getenv(pathFolder)
	if folder == "" {
		everyPath(t)
		return
	}
	pool := kernel.NewPool(2)
	defer pool.Close()
	var p nn.Params
	m := small
	m.Width, m.Heads, m.Dropout = 40, 2, 0.1
	g := language(t, m, &p, nn.Config{Train: true, Pool: pool, Seed: 1})
	out := followed{Path: kernel.ActivePath().String()}
	for _, n := range g.weights {
		out.Names = append(out.Names, n.Name())
	}
	file := filepath.Join(folder, "trajectory")
	var line trajectory
	train := func(each func()) {
		setWeights(t, &p)
		velocity := map[string][]float32{}
		for step := range pathSteps {
			each()
			g.ticker.Tick = uint64(step)
			out.Losses = append(out.Losses, g.run(t))
			g.sgd(velocity, pathRate/2)
		}
	}
	if paths := kernel.Paths(); kernel.ActivePath() == paths[len(paths)-1] {
		train(func() {
			var weights [][]float32
			for _, n := range g.weights {
				weights = append(weights, slices.Clone(floats(n.Value())))
			}
			line.Weights = append(line.Weights, weights)
		})
		writeGob(t, file, line)
	} else {
		readGob(t, file, &line)
		train(func() {})
	}
	for step, weights := range line.Weights {
		for i, n := range g.weights {
			copy(floats(n.Value()), weights[i])
		}
		g.ticker.Tick = uint64(step)
		g.run(t)
		var grads [][]float32
		for _, n := range g.grads {
			grads = append(grads, slices.Clone(floats(g.machine.Value(n))))
		}
		out.Gradients = append(out.Gradients, grads)
	}
	writeGob(t, filepath.Join(folder, out.Path), out)
}
