package experiments

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/reprise-ml/reprise/echo"
	"github.com/reprise-ml/reprise/train/report"
)

// Table is the outcome of a comparison.
type Table struct {
	Target string `json:"target"`
	Metric string `json:"metric"` // that the best of is told where there is no target: val_error, or of text val_loss; empty means val_error
	Rows   []Row  `json:"rows"`

	Suggested string `json:"suggested_target,omitempty"` // where there is no target: one that every run of none reaches
}

// Row is the runs of one arm, in the order of their seeds.
type Row struct {
	Arm
	Runs []report.Summary  `json:"runs"`
	Used map[string]Spread `json:"used,omitempty"` // on the way to the target: fresh_examples, reads, examples, steps, wall_seconds, cpu_seconds
}

// slack is how much worse than the best of the baseline a target is that is reached reliably.
const slack = 1.05

// suggest returns a target a little worse than what all runs of none reach, so that each of them, made again, reaches
// it within its budget; "" where one of them diverged.
func (t Table) suggest() string {
	base := slices.IndexFunc(t.Rows, func(r Row) bool { return r.Strategy == echo.None })
	if base < 0 {
		return ""
	}
	worst := 0.
	for _, run := range t.Rows[base].Runs {
		v := run.BestValError
		if t.Metric == ValLoss {
			v = run.BestValLoss
		}
		if v == nil || run.Status == report.Diverging {
			return ""
		}
		worst = max(worst, *v)
	}
	return fmt.Sprintf("%s<=%.4g", cmp.Or(t.Metric, ValError), slack*worst)
}

// summarise fills in what every row used.
func (t *Table) summarise() {
	if t.Target == "" {
		t.Suggested = t.suggest()
		return
	}
	for i := range t.Rows {
		t.Rows[i].Used = map[string]Spread{}
		for _, a := range axes() {
			t.Rows[i].Used[a.key] = t.used(t.Rows[i], a)
		}
	}
}

// used is what a row used of a on the way to the target, with the gain over none.
func (t Table) used(row Row, a axis) Spread {
	s := row.over(a.reached, a.whole)
	if base := t.Rows[0]; base.Strategy == echo.None && !s.Bound {
		if b := base.over(a.reached, a.whole); !b.Bound && s.Mean > 0 {
			s.Gain = b.Mean / s.Mean
		}
	}
	return s
}

// Spread is the mean, least and largest of some numbers. Where a run missed
// the target its number is a bound, and so is the mean.
type Spread struct {
	Mean     float64 `json:"mean"`
	Min      float64 `json:"min"`
	Max      float64 `json:"max"`
	Bound    bool    `json:"bound"`              // the true mean and maximum are larger
	Diverged bool    `json:"diverged,omitempty"` // a run diverged, and there is no value for it
	Gain     float64 `json:"gain,omitempty"`     // the mean of none divided by this one; absent where either is a bound
}

// over gathers what of gives of each run. A run that missed the target counts
// with its whole length, as a bound.
func (r Row) over(reached func(report.Summary) (float64, bool), whole func(report.Summary) float64) Spread {
	var s Spread
	for i, run := range r.Runs {
		v, ok := reached(run)
		if !ok {
			v = whole(run)
			s.Bound = true
			s.Diverged = s.Diverged || run.Status == report.Diverging
		}
		if s.Mean += v / float64(len(r.Runs)); i == 0 {
			s.Min, s.Max = v, v
		}
		s.Min, s.Max = min(s.Min, v), max(s.Max, v)
	}
	return s
}

// axis is something that training uses up on the way to the target.
type axis struct {
	name    string
	key     string // in JSON
	gain    bool   // whether the table shows how many times less it is than for none
	reached func(report.Summary) (float64, bool)
	whole   func(report.Summary) float64
}

func count(v *int64) (float64, bool) {
	if v == nil {
		return 0, false
	}
	return float64(*v), true
}

func seconds(v *float64) (float64, bool) {
	if v == nil {
		return 0, false
	}
	return *v, true
}

// axisOf is the axis of a key.
func axisOf(key string) axis {
	all := axes()
	return all[slices.IndexFunc(all, func(a axis) bool { return a.key == key })]
}

func axes() []axis {
	return []axis{
		{"fresh examples", "fresh_examples", true, func(s report.Summary) (float64, bool) { return count(s.FreshToTarget) }, func(s report.Summary) float64 { return float64(s.FreshExamples) }},
		{"reads", "reads", true, func(s report.Summary) (float64, bool) { return count(s.ReadsToTarget) }, func(s report.Summary) float64 { return float64(s.Reads) }},
		{"examples", "examples", false, func(s report.Summary) (float64, bool) { return count(s.ExamplesToTarget) }, func(s report.Summary) float64 { return float64(s.Examples) }},
		{"steps", "steps", false, func(s report.Summary) (float64, bool) { return count(s.StepsToTarget) }, func(s report.Summary) float64 { return float64(s.Steps) }},
		{"wall s", "wall_seconds", true, func(s report.Summary) (float64, bool) { return seconds(s.WallToTarget) }, func(s report.Summary) float64 { return s.WallSeconds }},
		{"CPU s", "cpu_seconds", true, func(s report.Summary) (float64, bool) { return seconds(s.CPUToTarget) }, func(s report.Summary) float64 { return s.CPUSeconds }},
	}
}

