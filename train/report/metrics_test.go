package report_test

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-ml/reprise/train/report"
)

func pointer(v float64) *float64 { return &v }

// full is a line in which everything applies.
var full = report.Line{
	Kind: report.KindTrain, Step: 3, Epoch: pointer(0.5), Examples: 96, FreshExamples: 48, Reads: 60,
	Loss: pointer(2.25), LR: pointer(0.1), GradNorm: pointer(7), ValLoss: pointer(2.5), ValError: pointer(0.75),
	TestLoss: pointer(2.75), TestError: pointer(0.875), WallSeconds: 1.5, WaitSeconds: 1, StepSeconds: 0.5, CPUSeconds: 3,
	EchoFactor: pointer(2), DuplicateShare: pointer(0.25),
	Rates: report.Rates{TUp: pointer(0.5), TDown: pointer(0.125), R: pointer(4), Utilisation: pointer(0.375), Repeats: pointer(2), Lag: pointer(12.5)},
}

// write writes lines and returns the directory and the text of both files.
func write(t interface {
	Helper()
	Fatal(...any)
}, dir string, lines ...report.Line) (jsonl, table string) {
	t.Helper()
	m, err := report.OpenMetrics(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lines {
		if err := m.Write(l); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	a, err := os.ReadFile(filepath.Join(dir, "metrics.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "metrics.csv"))
	if err != nil {
		t.Fatal(err)
	}
	return string(a), string(b)
}

func TestALineHasTheFieldsThatApply(t *testing.T) {
	bare := report.Line{Kind: report.KindEval, Step: 4, ValLoss: pointer(0)}
	jsonl, table := write(t, t.TempDir(), full, bare)
	want := `{"v":1,"kind":"train","step":3,"epoch":0.5,"examples":96,"fresh_examples":48,"reads":60,"loss":2.25,"lr":0.1,"grad_norm":7,` +
		`"val_loss":2.5,"val_error":0.75,"test_loss":2.75,"test_error":0.875,"wall_seconds":1.5,"wait_seconds":1,"step_seconds":0.5,` +
		`"cpu_seconds":3,"echo_factor":2,"duplicate_share":0.25,"t_up":0.5,"t_down":0.125,"r":4,"utilisation":0.375,"repeats":2,"lag":12.5}
{"v":1,"kind":"eval","step":4,"examples":0,"fresh_examples":0,"reads":0,"val_loss":0,"wall_seconds":0,"wait_seconds":0,"step_seconds":0,"cpu_seconds":0}
`
	if jsonl != want {
		t.Errorf("metrics.jsonl is\n%swant\n%s", jsonl, want)
	}
	want = `v,kind,step,epoch,examples,fresh_examples,reads,loss,lr,grad_norm,val_loss,val_error,val_perplexity,test_loss,test_error,test_perplexity,wall_seconds,wait_seconds,step_seconds,cpu_seconds,echo_factor,duplicate_share,t_up,t_down,r,utilisation,repeats,lag
1,train,3,0.5,96,48,60,2.25,0.1,7,2.5,0.75,,2.75,0.875,,1.5,1,0.5,3,2,0.25,0.5,0.125,4,0.375,2,12.5
1,eval,4,,0,0,0,,,,0,,,,,,0,0,0,0,,,,,,,,
`
	if table != want {
		t.Errorf("metrics.csv is\n%swant\n%s", table, want)
	}
}

func TestWhatIsNotFiniteIsAbsent(t *testing.T) {
	l := full
	l.Loss, l.ValLoss, l.GradNorm, l.R = pointer(math.NaN()), pointer(math.Inf(1)), pointer(math.Inf(-1)), pointer(math.Inf(1))
	jsonl, table := write(t, t.TempDir(), l)
	for _, name := range []string{`"loss"`, `"val_loss"`, `"grad_norm"`, `"r"`} {
		if strings.Contains(jsonl, name) {
			t.Errorf("%s is there: %s", name, jsonl)
		}
	}
	if strings.Contains(table, "NaN") || strings.Contains(table, "Inf") || !strings.Contains(table, "60,,0.1,,,0.75,,2.75") {
		t.Errorf("metrics.csv is\n%s", table)
	}
	if !math.IsNaN(*l.Loss) {
		t.Error("the line given was written to")
	}
}

// anyLine draws a line of finite numbers.
func anyLine(t *rapid.T) report.Line {
	optional := func(name string) *float64 {
		return rapid.Ptr(rapid.Float64().Filter(func(v float64) bool { return !math.IsInf(v, 0) && !math.IsNaN(v) }), true).Draw(t, name)
	}
	seconds := func(name string) float64 { return rapid.Float64Range(0, 1e9).Draw(t, name) }
	count := rapid.Int64Min(0)
	return report.Line{
		V: report.Version, Kind: rapid.SampledFrom([]string{report.KindTrain, report.KindEval, report.KindTest, "a \"kind\", of\nits own"}).Draw(t, "kind"),
		Step: count.Draw(t, "step"), Epoch: optional("epoch"),
		Examples: count.Draw(t, "examples"), FreshExamples: count.Draw(t, "fresh"), Reads: count.Draw(t, "reads"),
		Loss: optional("loss"), LR: optional("lr"), GradNorm: optional("norm"), ValLoss: optional("val loss"), ValError: optional("val error"),
		TestLoss: optional("test loss"), TestError: optional("test error"),
		WallSeconds: seconds("wall"), WaitSeconds: seconds("wait"), StepSeconds: seconds("step"), CPUSeconds: seconds("cpu"),
		EchoFactor: optional("factor"), DuplicateShare: optional("share"),
		Rates: report.Rates{TUp: optional("up"), TDown: optional("down"), R: optional("r"), Utilisation: optional("utilisation"), Repeats: optional("repeats"), Lag: optional("lag")},
	}
}

func TestLinesSurviveBothFiles(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.Custom(anyLine), 0, 5).Draw(t, "lines")
		_, table := write(t, dir, lines...)
		got, err := report.ReadMetrics(filepath.Join(dir, "metrics.jsonl"))
		if err != nil || len(got) != len(lines) || len(lines) > 0 && !reflect.DeepEqual(got, lines) {
			t.Fatalf("wrote %+v, read %+v, %v", lines, got, err)
		}
		rows, err := csv.NewReader(strings.NewReader(table)).ReadAll()
		if err != nil || len(rows) != 1+len(lines) {
			t.Fatalf("%d rows of metrics.csv, %v", len(rows), err)
		}
		loss := slices.Index(rows[0], "loss")
		for i, l := range lines {
			cell := rows[1+i][loss]
			if (cell == "") != (l.Loss == nil) {
				t.Fatalf("the loss %v is %q in metrics.csv", l.Loss, cell)
			}
			if v, err := strconv.ParseFloat(cell, 64); l.Loss != nil && (err != nil || v != *l.Loss) {
				t.Fatalf("the loss %g is %q in metrics.csv", *l.Loss, cell)
			}
		}
	})
}

func TestOpenMetricsBeginsAnew(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, full, full)
	jsonl, table := write(t, dir)
	if jsonl != "" || strings.Count(table, "\n") != 1 {
		t.Errorf("the files hold %q and %q", jsonl, table)
	}
}

