package report

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/cheggaaa/pb/v3"
	"github.com/mattn/go-isatty"

	"github.com/reprise-ml/reprise/train"
)

// Progress shows people how far a run is: one bar on a terminal, and one line
// every Interval elsewhere. The zero Progress shows nothing.
type Progress struct {
	Out      io.Writer     // stderr, say; nil shows nothing
	Label    string        // at the start of the bar or line
	Total    int64         // what Position reaches at the end
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
	if g.Out == nil {
		return
	}
	state := fmt.Sprintf("loss %.3f", p.Last.Loss) + g.last
	if IsTerminal(g.Out) {
		if g.bar == nil {
			const form = `{{string . "label"}} {{bar . "[" "=" ">" " " "]"}} {{percent . "%.0f%%"}} {{rtime . "%s left" "%s"}} {{string . "state"}}`
			g.bar = pb.ProgressBarTemplate(form).New(0).SetTotal(g.Total).SetWriter(g.Out).Set("label", g.Label).Set(pb.CleanOnFinish, true)
			g.bar.Start()
		}
		g.bar.Set("state", state).SetCurrent(min(position, g.Total))
		return
	}
	now := time.Now()
	if g.next.IsZero() {
		g.next = now
	}
	if now.Before(g.next) {
		return
	}
	interval := g.Interval
	if interval == 0 {
		interval = 10 * time.Second
	}
	g.next = now.Add(interval)
	fmt.Fprintf(g.Out, "%s%d of %d %s, %s, %.1f s\n", prefix(g.Label), position, g.Total, g.Unit, state, p.Elapsed.Seconds())
}

// Evaluated notes what an evaluation found, to be shown from now on; on
// anything but a terminal it is a line of its own.
func (g *Progress) Evaluated(p train.Progress, loss, wrong float64) {
	g.last = fmt.Sprintf(", val_error %.4f", wrong)
	if g.Out != nil && !IsTerminal(g.Out) {
		fmt.Fprintf(g.Out, "%s%d fresh examples, step %d: val_error %.4f, val_loss %.4f\n", prefix(g.Label), p.Fresh, p.Steps, wrong, loss)
	}
}

// Close takes the bar away.
func (g *Progress) Close() {
	if g.bar != nil {
		g.bar.Finish()
	}
}

func prefix(label string) string {
	if label = strings.TrimSpace(label); label == "" {
		return ""
	}
	return label + ": "
}
