// Command compare times training steps of CIFAR ResNets in PyTorch and here, in turns, and prints a
// table in Markdown: of each model the median and the best over all rounds.
//
//	apt-get install -y --no-install-recommends python3-torch libopenblas0-pthread
//	go run ./internal/kernel/compare -rounds 5
//
// Leave the machine alone while it runs. The peer is torch_resnet.py beside this file; it has the
// network, the optimizer and the warm-up of reprise bench step.
package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

//go:embed torch_resnet.py
var peer []byte

func main() {
	var c comparison
	depths := flag.String("depths", "8,20,32", "ResNets to time")
	flag.IntVar(&c.rounds, "rounds", 5, "times that each is timed")
	flag.IntVar(&c.batch, "batch", 128, "rows of a step")
	flag.IntVar(&c.threads, "threads", 2, "threads that compute")
	flag.Float64Var(&c.seconds, "seconds", 5, "time of each measurement")
	flag.StringVar(&c.python, "python", "/usr/bin/python3", "interpreter that has PyTorch")
	flag.Float64Var(&c.peak, "peak", 175, "GFLOP/s of multiply-adds that one thread can reach at most")
	flag.Parse()
	for d := range strings.SplitSeq(*depths, ",") {
		depth, err := strconv.Atoi(d)
		if err != nil || c.rounds < 1 {
			fmt.Fprintf(os.Stderr, "compare: want depths such as 8,20,32 and at least one round\n")
			os.Exit(2)
		}
		c.rows = append(c.rows, row{depth: depth})
	}
	if err := c.run(); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
	c.write(os.Stdout)
}

type comparison struct {
	rounds, batch, threads int
	seconds, peak          float64
	python                 string
	rows                   []row
}

// row is what was measured of one model.
type row struct {
	depth        int
	theirs, ours []measurement // one a round
}

// measurement is what both sides print; each has fields of its own.
type measurement struct {
	Peer   string  `json:"peer"`
	Kernel string  `json:"kernel"`
	Median float64 `json:"examples_per_second"`
	Best   float64 `json:"examples_per_second_best"`
	GFLOPS float64 `json:"gflops"`
}

func (c *comparison) run() error {
	dir, err := os.MkdirTemp("", "compare-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	reprise, script := filepath.Join(dir, "reprise"), filepath.Join(dir, "torch_resnet.py")
	if err := os.WriteFile(script, peer, 0o600); err != nil {
		return err
	}
	build := exec.Command("go", "build", "-o", reprise, "github.com/reprise-ml/reprise/cmd/reprise")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("building reprise: %w", err)
	}
	common := []string{"--batch", strconv.Itoa(c.batch), "--threads", strconv.Itoa(c.threads), "--seconds", fmt.Sprint(c.seconds)}
	for round := range c.rounds {
		for i := range c.rows {
			r := &c.rows[i]
			theirs := func() error {
				args := append([]string{script, "--depth", strconv.Itoa(r.depth)}, common...)
				return measure(&r.theirs, c.python, args...)
			}
			ours := func() error {
				args := append([]string{"bench", "step", "--json", "--model", r.model()}, common...)
				return measure(&r.ours, reprise, args...)
			}
			first, second := theirs, ours
			if round%2 == 1 {
				first, second = ours, theirs
			}
			if err := first(); err != nil {
				return err
			}
			if err := second(); err != nil {
				return err
			}
			fmt.Fprintf(os.Stderr, "round %d of %d, %s: PyTorch %.1f, Reprise %.1f examples/s\n",
				round+1, c.rounds, r.model(), r.theirs[round].Median, r.ours[round].Median)
		}
	}
	return nil
}

// measure runs one side and appends what it prints.
func measure(to *[]measurement, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "OPENBLAS_CORETYPE=SkylakeX")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s: %w", cmd, err)
	}
	var m measurement
	if err := json.Unmarshal(bytes.TrimSpace(out), &m); err != nil {
		return fmt.Errorf("%s: %w", cmd, err)
	}
	*to = append(*to, m)
	return nil
}

func (r row) model() string { return fmt.Sprintf("resnet_cifar:depth=%d", r.depth) }

// write writes the table.
func (c *comparison) write(w io.Writer) {
	first := c.rows[0]
	fmt.Fprintf(w, "Examples per second in training, median and best of %d rounds of %g s in turns: batch %d, %d threads.\n", c.rounds, c.seconds, c.batch, c.threads)
	fmt.Fprintf(w, "Peer: %s. Our kernels: %s. Peak: %g GFLOP/s of multiply-adds a thread.\n\n", first.theirs[0].Peer, first.ours[0].Kernel, c.peak)
	fmt.Fprintln(w, "| model | peer: median | best | Reprise: median | best | median/median | best/best | GFLOP/s | of the peak |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|")
	median := func(m measurement) float64 { return m.Median }
	best := func(m measurement) float64 { return m.Best }
	for _, r := range c.rows {
		theirs, ours := middle(r.theirs, median), middle(r.ours, median)
		theirBest, ourBest := largest(r.theirs, best), largest(r.ours, best)
		rate := middle(r.ours, func(m measurement) float64 { return m.GFLOPS })
		fmt.Fprintf(w, "| ResNet-%d | %.0f | %.0f | %.0f | %.0f | %.2fx | %.2fx | %.1f | %.0f %% |\n",
			r.depth, theirs, theirBest, ours, ourBest, ours/theirs, ourBest/theirBest, rate, 100*rate/c.peak/float64(c.threads))
	}
}

// middle is the median of what of gives.
func middle(all []measurement, of func(measurement) float64) float64 {
	v := values(all, of)
	slices.Sort(v)
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

func largest(all []measurement, of func(measurement) float64) float64 {
	return slices.Max(values(all, of))
}

func values(all []measurement, of func(measurement) float64) []float64 {
	v := make([]float64, len(all))
	for i, m := range all {
		v[i] = of(m)
	}
	return v
}
