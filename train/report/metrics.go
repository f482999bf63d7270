// Package report writes what happens in a run: metrics.jsonl, metrics.csv,
// summary.json, and its progress for people.
package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Version of the form of the lines of metrics.jsonl, their field v.
const Version = 1

// Kinds of lines.
const (
	KindTrain = "train" // a stretch of training
	KindEval  = "eval"  // the validation data
	KindTest  = "test"  // the test data, once at the end
)

// Line is one line of metrics.jsonl, and one row of metrics.csv. Counts and
// seconds are totals since the run began, evaluation excluded; loss,
// echo_factor and duplicate_share are means since the last line of the kind.
// What does not apply is absent, and so is what is not a finite number, such
// as the loss of a run that diverged.
type Line struct {
	V              int      `json:"v"`
	Kind           string   `json:"kind"`
	Step           int64    `json:"step"`
	Epoch          *float64 `json:"epoch,omitempty"` // fresh_examples / records of the training data; absent where those have no end
	Examples       int64    `json:"examples"`        // rows trained on, echoes included
	FreshExamples  int64    `json:"fresh_examples"`  // rows trained on that were reads
	Reads          int64    `json:"reads"`           // records read to form the batches trained on
	Loss           *float64 `json:"loss,omitempty"`
	LR             *float64 `json:"lr,omitempty"`
	GradNorm       *float64 `json:"grad_norm,omitempty"` // of the last step, before clipping
	ValLoss        *float64 `json:"val_loss,omitempty"`
	ValError       *float64 `json:"val_error,omitempty"`
	ValPerplexity  *float64 `json:"val_perplexity,omitempty"` // of text: e to the power of val_loss
	TestLoss       *float64 `json:"test_loss,omitempty"`
	TestError      *float64 `json:"test_error,omitempty"`
	TestPerplexity *float64 `json:"test_perplexity,omitempty"`
	WallSeconds    float64  `json:"wall_seconds"` // since the first step
	WaitSeconds    float64  `json:"wait_seconds"` // of those, waiting for data
	StepSeconds    float64  `json:"step_seconds"` // of those, in steps
	CPUSeconds     float64  `json:"cpu_seconds"`
	EchoFactor     *float64 `json:"echo_factor,omitempty"`     // examples / fresh examples, realised
	DuplicateShare *float64 `json:"duplicate_share,omitempty"` // rows whose read was in their batch already
	Rates
}

// Metrics writes lines to metrics.jsonl and metrics.csv, each in one write,
// so that a killed run leaves whole lines.
type Metrics struct {
	jsonl, csv *os.File
	lines      int
}

// OpenMetrics begins both files in a directory; what they held is lost.
func OpenMetrics(dir string) (*Metrics, error) {
	m, err := openMetrics(dir, os.O_TRUNC)
	if err != nil {
		return nil, err
	}
	if err := writeCSV(m.csv, columns()); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// ContinueMetrics opens both files to go on after so many lines; what follows
// them is cut off. It is an error if there are fewer.
func ContinueMetrics(dir string, lines int) (*Metrics, error) {
	if err := CutLines(filepath.Join(dir, "metrics.jsonl"), lines); err != nil {
		return nil, err
	}
	if err := CutLines(filepath.Join(dir, "metrics.csv"), lines+1); err != nil { // with its header
		return nil, err
	}
	m, err := openMetrics(dir, os.O_APPEND)
	if err == nil {
		m.lines = lines
	}
	return m, err
}

func openMetrics(dir string, how int) (*Metrics, error) {
	var m Metrics
	for name, f := range map[string]**os.File{"metrics.jsonl": &m.jsonl, "metrics.csv": &m.csv} {
		var err error
		if *f, err = os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|how, 0o666); err != nil {
			m.Close()
			return nil, fmt.Errorf("report: %w", err)
		}
	}
	return &m, nil
}

// Lines returns how many lines the files hold.
func (m *Metrics) Lines() int { return m.lines }

// Sync flushes both files to storage.
func (m *Metrics) Sync() error {
	if err := errors.Join(m.jsonl.Sync(), m.csv.Sync()); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// Write appends a line to both files. It sets V.
func (m *Metrics) Write(l Line) error {
	l.V = Version
	l = finite(l)
	text, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("report: a line of metrics: %w", err)
	}
	if _, err := m.jsonl.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	m.lines++
	return writeCSV(m.csv, cells(l))
}

// Close closes both files.
func (m *Metrics) Close() error {
	var first error
	for _, f := range []*os.File{m.jsonl, m.csv} {
		if f == nil {
			continue
		}
		if err := f.Close(); err != nil && first == nil {
			first = fmt.Errorf("report: %w", err)
		}
	}
	return first
}

// columns returns the names of the fields of a Line.
func columns() []string {
	var names []string
	for _, f := range fields(reflect.TypeFor[Line]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// fields returns the fields of a struct and of those that it embeds.
func fields(t reflect.Type) []reflect.StructField {
	return slices.DeleteFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool { return f.Anonymous })
}

// cells writes the fields of l, with nothing for those that are absent.
func cells(l Line) []string {
	v := reflect.ValueOf(l)
	columns := fields(v.Type())
	out := make([]string, len(columns))
	for i, f := range columns {
		switch x := v.FieldByIndex(f.Index).Interface().(type) {
		case *float64:
			if x != nil {
				out[i] = strconv.FormatFloat(*x, 'g', -1, 64)
			}
		case float64:
			out[i] = strconv.FormatFloat(x, 'g', -1, 64)
		default:
			out[i] = fmt.Sprint(x)
		}
	}
	return out
}

func writeCSV(to io.Writer, row []string) error {
	var buf bytes.Buffer
	w := csv.NewWriter(&buf)
	if err := w.Write(row); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	w.Flush()
	if _, err := to.Write(buf.Bytes()); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// ReadMetrics reads the lines of a metrics.jsonl. A last line that was cut
// short is left out; anything else that is no line of this Version is an error
// naming it.
func ReadMetrics(path string) ([]Line, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	var lines []Line
	rows := bytes.Split(text, []byte("\n"))
	for i, row := range rows {
		if len(bytes.TrimSpace(row)) == 0 {
			continue
		}
		var l Line
		err := json.Unmarshal(row, &l)
		if err != nil && i == len(rows)-1 {
			break
		}
		if err == nil && l.V != Version {
			err = fmt.Errorf("v is %d, want %d", l.V, Version)
		}
		if err != nil {
			return nil, fmt.Errorf("report: %s:%d: %w", path, i+1, err)
		}
		lines = append(lines, l)
	}
	return lines, nil
}
