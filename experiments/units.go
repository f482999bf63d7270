package experiments

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/reprise-ml/reprise/train/report"
)

// parseNumber reads 128, 1e6, 0.5, 64k, 3M, 2G.
func parseNumber(s string) (float64, error) {
	text, scale := s, 1.0
	if text != "" {
		switch text[len(text)-1] {
		case 'k':
			scale = 1e3
		case 'M':
			scale = 1e6
		case 'G':
			scale = 1e9
		}
		if scale != 1 {
			text = text[:len(text)-1]
		}
	}
	v, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
		return 0, fmt.Errorf("%q is no number; examples: 128, 0.1, 1e6, 64k", s)
	}
	if v *= scale; math.IsInf(v, 0) {
		return 0, fmt.Errorf("%q is too large", s)
	}
	return v, nil
}

// parseCount is parseNumber for whole numbers.
func parseCount(s string) (int64, error) {
	v, err := parseNumber(s)
	if err == nil && (v != math.Trunc(v) || math.Abs(v) > 1<<53) {
		err = fmt.Errorf("%q is no whole number", s)
	}
	return int64(v), err
}

// Unit is what a [Span] counts.
type Unit string

// The units of a Span.
const (
	Steps  Unit = "steps"  // weight updates
	Fresh  Unit = "fresh"  // examples trained on that were reads, not echoes
	Epochs Unit = "epochs" // as many fresh examples as the training data has
)

// Span is a length of training: "4000 steps", "12.8k fresh", "2 epochs". The
// zero Span is not set.
type Span struct {
	N    float64
	Unit Unit
}

// UnmarshalText reads the form that String writes.
func (s *Span) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*s = Span{}
		return nil
	}
	number, unit, ok := strings.Cut(strings.TrimSpace(string(text)), " ")
	u := Unit(strings.TrimSpace(unit))
	n, err := parseNumber(number)
	if !ok || err != nil || n <= 0 || n > 1e15 || u != Steps && u != Fresh && u != Epochs {
		return fmt.Errorf("%q is no length of training; examples: 4000 steps, 12.8k fresh, 2 epochs", text)
	}
	*s = Span{n, u}
	return nil
}

// MarshalText writes s, and nothing where it is not set.
func (s Span) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// IsZero reports whether s is not set.
func (s Span) IsZero() bool { return s == Span{} }

// String writes s as "4000 steps".
func (s Span) String() string {
	if s.IsZero() {
		return ""
	}
	return strconv.FormatFloat(s.N, 'f', -1, 64) + " " + string(s.Unit)
}

// Bytes is an amount of memory or of data: 65536, 64KiB, 500MiB, 1.5MB.
type Bytes int64

var byteForm = regexp.MustCompile(`^([0-9.eE+]+)\s*(B|kB|KB|KiB|MB|MiB|GB|GiB)?$`)

var byteUnits = map[string]float64{
	"": 1, "B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9,
	"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30,
}

// UnmarshalText reads a number with or without a unit.
func (b *Bytes) UnmarshalText(text []byte) error {
	m := byteForm.FindStringSubmatch(strings.TrimSpace(string(text)))
	if m != nil {
		v, err := strconv.ParseFloat(m[1], 64)
		if v *= byteUnits[m[2]]; err == nil && v < 1<<62 {
			*b = Bytes(v)
			return nil
		}
	}
	return fmt.Errorf("%q is no amount of bytes; examples: 65536, 64KiB, 500MiB", text)
}

// MarshalText writes b so that UnmarshalText reads it back exactly.
func (b Bytes) MarshalText() ([]byte, error) {
	for _, u := range []string{"GiB", "MiB", "KiB"} {
		if unit := Bytes(byteUnits[u]); b >= unit && b%unit == 0 {
			return fmt.Appendf(nil, "%d%s", b/unit, u), nil
		}
	}
	return strconv.AppendInt(nil, int64(b), 10), nil
}

// String writes b rounded, for people: 1.5 MiB.
func (b Bytes) String() string {
	for _, u := range []string{"GiB", "MiB", "KiB"} {
		if unit := byteUnits[u]; float64(b) >= unit {
			return fmt.Sprintf("%.1f %s", float64(b)/unit, u)
		}
	}
	return fmt.Sprintf("%d B", int64(b))
}

// Buffer is the size of a buffer: a number of items (10k), or an amount of
// memory (500MiB), which becomes a number before the first read.
type Buffer struct {
	Items  int
	Memory Bytes // 0 where Items counts
}

