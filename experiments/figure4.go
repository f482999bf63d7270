package experiments

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reprise-ml/reprise/echo"
	"github.com/reprise-ml/reprise/train/report"
)

// Figure4 is a comparison as Figure 4 of the paper shows one: no echo, and example echo by several factors, behind a
// storage that makes the upstream R times as slow as the step. See arXiv 1907.05550, section 3.2.
type Figure4 struct {
	Target string     `json:"target"`
	TUp    float64    `json:"t_up"`   // seconds for a fresh batch, measured in the runs without echo
	TDown  float64    `json:"t_down"` // of a step, measured there too
	Bars   []EchoCost `json:"bars"`   // none first, then by factor
}

// R is the ratio of both sides.
func (f Figure4) R() float64 { return f.TUp / f.TDown }

// EchoCost is what training with a factor used up on the way to the target.
type EchoCost struct {
	Factor          float64 `json:"factor"`
	Fresh           Spread  `json:"fresh_examples"`  // its gain is the reduction
	Seconds         Spread  `json:"seconds"`         // its gain is the speed-up
	Each            float64 `json:"ms_per_fresh"`    // Seconds over Fresh
	PredictedEach   float64 `json:"predicted_ms"`    // max(t_up, factor·t_down), with the times measured without echo
	PredictedGain   float64 `json:"predicted_gain"`  // the reduction times none's PredictedEach over this one; absent for a bound
	PaperReduction  float64 `json:"paper_reduction"` // of ResNet-50 on ImageNet, R ≈ 6; absent where the paper has none
	PaperSpeedup    float64 `json:"paper_speed_up"`  // likewise
	PaperEachGrowth float64 `json:"paper_ms_growth"` // likewise: time per fresh example over that without echo
	EachGrowth      float64 `json:"measured_growth"` // Each over that without echo
}

// paperFigure4 are the reductions of fresh examples and of seconds by the factors 1 to 5, measured in the figure.
var paperFigure4 = [...][2]float64{{1, 1}, {1.90, 1.80}, {2.72, 2.44}, {3.72, 3.06}, {4.11, 3.25}}

// ReadTable reads the table of a comparison that has ended from its directory.
func ReadTable(dir string) (Table, error) {
	var t Table
	if err := report.ReadJSON(filepath.Join(dir, "table.json"), &t); err != nil {
		return t, fmt.Errorf("experiments: %s holds no comparison that has ended: %w", dir, err)
	}
	return t, nil
}

// Figure4 returns the rows none and example of a comparison to a target.
func (t Table) Figure4() (Figure4, error) {
	f := Figure4{Target: t.Target}
	if t.Target == "" {
		return f, errors.New("figure 4: the comparison has no target")
	}
	base := slices.IndexFunc(t.Rows, func(r Row) bool { return r.baseline() })
	if base < 0 {
		return f, errors.New("figure 4: the comparison has no row none")
	}
	none := t.Rows[base]
	batch := 0.
	for _, run := range none.Runs {
		if run.TUp == nil || run.TDown == nil || run.Steps == 0 {
			return f, fmt.Errorf("figure 4: the run %s has no t_up and t_down in its summary", run.Name)
		}
		share := 1 / float64(len(none.Runs))
		f.TUp += *run.TUp * share
		f.TDown += *run.TDown * share
		batch = float64(run.Examples) / float64(run.Steps)
	}
	fresh, wall := axisOf("fresh_examples"), axisOf("wall_seconds")
	var first EchoCost
	for _, row := range t.Rows {
		if !row.baseline() && (row.Arm != Arm{Strategy: echo.Example, Factor: row.Factor} || row.Factor == echo.Auto) {
			continue
		}
		c := EchoCost{Factor: float64(row.Factor), Fresh: t.used(row, fresh), Seconds: t.used(row, wall)}
		c.Each = 1000 * c.Seconds.Mean / c.Fresh.Mean
		c.PredictedEach = 1000 * max(f.TUp, c.Factor*f.TDown) / batch
		if row.baseline() {
			first = c
		}
		f.Bars = append(f.Bars, c)
	}
	for i := range f.Bars {
		c := &f.Bars[i]
		c.EachGrowth = c.Each / first.Each
		c.PredictedGain = c.Fresh.Gain * first.PredictedEach / c.PredictedEach
		if n := int(c.Factor); float64(n) == c.Factor && n <= len(paperFigure4) {
			p := paperFigure4[n-1]
			c.PaperReduction, c.PaperSpeedup, c.PaperEachGrowth = p[0], p[1], p[0]/p[1]
		}
	}
	if len(f.Bars) < 2 {
		return f, errors.New("figure 4: the comparison has no row example with a number as the factor")
	}
	slices.SortStableFunc(f.Bars, func(a, b EchoCost) int { return int(1000 * (a.Factor - b.Factor)) })
	return f, nil
}

// Write writes f for people, at most 80 columns wide.
func (f Figure4) Write(w io.Writer) error {
	b := &strings.Builder{}
	fmt.Fprintf(b, "Used up to reach %s, R = %.2f (t_up %.3g s, t_down %.3g s)\n\n", f.Target, f.R(), f.TUp, f.TDown)
	times := func(v float64) string {
		if v == 0 {
			return "?"
		}
		return fmt.Sprintf("%.2fx", v)
	}
	most := func(s Spread) string {
		if s.Bound {
			return "> " + number(s.Max)
		}
		return number(s.Max)
	}
	name := func(c EchoCost) string {
		if c.Factor == 1 {
			return "none"
		}
		return fmt.Sprintf("example ×%g", c.Factor)
	}
	fresh := [][]string{{"fresh examples", "mean", "min", "max", "reduction", "paper"}}
	wall := [][]string{{"seconds", "mean", "min", "max", "speed-up", "predicted", "paper"}}
	each := [][]string{{"ms per fresh example", "measured", "predicted", "of none's", "paper"}}
	for _, c := range f.Bars {
		fresh = append(fresh, []string{name(c), c.Fresh.mean(), number(c.Fresh.Min), most(c.Fresh), times(c.Fresh.Gain), times(c.PaperReduction)})
		wall = append(wall, []string{name(c), c.Seconds.mean(), number(c.Seconds.Min), most(c.Seconds), times(c.Seconds.Gain), times(c.PredictedGain), times(c.PaperSpeedup)})
		each = append(each, []string{name(c), fmt.Sprintf("%.3f", c.Each), fmt.Sprintf("%.3f", c.PredictedEach), times(c.EachGrowth), times(c.PaperEachGrowth)})
	}
	for i, grid := range [][][]string{fresh, wall, each} {
		if i > 0 {
			b.WriteString("\n")
		}
		align(b, grid)
	}
	b.WriteString(`
predicted: max(t_up, factor × t_down) for a batch of fresh examples, with both
times as measured without echo; as a speed-up, for the reduction above.
paper: ResNet-50 on ImageNet from cloud storage, R about 6, tuned for each factor.
`)
	_, err := io.WriteString(w, b.String())
	return err
}
