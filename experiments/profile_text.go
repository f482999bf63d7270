package experiments

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/echo"
)

// Seconds writes a time in three digits and the unit that suits it.
func Seconds(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v < 1e-6:
		return fmt.Sprintf("%.3g ns", v*1e9)
	case v < 0.9995e-3:
		return fmt.Sprintf("%.3g µs", v*1e6)
	case v < 0.9995:
		return fmt.Sprintf("%.3g ms", v*1e3)
	case v < 999.5:
		return fmt.Sprintf("%.3g s", v)
	}
	return fmt.Sprintf("%.0f s", v)
}

// Write writes p for people, in 80 columns.
func (p Profile) Write(w io.Writer) error {
	b := &strings.Builder{}
	fmt.Fprintf(b, "%s: batches of %d examples, %d cores, steps on %d threads (%s)\n\n", p.Name, p.Batch, p.Cores, p.Threads, p.Kernel)
	p.writePaces(b)
	p.writeRuns(b)
	p.writePlaces(b)
	for _, s := range p.Findings() {
		b.WriteString("\n")
		wrap(b, s, 80)
	}
	p.writeHelps(b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (p Profile) writePaces(b *strings.Builder) {
	grid := [][]string{{"a batch, each stage alone", "workers", "time", "CPU time", "examples/s"}}
	row := func(name, workers string, pace Pace) {
		each := "-"
		if pace.Seconds > 0 {
			each = number(float64(p.Batch) / pace.Seconds)
		}
		grid = append(grid, []string{"  " + name, workers, Seconds(pace.Seconds), Seconds(pace.CPU), each})
	}
	for _, s := range p.Stages {
		name := s.Stage
		if s.Stage == data.StageRead && p.Cold != nil {
			row("read, cold", fmt.Sprint(s.Workers), p.Cold.Pace)
			name = "read, from memory"
		}
		row(name, fmt.Sprint(s.Workers), s.Pace)
	}
	row("all but the step", "", p.Whole)
	align(b, grid)
}

func (p Profile) writeRuns(b *strings.Builder) {
	grid := [][]string{{"pipeline and step together", "predicted", "measured", "step busy"}}
	for _, r := range p.Runs {
		name := "no echo"
		if r.Strategy != echo.None {
			name = fmt.Sprintf("%s ×%s", r.Strategy, factor(r.Factor))
		}
		grid = append(grid, []string{"  " + name + ", a fresh example", Seconds(r.Predicted), Seconds(r.Measured), fmt.Sprintf("%.0f %%", 100*r.Utilisation)})
	}
	b.WriteString("\n")
	align(b, grid)
}

func (p Profile) writePlaces(b *strings.Builder) {
	header := []string{"echo at", "t_up", "t_down", "R"}
	if p.Cold != nil {
		header = append(header, "R cold")
	}
	at := "×" + factor(p.Places[0].Factor)
	grid := [][]string{append(header, "useful", "at most", "at "+at, "example")}
	for _, r := range p.Places {
		line := []string{"  " + string(r.Place), Seconds(r.Up), Seconds(r.Down), ratio(r.R)}
		if p.Cold != nil {
			line = append(line, ratio(r.RCold))
		}
		useful := "any"
		if r.Limit != nil {
			useful = "×" + factor(*r.Limit)
		}
		grid = append(grid, append(line, useful, factor(r.Most), factor(r.Bound), Seconds(r.Fresh)))
	}
	b.WriteString("\n")
	align(b, grid)
}

// ratio writes R in at most 5 characters, if it is below 100,000.
func ratio(v float64) string {
	switch {
	case v < 0.01:
		return "<0.01"
	case v < 1:
		return fmt.Sprintf("%.2f", v)
	}
	return factor(v)
}

// factor writes a factor or a ratio in few characters.
func factor(v float64) string {
	if v >= 999.5 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

func (p Profile) writeHelps(b *strings.Builder) {
	if len(p.Helps) == 0 {
		return
	}
	grid := [][]string{{"what else", "a batch", "then", "an example", "then"}}
	best := p.Helps[0]
	for _, h := range p.Helps {
		if h.FreshAfter < best.FreshAfter {
			best = h
		}
		grid = append(grid, []string{"  " + h.What, Seconds(h.Before), Seconds(h.After), Seconds(h.FreshBefore), Seconds(h.FreshAfter)})
	}
	b.WriteString("\n")
	align(b, grid)
	b.WriteString("\n")
	text := "A batch: in the stages concerned, measured. An example: a fresh one, with the echo of the spec, predicted from that. "
	if best.FreshAfter < 0.95*best.FreshBefore {
		text += fmt.Sprintf("What helps most is %s: a fresh example takes %.0f %% less time.", best.What, 100*(1-best.FreshAfter/best.FreshBefore))
	} else {
		text += "None of this makes a fresh example 5 % cheaper."
	}
	wrap(b, text, 80)
}

// busy says what a stage is, as the subject of a sentence.
func busy(stage string) string {
	switch stage {
	case data.StageRead:
		return "Reading"
	case data.StageDecode:
		return "Decoding"
	case data.StageAugment:
		return "Augmenting"
	case data.StageBatch:
		return "Forming batches"
	case data.StageMix:
		return "Mixing batches"
	}
	return "The step"
}

// Findings says what the numbers mean, a paragraph each.
func (p Profile) Findings() []string {
	none := p.at(echo.None)
	took, train := p.pace(p.Slowest), p.pace(step)
	var all []string
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	best := p.best()
	if p.Slowest == step {
		say("The step is the bottleneck: it takes %s for a batch, and the pipeline makes one in %s.", Seconds(train.Seconds), Seconds(none.Up))
	} else {
		say("%s is the bottleneck: it takes %s for a batch, and the step %s. Without an echo the step computes at most %.0f %% of the time.",
			busy(p.Slowest), Seconds(took.Seconds), Seconds(train.Seconds), 100*train.Seconds/none.Time(1))
	}
	switch {
	case none.Shared(1):
		say("The cores are shared: pipeline and step need %s of processor time for a batch of fresh data, on %d cores, and that is what decides: (cpu_up + e·cpu_down) / cores. With an echo at %s a further use of a batch still costs %s, so that factor 2 speeds training up by %s at most, and no factor by more than %s.",
			Seconds(none.CPUUp+none.CPUDown), p.Cores, best.Place, Seconds(best.Time(2)-best.Time(1)), times(best.Speedup(2)), times(best.Most))
	case best.Most > 1.05:
		say("The cores are not shared: max(t_up, e·t_down) decides. An echo at %s uses every example up to %s times in the time of one, and speeds training up by %s at most, if a repeat is worth a fresh example. More than %s uses only cost time.",
			best.Place, factor(best.Free), times(best.Most), factor(*cmp.Or(best.Limit, &best.Free)))
	default:
		say("No echo makes training faster: R is below 1, or near it, everywhere. What makes the step faster does.")
	}
	if p.Cold != nil {
		say("Read for the first time, from storage, a batch takes %s, and %s from memory. R cold is of data that does not fit in memory.", Seconds(p.Cold.Seconds), Seconds(p.pace(data.StageRead).Seconds))
	}
	return append(all, p.Notes...)
}

func times(v float64) string { return factor(v) + " times" }

// wrap writes a paragraph in lines of so many columns.
func wrap(b *strings.Builder, text string, columns int) {
	at := 0
	for _, word := range strings.Fields(text) {
		n := len([]rune(word))
		if at > 0 && at+1+n > columns {
			b.WriteString("\n")
			at = 0
		}
		if at > 0 {
			b.WriteString(" ")
			at++
		}
		b.WriteString(word)
		at += n
	}
	b.WriteString("\n")
}
