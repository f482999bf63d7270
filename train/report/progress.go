package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/cheggaaa/pb/v3"
	"github.com/mattn/go-isatty"

	"github.com/reprise-ml/reprise/train"
)

// lineWidth is the length of lines, and that of the bar on a terminal that does
// not tell its own.
const lineWidth = 80

// Progress shows people how far a run is: one bar on a terminal, and one line
// of at most 80 columns every Interval elsewhere. The zero Progress shows
// nothing.
type Progress struct {
	Out      io.Writer     // stderr, say; nil shows nothing
	Label    string        // at the start of the bar or line, shortened to fit; may be empty
	Total    int64         // what Position reaches at the end; 0 means unknown
	Unit     string        // of Position, such as steps
	Interval time.Duration // between lines; default 10 s

	bar  *pb.ProgressBar
	next time.Time
	last string // what the last evaluation found
}

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// Update shows the state of the run at a position of Total.
func (g *Progress) Update(position int64, p train.Progress) {
	switch {
	case g.Out == nil:
	case IsTerminal(g.Out):
		g.draw(position, p)
	default:
		g.line(position, p)
	}
}

// draw makes the bar, or moves it. It draws itself a few times a second.
func (g *Progress) draw(position int64, p train.Progress) {
	columns := width(g.Out)
	if g.bar == nil {
		form := `{{string . "label"}}{{bar . "[" "=" ">" " " "]"}} {{percent . "%.0f%%"}} {{rtime . "%s left" "%s" "? left"}}, {{string . "state"}}`
		if g.Total <= 0 {
			// a bar of blanks, for only what has a bar is cut to the width of the terminal
			form = `{{string . "label"}}{{counters .}} {{string . "unit"}}, {{etime .}}, {{string . "state"}}{{bar . " " " " " " " " " "}}`
		}
		longest := cmp.Or(columns, lineWidth) * 7 / 20 // of the label, which leaves some for the bar itself
		g.bar = pb.ProgressBarTemplate(form).New(0).SetTotal(g.Total).SetWriter(g.Out).
			Set("label", prefix(g.Label, longest)).Set("unit", g.Unit).Set(pb.CleanOnFinish, true)
		g.bar.SetWidth(columns).SetCurrent(position).Start() // of a run that is resumed, not 0
	}
	if g.Total > 0 {
		position = min(position, g.Total)
	}
	g.bar.SetWidth(columns).Set("state", "loss "+number(p.Last.Loss)+g.last).SetCurrent(position)
}

// line writes a line if it is time.
func (g *Progress) line(position int64, p train.Progress) {
	now := time.Now()
	if now.Before(g.next) {
		return
	}
	interval := g.Interval
	if interval == 0 {
		interval = 10 * time.Second
	}
	g.next = now.Add(interval)
	of := ""
	if g.Total > 0 {
		of = fmt.Sprintf(" of %d", g.Total)
	}
	g.write(fmt.Sprintf("%d%s %s, loss %s, %.1f s", position, of, g.Unit, number(p.Last.Loss), p.Elapsed.Seconds()))
}

// Evaluated notes what an evaluation found, to be shown beside the bar from now
// on, and writes it as a line of its own.
func (g *Progress) Evaluated(p train.Progress, s Scores) {
	g.last = ", " + s.short()
	if g.Out == nil {
		return
	}
	if g.bar != nil {
		fmt.Fprint(g.Out, "\r\x1b[K") // the bar is drawn again below the line
	}
	g.write(fmt.Sprintf("step %d, %d fresh: %v", p.Steps, p.Fresh, s))
}

// Close takes the bar away.
func (g *Progress) Close() {
	if g.bar != nil {
		g.bar.Finish()
		g.bar = nil
	}
}

func (g *Progress) write(text string) { fmt.Fprintln(g.Out, prefix(g.Label, lineWidth-len(text))+text) }

// number writes a loss in few characters, whatever it is.
func number(v float64) string {
	if math.Abs(v) < 1e5 {
		return fmt.Sprintf("%.3f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// prefix is the label as it stands before something else, in so many columns,
// if not in fewer than 10. Of a long one the middle is left out: the ends tell
// runs apart.
func prefix(label string, room int) string {
	r := []rune(strings.TrimSpace(label))
	if len(r) == 0 {
		return ""
	}
	if n := max(room, 10) - len(": "); len(r) > n {
		head := n / 2
		r = slices.Concat(r[:head], []rune("…"), r[len(r)-(n-head-1):])
	}
	return string(r) + ": "
}
