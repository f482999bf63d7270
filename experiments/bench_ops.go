package experiments

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/reprise-ml/reprise/internal/exec"
	"github.com/reprise-ml/reprise/nn/op"
)

// opTimes groups what was timed in so many steps.
func opTimes(trace *exec.Trace, update time.Duration, steps []time.Duration) []OpTime {
	n := float64(len(steps))
	var whole time.Duration
	for _, t := range steps {
		whole += t
	}
	rest := whole - update
	groups := map[string]*OpTime{}
	for _, s := range trace.Steps {
		name, _, _ := strings.Cut(s.Op.String(), "[")
		m, multiplies := s.Op.(op.Multiplier)
		if multiplies {
			name += " " + m.Geometry()
		}
		g := groups[name]
		if g == nil {
			g = &OpTime{Op: name}
			groups[name] = g
		}
		g.Count++
		g.Seconds += s.Elapsed.Seconds() / n
		if multiplies {
			g.GFLOPS += float64(m.FLOPs()) / 1e9 // a step, until the end
		}
		rest -= s.Elapsed
	}
	ops := []OpTime{
		{Op: "update", Count: 1, Seconds: update.Seconds() / n},
		{Op: "rest", Count: 1, Seconds: rest.Seconds() / n},
	}
	for _, g := range groups {
		if g.GFLOPS /= g.Seconds; g.Seconds == 0 {
			g.GFLOPS = 0
		}
		ops = append(ops, *g)
	}
	for i := range ops {
		ops[i].Share = ops[i].Seconds * n / whole.Seconds()
	}
	slices.SortFunc(ops, func(a, b OpTime) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), strings.Compare(a.Op, b.Op))
	})
	return ops
}

// Write writes t for people, at most 80 columns wide.
func (t StepTimes) Write(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: batch %d, threads %d, kernels %s\n", t.Model, t.Batch, t.Threads, t.Kernel)
	fmt.Fprintf(&b, "  step        %.4g s median, %.4g s least, of %d steps\n", t.StepSeconds.Median, t.StepSeconds.Min, t.steps)
	fmt.Fprintf(&b, "  examples/s  %.1f median, %.1f best\n", t.ExamplesPerSecond, t.ExamplesPerSecondBest)
	if t.TokensPerSecond > 0 {
		fmt.Fprintf(&b, "  tokens/s    %.0f median, %.0f best\n", t.TokensPerSecond, t.TokensPerSecondBest)
	}
	fmt.Fprintf(&b, "  GFLOP/s     %.1f\n", t.GFLOPS)
	fmt.Fprintf(&b, "  memory      %.3g allocations a step, %v at the peak\n", t.AllocsPerStep, Bytes(t.PeakRSS))
	if len(t.Ops) > 0 {
		grid := [][]string{{"operation", "count", "ms", "share", "GFLOP/s"}}
		for _, o := range t.Ops {
			rate := ""
			if o.GFLOPS > 0 {
				rate = fmt.Sprintf("%.1f", o.GFLOPS)
			}
			grid = append(grid, []string{o.Op, fmt.Sprint(o.Count), fmt.Sprintf("%.3f", 1e3*o.Seconds), fmt.Sprintf("%.1f %%", 100*o.Share), rate})
		}
		b.WriteString("\n")
		align(&b, grid)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
