package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/reprise-ml/reprise/experiments"
	"github.com/reprise-ml/reprise/train/report"
)

func dataCommand() *cobra.Command {
	tokenizer := group("tokenizer", "Make a tokenizer, or look at what one does", tokenizerTrain(), tokenizerEncode(), tokenizerDecode())
	return group("data", "Verify, measure, show or make a data set", dataVerify(), dataStats(), dataShow(), dataSynth(), tokenizer)
}

// dataFlags name a data set: by its path, or by the spec that uses it.
type dataFlags struct{ specFlags }

// check reports whether just one of the two is given.
func (f *dataFlags) check(args []string) error {
	if (len(args) == 1) == (f.path != "") {
		return usageError{fmt.Errorf("want the PATH of a data set, or -c run.yaml")}
	}
	return nil
}

// parts opens the parts of the data set at the path, or the splits of the
// spec.
func (f *dataFlags) parts(cmd *cobra.Command, args []string) ([]experiments.Part, error) {
	if err := f.check(args); err != nil {
		return nil, err
	}
	if len(args) == 1 {
		return experiments.DefaultRegistry().WholeParts(args[0])
	}
	s, err := f.load(cmd)
	if err != nil {
		return nil, err
	}
	return s.Parts()
}

// counting shows on stderr how many records are done, on a terminal a few
// times a second in one line, and elsewhere every ten seconds.
func counting() (progress func(done, total int), end func()) {
	interval, form := 10*time.Second, "%d of %d records\n"
	terminal := report.IsTerminal(os.Stderr)
	if terminal {
		interval, form = 200*time.Millisecond, "\r%d of %d records"
	}
	next := time.Now().Add(interval)
	progress = func(done, total int) {
		if now := time.Now(); now.After(next) {
			next = now.Add(interval)
			fmt.Fprintf(os.Stderr, form, done, total)
		}
	}
	return progress, func() {
		if terminal {
			fmt.Fprint(os.Stderr, "\r\x1b[K")
		}
	}
}
