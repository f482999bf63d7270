package experiments

import (
	"bytes"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reprise-ml/reprise/echo"
)

// behind sets what was measured of the sides of the echo.
func behind(r Row, up, down float64) Row {
	for i := range r.Runs {
		r.Runs[i].TUp, r.Runs[i].TDown, r.Runs[i].Steps = &up, &down, r.Runs[i].Examples/100
	}
	return r
}

func compared() Table {
	none := behind(row(echo.None, 12000, 14000, 16000), 1, 0.25)
	none.Factor = 1
	eight := row(echo.Example, 6000, -7000, 8000)
	eight.Factor = 8
	return Table{Target: "val_error<=0.3", Rows: []Row{none, eight, row(echo.Batch, 9000, 9000, 9000), row(echo.Example, 6000, 7000, 8000)}}
}

func TestFigure4PutsMeasuredBesidePredictedAndThePaper(t *testing.T) {
	f, err := compared().Figure4()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := f.Write(&b); err != nil {
		t.Fatal(err)
	}
	want := `Used up to reach val_error<=0.3, R = 4.00 (t_up 1 s, t_down 0.25 s)

fresh examples     mean     min      max  reduction  paper
none             14,000  12,000   16,000      1.00x  1.00x
example ×2        7,000   6,000    8,000      2.00x  1.90x
example ×8      > 7,000   6,000  > 8,000          ?      ?

seconds        mean  min      max  speed-up  predicted  paper
none            140  120      160     1.00x      1.00x  1.00x
example ×2       70   60       80     2.00x      2.00x  1.80x
example ×8  > 2,380   60  > 7,000         ?          ?      ?

ms per fresh example  measured  predicted  of none's  paper
none                    10.000     10.000      1.00x  1.00x
example ×2              10.000     10.000      1.00x  1.06x
example ×8             340.000     20.000     34.00x      ?
`
	if got := b.String(); !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	eight := f.Bars[2]
	if eight.Factor != 8 || eight.PredictedEach != 20 || f.Bars[1].PredictedEach != 10 { // 8 steps of 0.25 s for 100 examples; a second of reading
		t.Errorf("the predictions are %+v", f.Bars)
	}
}

func TestFigure4IsSavedAsTextAndPlot(t *testing.T) {
	f, err := compared().Figure4()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := f.Save(dir); err != nil {
		t.Fatal(err)
	}
	for name, begins := range map[string]string{"figure4.json": "{", "figure4.txt": "Used up", "figure4.svg": "<?xml", "figure4.png": "\x89PNG"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !bytes.HasPrefix(text, []byte(begins)) {
			t.Errorf("%s: %v, %.20q", name, err, text)
		}
		if name == "figure4.png" {
			if m, err := png.Decode(bytes.NewReader(text)); err != nil || m.Bounds().Dx() != 1350 {
				t.Errorf("the plot: %v", err)
			}
		}
		if name == "figure4.svg" && !bytes.Contains(text, []byte("echo factor")) {
			t.Error("the plot has no axis")
		}
	}
}

func TestFigure4SaysWhatAComparisonLacks(t *testing.T) {
	noTarget, noNone, noEcho, unmeasured := compared(), compared(), compared(), compared()
	noTarget.Target = ""
	noNone.Rows = noNone.Rows[1:]
	noEcho.Rows = noEcho.Rows[:1]
	unmeasured.Rows[0].Runs[0].TUp = nil
	for want, table := range map[string]Table{"no target": noTarget, "no row none": noNone, "no row example": noEcho, "no t_up": unmeasured} {
		if _, err := table.Figure4(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if _, err := ReadTable(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no comparison that has ended") {
		t.Errorf("got %v", err)
	}
}

func TestAComparisonGoesOnFromWhatOfItsRunsIsCommitted(t *testing.T) {
	c := Comparison{
		Spec:       parse(t, small, "stop={target: val_error<=0.99, max_steps: 30}", "evaluate.every=8 steps"),
		Strategies: []echo.Strategy{echo.None, echo.Example}, Factors: []echo.Factor{2}, Dir: t.TempDir(),
	}
	if _, err := c.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkout := t.TempDir()
	for _, kept := range []string{"compare.yaml", "none-1-seed-0/config.yaml", "none-1-seed-0/summary.json", "none-1-seed-0/metrics.jsonl"} {
		text, err := os.ReadFile(filepath.Join(c.Dir, kept))
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(checkout, kept)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c.Dir = checkout
	table, err := c.Run(t.Context())
	if err != nil || len(table.Rows) != 2 {
		t.Fatal(table, err)
	}
	if exists(filepath.Join(checkout, "none-1-seed-0", FinalWeights)) || !exists(filepath.Join(checkout, "example-2-seed-0", FinalWeights)) {
		t.Error("the run that was there was made again, or the other was not made")
	}
}

func TestATableWithoutATargetSuggestsOneThatAllOfNoneReach(t *testing.T) {
	table := Table{Rows: []Row{row(echo.None, 100, 100), row(echo.Example, 100, 100)}}
	for i, v := range []float64{0.2, 0.24} {
		table.Rows[0].Runs[i].BestValError, table.Rows[1].Runs[i].BestValError = &v, pointer(0.9)
	}
	table.summarise()
	var b strings.Builder
	if err := table.Write(&b); err != nil || !strings.Contains(b.String(), "reaches: val_error<=0.252\n") {
		t.Errorf("%v\n%s", err, b.String())
	}
}
