// Command compare times training steps of models in PyTorch and here, in turns, and prints a table in
// Markdown: of each model the median and the best over all rounds.
//
//	apt-get install -y --no-install-recommends python3-torch libopenblas0-pthread
//	go run ./internal/kernel/compare -rounds 5
//	go run ./internal/kernel/compare -rounds 5 -transformers 4,256,4,128,8192 -batch 16 -transformer-peer FILE.py
//
// Leave the machine alone while it runs. The peer of the CIFAR ResNets is torch_resnet.py beside this
// file; it has the network, the optimizer and the warm-up of reprise bench step. That of language
// models is a script that takes layers, width, heads, context, vocabulary, batch and threads as its
// arguments, and prints tokens_per_second and tokens_per_second_best as JSON; it decides itself how
// long it measures.
package main

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
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
	transformers := flag.String("transformers", "", "language models to time instead: layers,width,heads,context,vocabulary of each, with semicolons between")
	script := flag.String("transformer-peer", "", "script that times a language model in PyTorch")
	flag.IntVar(&c.rounds, "rounds", 5, "times that each is timed")
	flag.IntVar(&c.batch, "batch", 128, "rows of a step")
	flag.IntVar(&c.threads, "threads", 2, "threads that compute")
	flag.Float64Var(&c.seconds, "seconds", 5, "time of each measurement")
	flag.StringVar(&c.python, "python", "/usr/bin/python3", "interpreter that has PyTorch")
	flag.Float64Var(&c.peak, "peak", 265, "GFLOP/s of multiply-adds that one thread can reach at most: what BenchmarkTile measures")
	flag.Parse()
	if err := c.choose(*depths, *transformers, *script); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(2)
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
	unit                   string // that is counted; empty means examples
	rows                   []row
}

// row is one model, and what was measured of it.
type row struct {
	name, model  string        // in the table, and of reprise bench step
	peer         []string      // script and arguments
	theirs, ours []measurement // one a round
}

// measurement is what both sides print; each has fields of its own.
type measurement struct {
	Peer       string  `json:"peer"`
	Kernel     string  `json:"kernel"`
	Median     float64 `json:"examples_per_second"`
	Best       float64 `json:"examples_per_second_best"`
	Tokens     float64 `json:"tokens_per_second"`
	TokensBest float64 `json:"tokens_per_second_best"`
	GFLOPS     float64 `json:"gflops"`
}

// choose makes the rows: ResNets of these depths, or language models where
// any are named.
func (c *comparison) choose(depths, transformers, script string) error {
	if c.rounds < 1 {
		return fmt.Errorf("-rounds is %d, want at least 1", c.rounds)
	}
	batch, threads := strconv.Itoa(c.batch), strconv.Itoa(c.threads)
	if transformers == "" {
		for d := range strings.SplitSeq(depths, ",") {
			if _, err := strconv.Atoi(d); err != nil {
				return fmt.Errorf("-depths is %q, want depths such as 8,20,32", depths)
			}
			c.rows = append(c.rows, row{name: "ResNet-" + d, model: "resnet_cifar:depth=" + d,
				peer: []string{resNetPeer, "--depth", d, "--batch", batch, "--threads", threads, "--seconds", fmt.Sprint(c.seconds)}})
		}
		return nil
	}
	if script == "" {
		return errors.New("-transformers wants -transformer-peer, the script that times them in PyTorch")
	}
	c.unit = "tokens"
	for text := range strings.SplitSeq(transformers, ";") {
		v := strings.Split(text, ",")
		for _, n := range v {
			if i, err := strconv.Atoi(n); err != nil || i < 1 || len(v) != 5 {
				return fmt.Errorf("-transformers has %q, want layers,width,heads,context,vocabulary such as 4,256,4,128,8192", text)
			}
		}
		c.rows = append(c.rows, row{
			name:  fmt.Sprintf("%s layers, %s wide, %s heads, context %s, vocabulary %s", v[0], v[1], v[2], v[3], v[4]),
			model: fmt.Sprintf("transformer:layers=%s,width=%s,heads=%s,context=%s,vocab=%s", v[0], v[1], v[2], v[3], v[4]),
			peer:  append(append([]string{script}, v...), batch, threads),
		})
	}
	return nil
}

// resNetPeer is the name of the peer beside this file, where it is run.
const resNetPeer = "torch_resnet.py"

func (c *comparison) run() error {
	dir, err := os.MkdirTemp("", "compare-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	reprise, script := filepath.Join(dir, "reprise"), filepath.Join(dir, resNetPeer)
	if err := os.WriteFile(script, peer, 0o600); err != nil {
		return err
	}
	build := exec.Command("go", "build", "-o", reprise, "github.com/reprise-ml/reprise/cmd/reprise")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("building reprise: %w", err)
	}
	for round := range c.rounds {
		for i := range c.rows {
			r := &c.rows[i]
			theirs := func() error {
				args := slices.Clone(r.peer)
				if args[0] == resNetPeer {
					args[0] = script
				}
				return c.measure(&r.theirs, c.python, args...)
			}
			ours := func() error {
				return c.measure(&r.ours, reprise, "bench", "step", "--json", "--model", r.model,
					"--batch", strconv.Itoa(c.batch), "--threads", strconv.Itoa(c.threads), "--seconds", fmt.Sprint(c.seconds))
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
			fmt.Fprintf(os.Stderr, "round %d of %d, %s: PyTorch %.1f, Reprise %.1f %s/s\n",
				round+1, c.rounds, r.model, r.theirs[round].Median, r.ours[round].Median, c.units())
		}
	}
	return nil
}

// measure runs one side and appends what it prints.
func (c *comparison) measure(to *[]measurement, name string, args ...string) error {
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
	if c.unit == "tokens" {
		m.Median, m.Best = m.Tokens, m.TokensBest
	}
	if m.Median <= 0 || m.Best <= 0 {
		return fmt.Errorf("%s: printed no %s per second", cmd, c.units())
	}
	*to = append(*to, m)
	return nil
}

func (c *comparison) units() string { return cmp.Or(c.unit, "examples") }

// write writes the table.
func (c *comparison) write(w io.Writer) {
	first := c.rows[0]
	fmt.Fprintf(w, "%s per second in training, median and best of %d rounds of %g s in turns: batch %d, %d threads.\n", strings.ToUpper(c.units()[:1])+c.units()[1:], c.rounds, c.seconds, c.batch, c.threads)
	fmt.Fprintf(w, "Peer: %s. Our kernels: %s. Peak: %g GFLOP/s of multiply-adds a thread.\n\n", first.theirs[0].Peer, first.ours[0].Kernel, c.peak)
	fmt.Fprintln(w, "| model | peer: median | best | Reprise: median | best | median/median | best/best | GFLOP/s | of the peak |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|")
	median := func(m measurement) float64 { return m.Median }
	best := func(m measurement) float64 { return m.Best }
	for _, r := range c.rows {
		theirs, ours := middle(r.theirs, median), middle(r.ours, median)
		theirBest, ourBest := largest(r.theirs, best), largest(r.ours, best)
		rate := middle(r.ours, func(m measurement) float64 { return m.GFLOPS })
		fmt.Fprintf(w, "| %s | %.0f | %.0f | %.0f | %.0f | %.2fx | %.2fx | %.1f | %.0f %% |\n",
			r.name, theirs, theirBest, ours, ourBest, ours/theirs, ourBest/theirBest, rate, 100*rate/c.peak/float64(c.threads))
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
