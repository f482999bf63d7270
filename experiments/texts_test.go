package experiments

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/reprise-ml/reprise/echo"
	"github.com/reprise-ml/reprise/train/report"
)

func TestExplainFillsInTheNumbers(t *testing.T) {
	_, r := newLab(64)
	for want, sets := range map[string][]string{
		`run: example echo, factor 2.5

  source     train of lab, 64 records of 2 classes, permuted
  read       1 at once
  decode     1 workers: JPEG to planes
  ═══ echo ×2.5: every copy is augmented anew ═══
  augment    flip → 8×8×3, 192 B
  shuffle    buffer of 100 examples, 31.6 KiB
  batch      8 examples to float32, 6.0 KiB; up to 8 ahead of the step
  step       mlp(hidden [4]), 782 weights, sgd

A step trains on 8 examples, of which about 3 are fresh.
An epoch is 64 fresh examples: 20 steps.
The run ends after 60 steps and 192 fresh examples, or with val_error<=0.09.
Of the rows of a batch, about 3.2 % have a copy in it already.
Before the first step 40 examples are read, to fill the shuffle buffer.
Where reading a fresh batch takes R steps, the time per fresh example is that of
max(R, 2.5) steps: with R of 2.5 or more, echoing costs no time.
Note: the shuffle buffer of 100 examples is larger than the training data of 64: it holds several reads of a record, and the first step waits for 0.6 epochs.
`: {"echo={strategy: example, factor: 2.5}", "pipeline.shuffle=100", "stop={max_steps: 0, max_epochs: 3, target: val_error<=9%}"},
		`run: batch echo, factor 4

  source     train of lab, 64 records of 2 classes, permuted
  read       1 at once from simulated storage: speed measured when the run starts
  decode     1 workers: the part of a JPEG that is kept, the rest being checked
  augment    flip → 8×8×3, 192 B
  shuffle    buffer of 61 examples, 19.3 KiB (19.5 KiB asked for)
  batch      8 examples to float32, 6.0 KiB; up to 2 ahead of the step
  ═══ echo ×4: the whole batch, step after step ═══
  shuffle    buffer of 3 whole batches, 18.1 KiB
  step       mlp(hidden [4]), 782 weights, sgd

A step trains on 8 examples, of which 2 are fresh.
An epoch is 64 fresh examples: 32 steps.
The run ends after 400 steps and 800 fresh examples.
Before the first step 61 examples are read, to fill the shuffle buffer.
The storage makes R = 3: a fresh batch takes as long as 3 steps, and the time
per fresh example is that of 4 steps.
`: {"echo={strategy: batch, factor: 4, shuffle_batches: 3}", "pipeline.shuffle=20KB", "pipeline.prefetch=13KB", "storage.upstream_ratio=3", "stop={max_steps: 1000, max_fresh: 800}"},
		`run: no echo, the baseline

  source     train of lab, 64 records of 2 classes, sequential
  read       3 at once from simulated storage: latency 2ms, jitter up to 1ms, 976.6 KiB/s
  decode     2 workers: JPEG to planes
  augment    nothing → 8×8×3, 192 B
  shuffle    buffer of 1 examples, 324 B
  batch      8 examples to float32, 6.0 KiB; up to 4 ahead of the step
  step       mlp(hidden [4]), 782 weights, adam

A step trains on 8 examples, of which 8 are fresh.
An epoch is 64 fresh examples: 8 steps.
The run ends after 4 steps and 32 fresh examples.
Before the first step 1 examples are read, to fill the shuffle buffer.
`: {"storage.simulate={latency: 2ms, jitter: 1ms, bandwidth: 1e6}", "input.augment=[]", "pipeline={readers: 3, workers: 2, prefetch: 4}", "data.order=sequential", "train.optimizer=adam"},
	} {
		var b strings.Builder
		if err := parseWith(t, r, ofLab, sets...).Explain(context.Background(), &b); err != nil {
			t.Fatal(err)
		}
		got, memory, _ := strings.Cut(b.String(), "The process needs ")
		if !strings.Contains(memory, " MiB: model, activations and data ") {
			t.Errorf("of memory it says %q", memory)
		}
		if strings.Replace(got, "test:", "run:", 1) != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
	var b strings.Builder
	if err := parseWith(t, r, ofLab, "data.source.lab.records=0", "echo={strategy: read, factor: 4}").Explain(context.Background(), &b); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); !strings.Contains(got, "records without end") || strings.Contains(got, "An epoch") || !strings.Contains(got, "ends after 4 steps and 8 fresh") {
		t.Errorf("data without end are explained as\n%s", got)
	}
}

