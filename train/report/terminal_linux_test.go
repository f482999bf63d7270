package report_test

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/reprise-ml/reprise/train"
	"github.com/reprise-ml/reprise/train/report"
)

// terminal opens a terminal of some columns. What is written to it can be read
// from the screen.
func terminal(t *testing.T, columns uint16) (screen, terminal *os.File) {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("there are no terminals here: %v", err)
	}
	screen = os.NewFile(uintptr(fd), "/dev/ptmx")
	t.Cleanup(func() { screen.Close() })
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err == nil {
		t.Cleanup(func() { terminal.Close() })
		err = unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns})
	}
	if err != nil {
		t.Skipf("there are no terminals here: %v", err)
	}
	return screen, terminal
}

func TestOnATerminalThereIsOneBarAndNothingInTheEnd(t *testing.T) {
	const label = "augmentation ×2.5, seed 1"
	for _, c := range []struct {
		name    string
		columns uint16
		label   string
		total   int64
		width   int
		last    []string // what the last state shows
	}{
		{"of 80 columns", 80, label, 4000, 80, []string{label + ": [", "]", "72% 1s left, loss 0.034, val_error 0.5000"}},
		{"without a label", 80, "", 4000, 80, []string{"\r[", "72% 1s left, loss 0.034, val_error 0.5000"}},
		{"with a long label", 80, strings.Repeat(label, 3), 4000, 80, []string{"\raugmentation", "…", "seed 1: [", "72% 1s left, loss 0.034, val_error 0.5000"}},
		{"without a total", 80, label, 0, 80, []string{label + ": 2900 fresh examples, 2.8s, loss 0.034, val_error 0"}},
		{"of 120 columns", 120, label, 4000, 120, []string{label + ": [", "72% 1s left, loss 0.034, val_error 0.5000"}},
		{"of 40 columns", 40, label, 4000, 40, []string{"…", "72%"}},
		{"that does not tell its width", 0, label, 4000, 80, []string{label + ": [", "72% 1s left, loss 0.034, val_error 0.5000"}},
		{"beyond the total", 80, "", 1000, 80, []string{"100%"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			screen, out := terminal(t, c.columns)
			if !report.IsTerminal(out) {
				t.Fatal("it is not taken for a terminal")
			}
			synctest.Test(t, func(t *testing.T) {
				g := report.Progress{Out: out, Label: c.label, Total: c.total, Unit: "fresh examples"}
				for i := int64(1); i <= 30; i++ {
					p := train.Progress{Steps: i, Fresh: 100 * i, Last: train.Stats{Loss: 1 / float64(i)}}
					g.Update(100*i, p)
					if i == 10 {
						g.Evaluated(p, report.OfClasses(1.5, 0.5))
					}
					time.Sleep(99 * time.Millisecond)
				}
				g.Close()
				g.Close()
			})
			out.Close()
			text, _ := io.ReadAll(screen) // ends with an error, for the other side is closed
			before, rest, found := strings.Cut(string(text), "\r\x1b[K")
			evaluation, after, ended := strings.Cut(rest, "\r\n")
			if !found || !ended || !strings.Contains(evaluation, "step 10, 1000 fresh: val_error 0.5000") {
				t.Errorf("the evaluation is not a line of its own: %q", text)
			}
			shown := before + after
			if strings.Contains(shown, "\n") {
				t.Errorf("the bar leaves its line: %q", shown)
			}
			states := strings.SplitAfter(shown, "\r")
			if len(states) < 10 {
				t.Fatalf("%d states in three seconds: %q", len(states), shown)
			}
			for _, s := range states {
				s = strings.TrimSuffix(strings.ReplaceAll(s, "\x1b[0m", ""), "\r")
				if n := utf8.RuneCountInString(s); n > c.width {
					t.Errorf("%d columns: %q", n, s)
				}
			}
			final := strings.ReplaceAll(strings.TrimSuffix(states[len(states)-2], "\r"), "\x1b[0m", "")
			if states[len(states)-1] != "" || strings.TrimSpace(final) != "" || len(final) != c.width {
				t.Errorf("in the end %q and %q are left", final, states[len(states)-1])
			}
			last := "\r" + states[len(states)-3]
			for _, want := range c.last {
				if !strings.Contains(last, want) {
					t.Errorf("the last state is %q, want it to have %q", last, want)
				}
			}
		})
	}
}