// Write writes t for people, at most 80 columns wide for three seeds.
func (t Table) Write(w io.Writer) error {
	var b strings.Builder
	if t.Target == "" {
		t.outcomes(&b)
	} else {
		t.toTarget(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// toTarget writes what each arm used up to reach the target.
func (t Table) toTarget(b *strings.Builder) {
	fmt.Fprintf(b, "Used up to reach %s\n\n", t.Target)
	for i, a := range axes()[:2] {
		head := []string{a.name}
		for _, run := range t.Rows[0].Runs {
			head = append(head, fmt.Sprintf("seed %d", run.Seed))
		}
		grid := [][]string{append(head, "mean", "min", "max", "gain")}
		for _, row := range t.Rows {
			line := []string{row.Arm.String()}
			for _, run := range row.Runs {
				if v, ok := a.reached(run); ok {
					line = append(line, number(v))
				} else {
					line = append(line, missed(run, a.whole(run)))
				}
			}
			s := row.over(a.reached, a.whole)
			most := number(s.Max)
			if s.Bound {
				most = "> " + most
			}
			if s.Diverged {
				most = "diverged"
			}
			grid = append(grid, append(line, s.mean(), number(s.Min), most, t.gain(row, a)))
		}
		if i > 0 {
			b.WriteString("\n")
		}
		align(b, grid)
	}
	grid := [][]string{{"mean of"}}
	for _, a := range axes()[2:] {
		if grid[0] = append(grid[0], a.name); a.gain {
			grid[0] = append(grid[0], "gain")
		}
	}
	for _, row := range t.Rows {
		line := []string{row.Arm.String()}
		for _, a := range axes()[2:] {
			if line = append(line, row.over(a.reached, a.whole).mean()); a.gain {
				line = append(line, t.gain(row, a))
			}
		}
		grid = append(grid, line)
	}
	b.WriteString("\n")
	align(b, grid)
	b.WriteString("\ngain: what none used up, divided by what this row did.\n")
	if strings.Contains(b.String(), "> ") {
		b.WriteString(">: the budget was spent without reaching the target; a mean with it is a bound.\n")
	}
}

// mean writes the mean of s, or that it is a bound.
func (s Spread) mean() string {
	switch {
	case s.Diverged:
		return "diverged"
	case s.Bound:
		return "> " + number(s.Mean)
	}
	return number(s.Mean)
}

// missed writes a run that did not reach the target.
func missed(run report.Summary, used float64) string {
	if run.Status == report.Diverging {
		return "diverged"
	}
	return "> " + number(used)
}

// gain is the mean of none over that of row, or the bound of it.
func (t Table) gain(row Row, a axis) string {
	if t.Rows[0].Strategy != echo.None {
		return ""
	}
	base, s := t.Rows[0].over(a.reached, a.whole), row.over(a.reached, a.whole)
	if s.Mean == 0 || base.Diverged || s.Diverged || base.Bound && s.Bound {
		return "?"
	}
	sign := ""
	switch {
	case base.Bound:
		sign = "> "
	case s.Bound:
		sign = "< "
	}
	return fmt.Sprintf("%s%.2fx", sign, base.Mean/s.Mean)
}

// outcomes writes the validation errors of runs without a target.
func (t Table) outcomes(b *strings.Builder) {
	text := t.Metric == ValLoss
	best, title, columns := func(s report.Summary) *float64 { return s.BestValError }, "error", []string{"mean"}
	if text {
		best, title, columns = func(s report.Summary) *float64 { return s.BestValLoss }, "loss", []string{"mean", "ppl"}
	}
	fmt.Fprintf(b, "Best validation %s, and what the whole run used\n\n", title)
	head := []string{"strategy"}
	for _, run := range t.Rows[0].Runs {
		head = append(head, fmt.Sprintf("seed %d", run.Seed))
	}
	grid := [][]string{append(append(head, columns...), "fresh", "steps", "wall s", "CPU s")}
	for _, row := range t.Rows {
		line := []string{row.Arm.String()}
		mean := 0.0
		for _, run := range row.Runs {
			v := best(run)
			if v == nil || run.Status == report.Diverging {
				mean = math.NaN()
				line = append(line, string(run.Status))
				continue
			}
			mean += *v / float64(len(row.Runs))
			line = append(line, fmt.Sprintf("%.4f", *v))
		}
		means := []string{fmt.Sprintf("%.4f", mean), number(math.Exp(mean))}
		if math.IsNaN(mean) {
			means = []string{"?", "?"}
		}
		line = append(line, means[:len(columns)]...)
		for _, i := range []int{0, 3, 4, 5} {
			none := func(report.Summary) (float64, bool) { return 0, false }
			line = append(line, number(row.over(none, axes()[i].whole).Mean))
		}
		grid = append(grid, line)
	}
	align(b, grid)
	if text {
		b.WriteString("\nppl: perplexity, e to the power of the mean.\n")
	}
	if t.Suggested != "" {
		fmt.Fprintf(b, "\nA target 5 %% above what every run of none reaches: %s\n", t.Suggested)
	}
}

// number writes v with thousands separated, and small numbers with a decimal.
func number(v float64) string {
	if v < 100 && v != math.Trunc(v) {
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	s := strconv.FormatInt(int64(v+0.5), 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// align writes a grid in columns: the first to the left, others to the right.
func align(b *strings.Builder, grid [][]string) {
	widths := make([]int, len(grid[0]))
	for _, row := range grid {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range grid {
		var line strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				line.WriteString(cell + pad)
			} else {
				line.WriteString("  " + pad + cell)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}