// What explain foretells is what a run then does.
func TestExplainForetellsTheRun(t *testing.T) {
	_, r := newLab(64)
	for _, c := range []struct{ set, foretold string }{
		{"echo={strategy: batch, factor: 4}", "The run ends after 64 steps and 128 fresh examples."},
		{"echo={strategy: none}", "The run ends after 16 steps and 128 fresh examples."},
	} {
		spec := parseWith(t, r, ofLab, c.set, "stop={max_steps: 0, max_epochs: 2}")
		var b strings.Builder
		if err := spec.Explain(context.Background(), &b); err != nil {
			t.Fatal(err)
		}
		s, _ := trained(t, spec)
		if !strings.Contains(b.String(), c.foretold) || s.FreshExamples != 128 || math.Abs(float64(s.Steps)-map[bool]float64{true: 64, false: 16}[s.Strategy == "batch"]) > 3 {
			t.Errorf("the run made %d steps, and explain said\n%s", s.Steps, b.String())
		}
	}
}

func texted(t *testing.T, table Table) string {
	t.Helper()
	var b strings.Builder
	if err := table.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTheTableWithATargetIsWhatEachArmUsed(t *testing.T) {
	table := Table{Target: "val_error<=0.1", Rows: []Row{row(echo.None, 12000), row(echo.Example, 6000), row(echo.Batch, -5000)}}
	want := `Used up to reach val_error<=0.1

fresh examples   seed 0     mean     min      max     gain
none             12,000   12,000  12,000   12,000    1.00x
example ×2        6,000    6,000   6,000    6,000    2.00x
batch ×2        > 5,000  > 5,000   5,000  > 5,000  < 2.40x

reads        seed 0     mean     min      max     gain
none         12,005   12,005  12,005   12,005    1.00x
example ×2    6,005    6,005   6,005    6,005    2.00x
batch ×2    > 5,000  > 5,000   5,000  > 5,000  < 2.40x

mean of     examples    steps   wall s     gain    CPU s     gain
none          24,000    1,200      120    1.00x      240    1.00x
example ×2    12,000      600       60    2.00x      120    2.00x
batch ×2     > 5,000  > 5,000  > 5,000  < 0.02x  > 5,000  < 0.05x

gain: what none used up, divided by what this row did.
>: the budget was spent without reaching the target; a mean with it is a bound.
`
	if got := texted(t, table); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := texted(t, Table{Target: "val_error<=0.1", Rows: table.Rows[:2]}); strings.Contains(got, ">") && strings.Contains(got, "a bound") {
		t.Errorf("a table without bounds explains them:\n%s", got)
	}
	if got := texted(t, Table{Target: "val_error<=0.1", Rows: table.Rows[1:2]}); strings.Contains(got, "2.00x") {
		t.Errorf("a table without none has gains:\n%s", got)
	}
	burst := row(echo.Example, 6000, 7000)
	burst.Runs[1] = row(echo.Example, -7000).Runs[0]
	burst.Runs[1].Status = report.Diverging
	want = `fresh examples  seed 0    seed 1      mean     min       max   gain
none            12,000    14,000    13,000  12,000    14,000  1.00x
example ×2       6,000  diverged  diverged   6,000  diverged      ?
`
	if got := texted(t, Table{Target: "val_error<=0.1", Rows: []Row{row(echo.None, 12000, 14000), burst}}); !strings.Contains(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestTheTableWithoutATargetIsTheErrors(t *testing.T) {
	table := Table{Rows: []Row{row(echo.None, 12000, 14000), row(echo.Example, 6000, 7000)}}
	for i, v := range []float64{0.25, 0.125, 0.5, 0.0625} {
		table.Rows[i/2].Runs[i%2].BestValError = &v
	}
	want := `Best validation error, and what the whole run used

strategy    seed 0  seed 1    mean   fresh  steps  wall s  CPU s
none        0.2500  0.1250  0.1875  13,000  1,300     130    260
example ×2  0.5000  0.0625  0.2812   6,500    650      65    130
`
	if got := texted(t, table); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	table.Rows[1].Runs[1].Status = report.Diverging
	if got := texted(t, table); !strings.Contains(got, "example ×2  0.5000  diverged       ?   6,500") {
		t.Errorf("a run that diverged is shown as\n%s", got)
	}
}

func TestTheTableOfTextWithoutATargetIsTheLosses(t *testing.T) {
	table := Table{Metric: ValLoss, Rows: []Row{row(echo.None, 1200000, 1400000, 1600000), row(echo.Example, 6000, 7000, 8000)}}
	for i, v := range []float64{3, 3.25, 3.5, 2, 2.5, 3} {
		table.Rows[i/3].Runs[i%3].BestValLoss = &v
	}
	want := `Best validation loss, and what the whole run used

strategy    seed 0  seed 1  seed 2    mean   ppl      fresh    steps  wall s   CPU s
none        3.0000  3.2500  3.5000  3.2500  25.8  1,400,000  140,000  14,000  28,000
example ×2  2.0000  2.5000  3.0000  2.5000  12.2      7,000      700      70     140

ppl: perplexity, e to the power of the mean.
`
	if got := texted(t, table); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestTableJSONHoldsWhatTheTableDoes(t *testing.T) {
	_, r := newLab(64)
	c := Comparison{Spec: parseWith(t, r, ofLab, "stop.target=val_error<=1", "evaluate.every=16 fresh"), Strategies: []echo.Strategy{echo.None, echo.Batch}, Factors: []echo.Factor{2}, Seeds: 2, Dir: t.TempDir()}
	table, err := c.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(c.Dir, "table.json"))
	if err != nil {
		t.Fatal(err)
	}
	var back Table
	if err := json.Unmarshal(raw, &back); err != nil || !reflect.DeepEqual(back, table) {
		t.Errorf("table.json holds %s, %v", raw, err)
	}
	if used := back.Rows[1].Used["fresh_examples"]; used != (Spread{Mean: 16, Min: 16, Max: 16, Gain: 1}) {
		t.Errorf("batch used %+v", used)
	}
	if used := back.Rows[1].Used["steps"]; used != (Spread{Mean: 3, Min: 3, Max: 3, Gain: 2. / 3}) {
		t.Errorf("batch used %+v", used)
	}
	for key, want := range map[string]float64{"reads": 16, "examples": 24} {
		if used := back.Rows[1].Used[key]; used.Mean != want {
			t.Errorf("batch used %+v %s", used, key)
		}
	}
	missed := Table{Target: "x", Rows: []Row{row(echo.None, 12000), row(echo.Batch, -5000), row(echo.Example, 4000, 8000)}}
	missed.summarise()
	if used := missed.Rows[1].Used["fresh_examples"]; used != (Spread{Mean: 5000, Min: 5000, Max: 5000, Bound: true}) {
		t.Errorf("a run that missed used %+v", used)
	}
	if used := missed.Rows[2].Used["wall_seconds"]; used != (Spread{Mean: 60, Min: 40, Max: 80, Gain: 2}) {
		t.Errorf("example used %+v", used)
	}
}

func TestQuickstartSaysWhatItWillDoAndWhatCameOut(t *testing.T) {
	q, err := Quickstart(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if arms, _, err := q.Arms(); err != nil || !reflect.DeepEqual(arms, []Arm{{Strategy: echo.None, Factor: 1}, {Strategy: echo.Example, Factor: 4}}) {
		t.Errorf("the rows are %v, %v", arms, err)
	}
	want := `Reprise quickstart: the same training twice, with and without data echoing.

A small ResNet learns to tell synthetic pictures apart. They are JPEG files
behind storage so slow that reading a batch takes as long as 4 training steps.
  none     every picture is used once; the training waits for the storage
  example  every picture is used 4 times, each time cropped and flipped anew,
           so that the training goes on while the storage reads
Both train until at most 10 % of the validation pictures are classified wrongly.

`
	if got := q.Introduction(); got != want {
		t.Errorf("the introduction is\n%s\nwant\n%s", got, want)
	}
	none, with := row(echo.None, 12000), row(echo.Example, 5000)
	none.Runs[0].WaitSeconds, with.Runs[0].WaitSeconds = 90, 5
	want = `
            fresh pictures  training steps  seconds  waiting
none                12,000           1,200    120.0     75 %
example ×4           5,000             500     50.0     10 %

With echoing the same error was reached from 2.4 times fewer pictures, in 2.4
times less time. Without it, the training waited 75 % of the time for pictures:
that is when the additional steps on pictures it had were made.

Next: reprise config init, to train on your own folder of pictures.
`
	if got := q.Conclusion(Table{Rows: []Row{none, with}}); got != want {
		t.Errorf("the conclusion is\n%s\nwant\n%s", got, want)
	}
	none = row(echo.None, -12000)
	none.Runs[0].WaitSeconds = 6000
	want = `
              fresh pictures  training steps  seconds  waiting
none        did not reach it               -        -     50 %
example ×4             5,000             500     50.0     10 %

Next: reprise config init, to train on your own folder of pictures.
`
	if got := q.Conclusion(Table{Rows: []Row{none, with}}); got != want {
		t.Errorf("where none misses the target, the conclusion is\n%s\nwant\n%s", got, want)
	}
}