func TestLinesAreInTheFilesAsSoonAsWritten(t *testing.T) {
	dir := t.TempDir()
	m, err := report.OpenMetrics(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for n := 1; n <= 3; n++ {
		if err := m.Write(full); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]int{"metrics.jsonl": n, "metrics.csv": n + 1} {
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil || strings.Count(string(text), "\n") != want || !strings.HasSuffix(string(text), "\n") {
				t.Errorf("%s holds %q after %d lines, %v", name, text, n, err)
			}
		}
	}
}

func TestMetricsFailWhereTheFilesCannotBe(t *testing.T) {
	if _, err := report.OpenMetrics(filepath.Join(t.TempDir(), "absent")); err == nil || !strings.HasPrefix(err.Error(), "report: ") {
		t.Errorf("the error is %v", err)
	}
	m, err := report.OpenMetrics(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if err := m.Write(full); err == nil {
		t.Error("a line went to closed files")
	}
	if err := m.Close(); err == nil {
		t.Error("closed twice without an error")
	}
}

func TestReadMetricsLeavesOutALastLineCutShort(t *testing.T) {
	dir := t.TempDir()
	jsonl, _ := write(t, dir, full, full, full)
	path := filepath.Join(dir, "metrics.jsonl")
	each := len(jsonl) / 3
	for cut := range each {
		if err := os.WriteFile(path, []byte(jsonl[:len(jsonl)-cut]), 0o666); err != nil {
			t.Fatal(err)
		}
		want := 2
		if cut <= 1 { // nothing, or only the end of the line, is missing
			want = 3
		}
		if lines, err := report.ReadMetrics(path); err != nil || len(lines) != want {
			t.Errorf("%d bytes cut: %d lines, %v, want %d", cut, len(lines), err, want)
		}
	}
}

func TestReadMetricsRefusesWhatIsNoLine(t *testing.T) {
	const good = `{"v":1,"kind":"train","step":1}`
	path := filepath.Join(t.TempDir(), "metrics.jsonl")
	for _, c := range []struct {
		name, text string
		lines, bad int // the number of the line at fault, 0 if none
	}{
		{"nothing", "", 0, 0},
		{"empty lines", "\n" + good + "\n\n  \n" + good + "\n\n", 2, 0},
		{"a line of Windows", good + "\r\n" + good + "\r\n", 2, 0},
		{"a field of a later time", `{"v":1,"kind":"train","lists":[1,{"a":2}]}` + "\n", 1, 0},
		{"a first line cut short", good[:10] + "\n" + good + "\n", 0, 1},
		{"a last line that is ended but wrong", good + "\n" + good[:10] + "\n", 0, 2},
		{"two in one line", good + "\n\n" + good + good + "\n", 0, 3},
		{"a number that is a text", `{"v":1,"step":"3"}` + "\n", 0, 1},
		{"another version", good + "\n" + `{"v":2,"kind":"train"}` + "\n", 0, 2},
		{"no version", "{}\n", 0, 1},
		{"null", "null\n", 0, 1},
		{"a list", "[]\n", 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := os.WriteFile(path, []byte(c.text), 0o666); err != nil {
				t.Fatal(err)
			}
			lines, err := report.ReadMetrics(path)
			if c.bad == 0 {
				if err != nil || len(lines) != c.lines {
					t.Errorf("%d lines, %v, want %d", len(lines), err, c.lines)
				}
				return
			}
			if want := fmt.Sprintf("report: %s:%d: ", path, c.bad); err == nil || !strings.HasPrefix(err.Error(), want) || lines != nil {
				t.Errorf("%d lines and the error %v, want %s…", len(lines), err, want)
			}
		})
	}
	if _, err := report.ReadMetrics(path + ".absent"); err == nil || !strings.HasPrefix(err.Error(), "report: ") {
		t.Errorf("the error is %v", err)
	}
}