// UnmarshalText reads a number, or an amount of memory with its unit.
func (b *Buffer) UnmarshalText(text []byte) error {
	if n, err := parseCount(string(text)); err == nil && n >= 0 && n < 1<<40 {
		*b = Buffer{Items: int(n)}
		return nil
	}
	var m Bytes
	if err := m.UnmarshalText(text); err != nil || m <= 0 {
		return fmt.Errorf("%q is no size of a buffer; examples: 10000, 64k (items), 500MiB (memory)", text)
	}
	*b = Buffer{Memory: m}
	return nil
}

// MarshalYAML writes b so that UnmarshalText reads it back.
func (b Buffer) MarshalYAML() (any, error) {
	if b.Memory == 0 {
		return b.Items, nil
	}
	text, err := b.Memory.MarshalText()
	if err == nil && text[len(text)-1] != 'B' {
		text = append(text, 'B')
	}
	return string(text), err
}

// of returns b as a number of items of a size, at least one.
func (b Buffer) of(size Bytes) Buffer {
	if b.Memory == 0 {
		return b
	}
	return Buffer{Items: max(int(b.Memory/size), 1)}
}

// What a machine may be asked for: beyond it a slip of the keyboard is likelier than a use.
const (
	mostRows    = 1 << 20 // of a batch
	mostThreads = 1024
)

// Threads is a number of threads; 0, written auto, means one a core.
type Threads int

// UnmarshalText reads a number from 1, or auto.
func (t *Threads) UnmarshalText(text []byte) error {
	if string(text) == "auto" {
		*t = 0
		return nil
	}
	n, err := parseCount(string(text))
	if err != nil || n < 1 || n > mostThreads {
		return fmt.Errorf("%q is no number of threads; want 1 to %d, or auto", text, mostThreads)
	}
	*t = Threads(n)
	return nil
}

// MarshalYAML writes t so that UnmarshalText reads it back.
func (t Threads) MarshalYAML() (any, error) {
	if t == 0 {
		return "auto", nil
	}
	return int(t), nil
}

func (t Threads) number() int {
	if t == 0 {
		return runtime.GOMAXPROCS(0)
	}
	return int(t)
}

// The scores that runs are compared by, the least being best.
const (
	ValError = "val_error" // of classes
	ValLoss  = "val_loss"  // of text
)

// Target is a goal on the validation data: "val_error<=0.09".
type Target struct {
	Metric string // val_error, val_accuracy, val_loss or val_perplexity
	Bound  float64
}

var targetForm = regexp.MustCompile(`^\s*(val_error|val_loss|val_accuracy|val_perplexity)\s*(<=|>=)\s*([0-9.eE+-]+%?)\s*$`)

// UnmarshalText reads the form that String writes; 9% is 0.09.
func (t *Target) UnmarshalText(text []byte) error {
	bad := fmt.Errorf("%q is no target; examples: val_error<=0.09, val_loss<=3.9, val_accuracy>=91%%", text)
	m := targetForm.FindStringSubmatch(string(text))
	if m == nil || (m[2] == ">=") != (m[1] == "val_accuracy") {
		return bad
	}
	number, percent := strings.CutSuffix(m[3], "%")
	v, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return bad
	}
	if percent {
		v /= 100
	}
	*t = Target{m[1], v}
	return nil
}

// MarshalText writes t, and nothing where it is not set.
func (t Target) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// IsZero reports whether t is not set.
func (t Target) IsZero() bool { return t == Target{} }

// String writes t as val_error<=0.09.
func (t Target) String() string {
	switch t.Metric {
	case "":
		return ""
	case "val_accuracy":
		return fmt.Sprintf("val_accuracy>=%g", t.Bound)
	}
	return fmt.Sprintf("%s<=%g", t.Metric, t.Bound)
}

// Reached reports whether an evaluation meets t. A score that it lacks meets
// nothing.
func (t Target) Reached(s report.Scores) bool {
	switch {
	case t.Metric == "val_loss":
		return s.Loss <= t.Bound
	case t.Metric == "val_error" && s.Error != nil:
		return *s.Error <= t.Bound
	case t.Metric == "val_accuracy" && s.Error != nil:
		return 1-*s.Error >= t.Bound
	case t.Metric == "val_perplexity" && s.Perplexity != nil:
		return *s.Perplexity <= t.Bound
	}
	return false
}

// check says why t cannot be met on such data.
func (t Target) check(of Shape) error {
	switch classes := t.Metric == "val_error" || t.Metric == "val_accuracy"; {
	case classes && of.Text():
		return fmt.Errorf("%s is of classes, and data.source has text; want val_loss or val_perplexity", t.Metric)
	case t.Metric == "val_perplexity" && !of.Text():
		return errors.New("val_perplexity is of text, and data.source has classes; want val_error, val_accuracy or val_loss")
	}
	return nil
}

// parseDuration is time.ParseDuration with an error that shows examples.
func parseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is no duration; examples: 2ms, 30s, 1m30s", s)
	}
	return d, nil
}
