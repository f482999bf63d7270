package experiments

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/echo"
	"github.com/reprise-ml/reprise/train"
)

func TestTheInspectedBatchIsTheOneTheRunTrainsOn(t *testing.T) {
	for _, sets := range [][]string{nil, {"data.on_error=skip"}, {"echo={strategy: batch, factor: 3}", "echo.shuffle_batches=3"}} {
		l, r := newLab(64)
		l.reads = func(_ context.Context, base string, record int) error {
			if base == "train" && record == 5 && sets != nil && sets[0] == "data.on_error=skip" {
				return errors.New("damaged")
			}
			return nil
		}
		s := parseWith(t, r, ofLab, append([]string{"pipeline.shuffle=16", "echo={strategy: example, factor: 2.5}"}, sets...)...)
		opened, d, err := s.Open()
		if err != nil {
			t.Fatal(err)
		}
		opened.Stages.Prefetch = Buffer{Items: 1}
		last := map[int64]int64{}
		step := int64(0)
		for b, err := range opened.Pipeline(t.Context(), d.Train, nil, func(data.Origin, error) error { return nil }, Start{}) {
			if err != nil {
				t.Fatal(err)
			}
			step++
			var want []InspectedRow
			for _, o := range b.Origins {
				row := InspectedRow{Index: o.Index, Read: o.Read, Copy: o.Copy, Class: []string{"even", "odd"}[o.Index%2]}
				if before, again := last[o.Read]; again {
					row.Lag = pointer(step - before)
				}
				last[o.Read] = step
				want = append(want, row)
			}
			if step != 1 && step != 2 && step != 20 {
				continue
			}
			i, err := s.Inspect(t.Context(), step, nil)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(i.Rows, want) || i.Fresh != b.Fresh() || i.Duplicate != float64(b.Duplicates())/8 || i.Step != step {
				t.Errorf("%v: step %d: the rows are\n%+v, want\n%+v", sets, step, i.Rows, want)
			}
			if step == 20 {
				break
			}
		}
	}
}

func TestAnInspectedBatchIsWrittenAsATableAndASheet(t *testing.T) {
	_, r := newLab(64)
	i, err := parseWith(t, r, ofLab, "pipeline.shuffle=16", "echo={strategy: example, factor: 2}").Inspect(t.Context(), 3, nil)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := i.Write(&b); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(b.String(), "\n"); len(lines) != 14+1 || !strings.HasPrefix(lines[3], "row  index  read  copy  ") || !strings.HasSuffix(lines[3], "class") {
		t.Errorf("the table is\n%s", b.String())
	}
	if !strings.Contains(b.String(), "of 12.50 % on average") { // 8·(2−1)/(4·16)
		t.Errorf("the expected share is not told:\n%s", b.String())
	}
	var sheet bytes.Buffer
	if err := i.Sheet(&sheet); err != nil {
		t.Fatal(err)
	}
	if m, err := png.Decode(&sheet); err != nil || m.Bounds().Dx() != 3*(cellSide+cellGap)+cellGap {
		t.Errorf("the sheet: %v", err)
	}
	// Pixels of the lab are 100 where the class is even, and 150 where it is odd.
	for n, row := range i.Rows {
		if want := uint8(100 + 50*(row.Index%2)); i.pictures[n].Pix[0] != want {
			t.Errorf("row %d, of record %d, has the pixel %d, want %d", n, row.Index, i.pictures[n].Pix[0], want)
		}
	}
}

func TestAnInspectedBatchOfTextShowsHowItBegins(t *testing.T) {
	path := filepath.Join(t.TempDir(), "text.txt")
	if err := os.WriteFile(path, []byte(strings.Repeat("to be,\tor not\n", 40)), 0o644); err != nil {
		t.Fatal(err)
	}
	s := parse(t, "data: {source: {text: {path: "+path+", context: 16}}}\nmodel: {transformer: {layers: 1, width: 8, heads: 1}}\nstop: {max_steps: 1}\ntrain: {batch: 4}\npipeline: {shuffle: 4}")
	i, err := s.Inspect(t.Context(), 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := i.Write(&b); err != nil || !strings.Contains(b.String(), "to be, or not") {
		t.Errorf("%v\n%s", err, b.String())
	}
	for _, line := range strings.Split(b.String(), "\n") {
		if n := len([]rune(line)); n > 80 {
			t.Errorf("a line of %d columns: %s", n, line)
		}
	}
	if err := i.Sheet(&bytes.Buffer{}); err == nil {
		t.Error("there is a sheet of text")
	}
}

func TestWhatCannotBeInspectedIsSaid(t *testing.T) {
	_, r := newLab(64)
	auto := parseWith(t, r, ofLab, "echo={strategy: example, factor: auto}")
	if _, err := auto.Inspect(t.Context(), 1, nil); err == nil || !strings.Contains(err.Error(), "replay-schedule") {
		t.Errorf("an automatic factor: %v", err)
	}
	if _, err := auto.Inspect(t.Context(), 0, nil); err == nil {
		t.Error("there is a batch 0")
	}
	if i, err := auto.Inspect(t.Context(), 2, []echo.Choices{{Fresh: 8, Copies: 0}, {Fresh: 4, Copies: 64}}); err != nil || i.Fresh == 8 {
		t.Errorf("with a schedule: %+v, %v", i, err)
	}
}

// The formula of explain, B(e−1)/(4M) for a whole e, against the pipeline's own stages over a million rows.
func TestRealisedDuplicatesAgreeWithTheFormula(t *testing.T) {
	for _, c := range []struct {
		factor         echo.Factor
		batch, shuffle int
	}{{2, 32, 1024}, {4, 32, 2048}, {1.5, 64, 2048}, {2.5, 32, 2048}, {8, 16, 1024}} {
		t.Run(fmt.Sprintf("×%v, B %d, M %d", c.factor, c.batch, c.shuffle), func(t *testing.T) {
			s := parse(t, replayed)
			s.Train.Batch, s.Stages.Shuffle.Items = c.batch, c.shuffle
			s.Echo = echo.Spec{Strategy: echo.Example, Factor: c.factor}
			origins := echo.At(s.order(&digits{records: 50_000}, nil), echo.Example, s.echoes(Start{}, nil).Stage)
			origins = data.Shuffle(origins, c.shuffle, s.stage("shuffle"))
			group := func(o []data.Origin) (data.Batch, error) { return data.Batch{Origins: o}, nil }
			var p train.Progress // counts as the metrics do
			for b, err := range data.Batches(origins, c.batch, group) {
				if err != nil {
					t.Fatal(err)
				}
				p.Examples += int64(len(b.Origins))
				p.Duplicates += int64(b.Duplicates())
				if p.Examples > 1e6 {
					break
				}
			}
			got, want := float64(p.Duplicates)/float64(p.Examples), s.duplicates()
			noise := 4 * math.Sqrt(want/1e6*float64(c.factor))
			if math.Abs(got-want) > noise+0.02*want { // the formula leaves out what is of the order of B/M
				t.Errorf("of the rows %.5f are duplicates, want %.5f", got, want)
			}
		})
	}
}