// FuzzReadMetrics feeds any text to ReadMetrics: what it accepts must survive
// writing and reading.
func FuzzReadMetrics(f *testing.F) {
	f.Add([]byte(`{"v":1,"kind":"train","step":3,"epoch":0.5,"loss":2.25,"wall_seconds":1.5}` + "\n"))
	f.Add([]byte(`{"v":1,"kind":"eval","val_loss":1e400}` + "\n"))
	f.Add([]byte(`{"v":1,"kind":"eval","val_loss":null}` + "\n" + `{"v":1,"kind"`))
	f.Add([]byte("{\"v\":1,\"kind\":\"\xff\",\"STEP\":3}\n\n\x00"))
	f.Add([]byte("null\n[]\n1"))
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := t.TempDir()
		path := filepath.Join(dir, "metrics.jsonl")
		if err := os.WriteFile(path, text, 0o666); err != nil {
			t.Fatal(err)
		}
		lines, err := report.ReadMetrics(path)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "report: "+path+":") || lines != nil {
				t.Fatalf("%d lines and the error %v", len(lines), err)
			}
			return
		}
		if len(lines) > strings.Count(string(text), "\n")+1 {
			t.Fatalf("%d lines of %q", len(lines), text)
		}
		write(t, dir, lines...)
		back, err := report.ReadMetrics(path)
		if err != nil || len(back) != len(lines) || len(lines) > 0 && !reflect.DeepEqual(back, lines) {
			t.Fatalf("read %+v, then %+v, %v", lines, back, err)
		}
	})
}

// A run writes lines as it goes; whoever looks at it later reads them.
func ExampleMetrics() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	m, err := report.OpenMetrics(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	for step := int64(100); step <= 200; step += 100 {
		loss := 230 / float64(step)
		if err := m.Write(report.Line{Kind: report.KindTrain, Step: step, FreshExamples: 32 * step, Loss: &loss}); err != nil {
			fmt.Println(err)
		}
	}
	if err := m.Close(); err != nil {
		fmt.Println(err)
	}
	lines, err := report.ReadMetrics(filepath.Join(dir, "metrics.jsonl"))
	for _, l := range lines {
		fmt.Printf("step %d, %d fresh examples: loss %.2f\n", l.Step, l.FreshExamples, *l.Loss)
	}
	fmt.Println(err)
	// Output:
	// step 100, 3200 fresh examples: loss 2.30
	// step 200, 6400 fresh examples: loss 1.15
	// <nil>
}
