package report_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/reprise-ml/reprise/train/report"
)

func TestAFileIsCutAfterAnyOfItsLines(t *testing.T) {
	long := strings.Repeat("x", 10_000) // longer than a buffer
	for _, c := range []struct {
		content string
		n       int
		want    string // empty: an error
	}{
		{"a\nb\nc\n", 2, "a\nb\n"},
		{"a\nb\nc\n", 3, "a\nb\nc\n"},
		{"a\nb\nhalf", 2, "a\nb\n"},
		{"a\nb\nhalf", 3, ""},
		{long + "\nb\n", 1, long + "\n"},
		{"", 1, ""},
	} {
		path := filepath.Join(t.TempDir(), "lines")
		if err := os.WriteFile(path, []byte(c.content), 0o644); err != nil {
			t.Fatal(err)
		}
		check, err := report.CheckLines(path, c.n), report.CutLines(path, c.n)
		got, _ := os.ReadFile(path)
		switch {
		case c.want == "" && (err == nil || check == nil || !strings.Contains(err.Error(), "lines, want") || string(got) != c.content):
			t.Errorf("%.20q cut after %d lines: %v, %v, and holds %.20q", c.content, c.n, check, err, got)
		case c.want != "" && (err != nil || check != nil || string(got) != c.want):
			t.Errorf("%.20q cut after %d lines: %v, %v, and holds %.20q, want %.20q", c.content, c.n, check, err, got, c.want)
		}
	}
}

func TestMetricsGoOnAfterALine(t *testing.T) {
	write := func(m *report.Metrics, steps ...int64) {
		for _, step := range steps {
			if err := m.Write(report.Line{Kind: report.KindTrain, Step: step}); err != nil {
				t.Fatal(err)
			}
		}
	}
	whole, broken := t.TempDir(), t.TempDir()
	m, err := report.OpenMetrics(whole)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	write(m, 1, 2, 3)
	b, err := report.OpenMetrics(broken)
	if err != nil {
		t.Fatal(err)
	}
	write(b, 1, 2, 9, 10)
	b.Close()
	if b, err = report.ContinueMetrics(broken, 2); err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	write(b, 3)
	if b.Lines() != 3 || b.Sync() != nil {
		t.Errorf("there are %d lines", b.Lines())
	}
	for _, name := range []string{"metrics.jsonl", "metrics.csv"} {
		want, err := os.ReadFile(filepath.Join(whole, name))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(broken, name)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s holds\n%s\nwant\n%s", name, got, want)
		}
	}
	if _, err := report.ContinueMetrics(broken, 4); err == nil {
		t.Error("three lines are four")
	}
}
