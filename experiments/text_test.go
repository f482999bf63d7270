package experiments

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/data/text"
	"github.com/reprise-ml/reprise/echo"
	"github.com/reprise-ml/reprise/nn"
	"github.com/reprise-ml/reprise/train"
)

// corpus writes files of numbered lines to a new directory.
func corpus(t *testing.T, files map[string]int) string {
	t.Helper()
	dir := t.TempDir()
	for name, lines := range files {
		var b bytes.Buffer
		for i := range lines {
			fmt.Fprintf(&b, "%s says %d\n", filepath.Base(name), i)
		}
		if strings.HasSuffix(name, ".gz") {
			var packed bytes.Buffer
			z := gzip.NewWriter(&packed)
			z.Write(b.Bytes())
			z.Close()
			b = packed
		}
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const ofText = `
data: {source: {text: {path: "%s", context: 24}}}
pipeline: {shuffle: 8, readers: 2, workers: 2}
model: {mlp: {hidden: [4]}}
train: {batch: 4}
stop: {max_steps: 4}
evaluate: {batch: 4}
`

func textSpec(t *testing.T, path string, sets ...string) Spec {
	t.Helper()
	return parseWith(t, DefaultRegistry(), fmt.Sprintf(ofText, path), sets...)
}

func TestASpecOfTextIsSplitAndBatched(t *testing.T) {
	dir := corpus(t, map[string]int{"a.txt": 100})
	s, d, err := textSpec(t, filepath.Join(dir, "a.txt")).Open()
	if err != nil {
		t.Fatal(err)
	}
	if s.Data.Train != "all[:90%]" || s.Data.Validation != "all[90%:]" || d.Train.Len() != 90 || d.Validation.Len() != 10 || d.Vocabulary != 257 || d.Classes != nil {
		t.Errorf("%q and %q, %+v", s.Data.Train, s.Data.Validation, d)
	}
	for b, err := range s.Pipeline(t.Context(), d.Train, nil, nil, Start{}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range []data.Array{b.Inputs[0], b.Targets[0], b.Weights} {
			if !slices.Equal(a.Shape, []int{4, 24}) {
				t.Errorf("shape %v", a.Shape)
			}
		}
		if b.Inputs[0].I32[0] != 256 || b.Inputs[0].I32[1] != 'a' || b.Weights.F32[0] != 1 || b.Weights.F32[23] != 0 {
			t.Errorf("row 0 is %v, its weights %v", b.Inputs[0].I32[:24], b.Weights.F32[:24])
		}
		break
	}
	rows := 0
	for b, err := range s.Once(t.Context(), d.Validation, nil) {
		if err != nil {
			t.Fatal(err)
		}
		for r := range 4 {
			if b.Weights.F32[r*24] > 0 {
				rows++
			}
		}
	}
	if rows != 10 {
		t.Errorf("evaluation sees %d lines", rows)
	}
}

func TestChunksOfTwoSplitsShareNoTarget(t *testing.T) {
	dir := corpus(t, map[string]int{"a": 100})
	s, d, err := textSpec(t, dir, "data.source.text.layout=chunks", "data.source.text.context=10", "train.batch=1").Open()
	if err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(filepath.Join(dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := d.Train.Len()+d.Validation.Len(), len(whole)/10; got != want {
		t.Errorf("%d chunks, want %d", got, want)
	}
	seen := map[string]bool{}
	for _, src := range []data.Source{d.Train, d.Validation} {
		for i := range src.Len() {
			name := data.RecordName(src, i)
			if seen[name] {
				t.Errorf("%s is in both", name)
			}
			seen[name] = true
		}
	}
	if s.Stages.Shuffle.Items != 8 {
		t.Error("the buffer is not that of the spec")
	}
}

func TestPartsNamedInTheSetAreItsSplits(t *testing.T) {
	dir := corpus(t, map[string]int{
		"training-monolingual.tokenized.shuffled/news.en-00001-of-00100":        30,
		"training-monolingual.tokenized.shuffled/news.en-00002-of-00100":        20,
		"heldout-monolingual.tokenized.shuffled/news.en.heldout-00000-of-00050": 7,
	})
	s, d, err := textSpec(t, dir).Open()
	if err != nil {
		t.Fatal(err)
	}
	if s.Data.Train != "train" || s.Data.Validation != "heldout" || d.Train.Len() != 50 || d.Validation.Len() != 7 || d.Test != nil {
		t.Errorf("%q and %q, %+v", s.Data.Train, s.Data.Validation, d)
	}
}

func TestStreamedTextTrainsInterleavedFromAnyNumberOfWorkers(t *testing.T) {
	dir := corpus(t, map[string]int{"train/a.gz": 40, "train/b": 50, "train/c": 10, "valid/x": 9})
	of := func(workers int, sets ...string) (*Dataset, []data.Batch) {
		sets = append([]string{"data.source.text.stream=true", "data.source.text.cycle=2", fmt.Sprintf("pipeline.workers=%d", workers), fmt.Sprintf("pipeline.readers=%d", workers)}, sets...)
		s, d, err := textSpec(t, dir, sets...).Open()
		if err != nil {
			t.Fatal(err)
		}
		if s.Evaluate.Every != (Span{10_000, Fresh}) {
			t.Errorf("it is evaluated every %v", s.Evaluate.Every)
		}
		var all []data.Batch
		for b, err := range s.Pipeline(t.Context(), d.Train, nil, nil, Start{}) {
			if err != nil {
				t.Fatal(err)
			}
			if all = append(all, b); len(all) == 40 {
				break
			}
		}
		return d, all
	}
	d, one := of(1)
	_, five := of(5)
	if d.Train.Len() != data.Endless || d.Validation.Len() != 9 {
		t.Errorf("%d and %d records", d.Train.Len(), d.Validation.Len())
	}
	if !reflect.DeepEqual(one, five) {
		t.Error("the number of workers makes a difference")
	}
	_, read := of(3, "echo.strategy=read", "echo.factor=2.5")
	_, example := of(3, "echo.strategy=example", "echo.factor=2.5")
	if !reflect.DeepEqual(read, example) || reflect.DeepEqual(read, one) {
		t.Error("echo of reads and of examples differ")
	}
	if _, _, err := textSpec(t, dir, "data.source.text.stream=true", "data.train=train[:90%]", "data.validation=train[90%:]").Open(); err == nil || !strings.Contains(err.Error(), "cuts a source that has no end") {
		t.Error(err)
	}
}

func TestSimulatedStorageSlowsStreamsToo(t *testing.T) {
	dir := corpus(t, map[string]int{"train/a": 40, "valid/x": 9})
	s, d, err := textSpec(t, dir, "data.source.text.stream=true").Open()
	if err != nil {
		t.Fatal(err)
	}
	reads := make(chan data.Origin, 1000)
	through := func(read data.Reader) data.Reader {
		return func(ctx context.Context, o data.Origin) (data.Example, error) {
			reads <- o
			return read(ctx, o)
		}
	}
	for b, err := range s.Pipeline(t.Context(), d.Train, through, nil, Start{}) {
		if err != nil || len(reads) < int(b.Reads) {
			t.Errorf("%d of %d records were read through the storage, %v", len(reads), b.Reads, err)
		}
		break
	}
}

func TestTextRefusesWhatIsAboutPictures(t *testing.T) {
	dir := corpus(t, map[string]int{"a": 20})
	for _, c := range []struct{ set, want string }{
		{"input.size=24", "input: is about pictures"},
		{"input.augment=[flip]", "input: is about pictures"},
		{"input.mean=[0,0,0]", "input: is about pictures"},
		{"echo.strategy=augmentation", "echo.strategy: augmentation is the same as example where nothing is augmented"},
		{"data.source.text.context=0", "data.source.text: context is 0"},
		{"data.source.text.layout=pages", `data.source.text: layout is "pages"`},
		{"data.source.text.stream=perhaps", `data.source.text: stream is "perhaps"`},
		{"data.source.text.cycle=0", "data.source.text: cycle is 0"},
	} {
		if _, err := DefaultRegistry().Parse("test.yaml", fmt.Sprintf(ofText, dir), c.set); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.set, err, c.want)
		}
	}
	empty := filepath.Join(t.TempDir(), "blank.txt")
	if err := os.WriteFile(empty, []byte("\n\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ set, want string }{
		{"data.source.text.tokenizer=none.tiktoken", "tokenizer: text: the tokenizer: "},
		{"data.source.text.path=none", "there is no none"},
		{"data.source.text.path=" + empty, "blank.txt holds no text"},
		{"data.train=train", `has no part "train", but all`},
		{"data.source.text.path=${REPRISE_NO_SUCH}/x", "REPRISE_NO_SUCH, which is not set"},
	} {
		if _, _, err := textSpec(t, dir, c.set, "data.validation=all").Open(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.set, err, c.want)
		}
	}
}

func TestASpecOfTextIsReadBackAsItWasWritten(t *testing.T) {
	s := textSpec(t, corpus(t, map[string]int{"a": 20}), "data.source.text.layout=packed", "data.source.text.stream=false")
	var b bytes.Buffer
	if err := s.Write(&b); err != nil {
		t.Fatal(err)
	}
	again, err := DefaultRegistry().Parse("config.yaml", b.String())
	if err != nil {
		t.Fatal(err)
	}
	var c bytes.Buffer
	if err := again.Write(&c); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Bytes(), c.Bytes()) || !strings.Contains(b.String(), "layout: packed") || strings.Contains(b.String(), "input:") {
		t.Errorf("was\n%s\nis\n%s", b.String(), c.String())
	}
}

func TestAComparisonOfTextLeavesAugmentationOut(t *testing.T) {
	c := Comparison{Spec: textSpec(t, corpus(t, map[string]int{"a": 20})), Strategies: echo.Strategies(), Factors: []echo.Factor{2}}
	arms, notices, err := c.Arms()
	if err != nil {
		t.Fatal(err)
	}
	want := []Arm{{Strategy: echo.None, Factor: 1}, {Strategy: echo.Read, Factor: 2}, {Strategy: echo.Example, Factor: 2}, {Strategy: echo.Batch, Factor: 2}}
	if !slices.Equal(arms, want) || len(notices) == 0 || !slices.ContainsFunc(notices, func(n string) bool { return strings.HasPrefix(n, "augmentation is left out: ") }) {
		t.Errorf("%v, with %q", arms, notices)
	}
}

func TestTheStartOfARunSaysWhatAnExampleOfTextIs(t *testing.T) {
	dir := corpus(t, map[string]int{"a": 60})
	for layout, want := range map[text.Layout]string{
		text.Lines:  "the line is the example, padded or cut to 24 tokens",
		text.Chunks: "the chunk of 24 tokens is the example",
		text.Packed: "the chunk of 24 tokens, of packed lines, is the example",
	} {
		var notices []string
		r := Run{Spec: textSpec(t, dir, "data.source.text.layout="+string(layout), "pipeline.shuffle=10000B"), Notice: func(n string) { notices = append(notices, n) }}
		if err := r.open(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(notices, want) {
			t.Errorf("%s: %q, want %q", layout, notices, want)
		}
		// 25 tokens of 4 bytes, and what an example takes by itself.
		if got := r.Spec.Stages.Shuffle.Items; got != 10000/(4*25+128) {
			t.Errorf("%s: the buffer holds %d examples", layout, got)
		}
		if got := r.hollow; !slices.Equal(got.Inputs[0].Shape, []int{4, 24}) || !slices.Equal(got.Weights.Shape, []int{4, 24}) {
			t.Errorf("%s: a batch has the shape %v, its weights %v", layout, got.Inputs[0].Shape, got.Weights.Shape)
		}
	}
}

func TestExplainDrawsThePipelineOfText(t *testing.T) {
	dir := corpus(t, map[string]int{"train/a": 40, "train/b": 40, "valid/x": 9})
	drawn := func(sets ...string) string {
		r := Run{Spec: textSpec(t, dir, sets...)}
		if err := r.open(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.learner = &train.Learner{Params: nn.Params{}}
		return r.explained(Buffer{}, nil)
	}
	got := drawn("echo.strategy=read")
	for _, want := range []string{
		"source     train of text, 80 records, a vocabulary of 257 tokens, permuted",
		"read       2 at once\n",
		"echo ×2: every copy is made into tokens anew",
		"decode     2 workers: text to tokens; the line is the example",
		"batch      4 examples to int32",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nlacks %q", got, want)
		}
	}
	if strings.Contains(got, "augment") || strings.Contains(got, "JPEG") {
		t.Errorf("%s\nspeaks of pictures", got)
	}
	got = drawn("echo.strategy=example", "data.source.text.stream=true", "data.source.text.cycle=5")
	for _, want := range []string{"records without end, a vocabulary of 257 tokens", "read       2 of 2 streams at once, a record each in turn", "echo ×2: copies are equal"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nlacks %q", got, want)
		}
	}
}

func TestATokenizerIsTrainedOnTheTrainingDataAndNamedInASpec(t *testing.T) {
	dir := corpus(t, map[string]int{"train/a.gz": 200, "valid/x": 9})
	out := filepath.Join(t.TempDir(), "own.tiktoken")
	made, err := TokenizerTraining{Paths: []string{dir}, Merges: 20, Out: out}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if made.Vocabulary != 277 || made.Bytes != int64(200*len("a.gz says ")+10+2*90+3*100+200) || made.BytesPerToken <= 1.5 {
		t.Errorf("%+v", made)
	}
	before, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (TokenizerTraining{Paths: []string{dir}, Merges: 20, Out: out}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after, err := os.ReadFile(out); err != nil || !bytes.Equal(before, after) {
		t.Error("the same text makes another file")
	}
	_, d, err := textSpec(t, dir, "data.source.text.tokenizer="+out).Open()
	if err != nil || d.Vocabulary != 277 {
		t.Errorf("%+v, %v", d, err)
	}
	for _, paths := range [][]string{{filepath.Join(dir, "none")}, {filepath.Join(dir, "valid", "..", "v*")}} {
		if _, err := (TokenizerTraining{Paths: paths, Merges: 5, Out: out}).Run(t.Context()); err == nil {
			t.Errorf("%q is trained on", paths)
		}
	}
}
