package experiments

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/echo"
)

// Inspection is a batch as a run trains on it, with the origin of every row.
type Inspection struct {
	Step      int64          `json:"step"` // that trains on it, from 1
	Rows      []InspectedRow `json:"rows"`
	Fresh     int            `json:"fresh"`
	Duplicate float64        `json:"duplicate_share"`                    // of the rows, those whose read is in the batch already
	Expected  *float64       `json:"expected_duplicate_share,omitempty"` // what it is on average; absent where that is not known

	pictures []data.Picture // of the rows; none of text
}

// InspectedRow is a row of a batch.
type InspectedRow struct {
	Index int    `json:"index"` // of the record in the training data
	Read  int64  `json:"read"`  // records read before this one
	Copy  int    `json:"copy"`  // 0: as read
	Lag   *int64 `json:"lag"`   // steps since the use before of the same read, 0 within the batch; null: the first use
	Class string `json:"class,omitempty"`
	Text  string `json:"text,omitempty"` // how it begins
}

// Inspect makes the batch of a step, counted from 1, as a run makes it; of an automatic factor, as one with these
// choices does. Reads do not go through the simulated storage, which decides nothing but when they arrive.
func (s Spec) Inspect(ctx context.Context, step int64, choices []echo.Choices) (*Inspection, error) {
	if step < 1 {
		return nil, fmt.Errorf("experiments: batch %d: batches are counted from 1", step)
	}
	if s.Echo.Factor == echo.Auto && choices == nil {
		return nil, SpecError{errors.New("echo.factor: is auto, which depends on the time; want the schedule.rle of a run (--replay-schedule) or a number")}
	}
	r := Run{Spec: s}
	if err := r.open(ctx); err != nil {
		return nil, err
	}
	s = r.Spec
	used := map[int64]int64{} // the step of the last use, by read
	use := func(step int64, b data.Batch) {
		for _, o := range b.Origins {
			used[o.Read] = step
		}
	}
	at, err := s.before(ctx, r.data.Train, step, choices)
	if err != nil {
		return nil, err
	}
	at.Passed = use
	now := at.Batches
	for b, err := range s.Pipeline(ctx, r.data.Train, nil, s.bearing(r.data.Train), at) {
		if err != nil {
			return nil, err
		}
		if now++; now == step {
			return s.inspected(&r, step, b, used)
		}
		use(now, b)
		b.Release()
	}
	return nil, fmt.Errorf("experiments: the data ends after %d batches", now)
}

// before is a Start right before the batch of a step, where that can be known without making the batches before it.
func (s Spec) before(ctx context.Context, src data.Source, step int64, choices []echo.Choices) (at Start, err error) {
	at.Choices = choices
	if _, streams := src.(data.Stream); streams || s.Data.OnError == OnErrorSkip {
		return at, nil
	}
	at.Replay, err = s.Replay(ctx, src, step-1, nil, choices, nil)
	return at, err
}

// inspected describes b.
func (s Spec) inspected(r *Run, step int64, b data.Batch, used map[int64]int64) (*Inspection, error) {
	i := &Inspection{Step: step, Fresh: b.Fresh(), Duplicate: float64(b.Duplicates()) / float64(len(b.Origins))}
	if share := s.duplicates(); !math.IsNaN(share) {
		i.Expected = &share
	}
	inputs := b.Inputs[0]
	size := (len(inputs.F32) + len(inputs.I32)) / len(b.Origins)
	source, _ := s.textual()
	for n, o := range b.Origins {
		row := InspectedRow{Index: o.Index, Read: o.Read, Copy: o.Copy}
		if before, again := used[o.Read]; again {
			row.Lag = pointer(step - before)
		}
		used[o.Read] = step
		if source != nil {
			c, err := source.Config()
			if err != nil {
				return nil, err
			}
			tokens := inputs.I32[n*size : (n+1)*size]
			row.Text = printable(c.Tokenizer.Decode(tokens))
		} else {
			if l, ok := r.data.Train.(data.Labelled); ok {
				row.Class = l.Classes()[l.Label(o.Index)]
			}
			i.pictures = append(i.pictures, s.Input.picture(inputs.F32[n*size:(n+1)*size], inputs.Shape))
		}
		i.Rows = append(i.Rows, row)
	}
	return i, nil
}

// printable is text on one line.
func printable(text []byte) string {
	s := strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return '·'
		}
		return r
	}, string(text))
	return strings.Join(strings.Fields(s), " ")
}

// picture turns a row of a batch of this shape [N,H,W,C] back into pixels.
func (in Input) picture(row []float32, shape []int) data.Picture {
	p := data.Picture{Pix: make([]uint8, len(row)), Height: shape[1], Width: shape[2]}
	for i, v := range row {
		c := i % 3
		p.Pix[i] = uint8(min(max(255*(v*in.Std[c]+in.Mean[c]), 0), 255) + 0.5)
	}
	return p
}

// Write writes i for people, at most 80 columns wide.
func (i *Inspection) Write(w io.Writer) error {
	b := &strings.Builder{}
	fmt.Fprintf(b, "The batch of step %d: %d rows, %d of them fresh; of %.2f %% the read is in the batch\nalready", i.Step, len(i.Rows), i.Fresh, 100*i.Duplicate)
	if i.Expected != nil {
		fmt.Fprintf(b, ", of %.2f %% on average", 100**i.Expected)
	}
	b.WriteString(".\n\n")
	text := slices.ContainsFunc(i.Rows, func(r InspectedRow) bool { return r.Text != "" })
	grid := [][]string{{"row", "index", "read", "copy", "lag"}}
	notes := []string{"class"}
	if text {
		notes[0] = "text"
	}
	for n, r := range i.Rows {
		lag := "first"
		if r.Lag != nil {
			lag = fmt.Sprint(*r.Lag)
		}
		grid = append(grid, []string{fmt.Sprint(n), fmt.Sprint(r.Index), fmt.Sprint(r.Read), fmt.Sprint(r.Copy), lag})
		notes = append(notes, r.Class+r.Text)
	}
	var columns strings.Builder
	align(&columns, grid)
	for n, line := range strings.Split(strings.TrimSuffix(columns.String(), "\n"), "\n") {
		b.WriteString(strings.TrimRight(line+"  "+shorten(notes[n], max(80-len(line)-2, 8)), " ") + "\n")
	}
	b.WriteString("\nlag: steps since the use before of the same read.\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// Sheet writes the pictures of the rows as they are trained on (PNG), each with its row, read, copy and lag.
func (i *Inspection) Sheet(w io.Writer) error {
	if i.pictures == nil {
		return errors.New("experiments: the batch is of text, of which there is no sheet")
	}
	cells := make([]cell, len(i.Rows))
	for n, r := range i.Rows {
		caption := fmt.Sprintf("%d: r%d c%d", n, r.Read, r.Copy)
		if r.Lag != nil {
			caption += fmt.Sprintf(" +%d", *r.Lag)
		}
		var err error
		if cells[n], err = newCell(i.pictures[n], caption); err != nil {
			return err
		}
	}
	var s sheet
	s.wrap(cells, int(math.Ceil(math.Sqrt(float64(len(cells))))))
	return s.write(w)
}
