package experiments

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reprise-ml/reprise/echo"
	"github.com/reprise-ml/reprise/nn"
	"github.com/reprise-ml/reprise/train/report"
)

// ofRhyme is a spec of a tiny language model on bytes, in lines or chunks of
// rhyme.txt.
const ofRhyme = `
data: {source: {text: {path: rhyme.txt, context: 16}}}
pipeline: {shuffle: 8}
model: {transformer: {layers: 1, width: 16, heads: 2}}
train: {batch: 8, optimizer: adamw, rate: {start: 0.01}, compute_threads: 1}
stop: {max_steps: 12}
evaluate: {every: 6 steps, batch: 8}
log: {every: 6 steps}
`

// rhyme makes rhyme.txt in a directory of its own, and returns a spec of it.
func rhyme(t *testing.T, sets ...string) Spec {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rhyme.txt")
	if err := os.WriteFile(path, []byte(strings.Repeat("one two\nbuckle my shoe\nthree four\nknock at the door\n", 25)), 0o644); err != nil {
		t.Fatal(err)
	}
	return parse(t, ofRhyme, append([]string{"data.source.text.path=" + path}, sets...)...)
}

func TestALanguageModelIsTrainedAndJudgedByItsLossPerToken(t *testing.T) {
	s, dir := trained(t, rhyme(t, "train.label_smoothing=0.1", "stop.target=val_perplexity<=1.01"))
	if s.Status != report.Budget || s.FinalValError != nil || s.BestValError != nil || s.BestStep == nil || *s.BestStep != 12 {
		t.Errorf("the summary is %+v", s)
	}
	first := metricsOf(t, dir, report.KindEval)[0]
	if first.ValError != nil || *first.ValPerplexity != math.Exp(*first.ValLoss) || *s.FinalValPerplexity != math.Exp(*s.FinalValLoss) || *s.FinalValLoss >= math.Log(257) {
		t.Errorf("the first evaluation is %+v, the summary %+v", first, s)
	}
	spec, weights, err := DefaultRegistry().LoadRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := spec.EvaluateWeights(context.Background(), weights)
	if err != nil || len(parts) != 1 {
		t.Fatalf("%d parts, %v", len(parts), err)
	}
	// A tenth of 100 lines; their tokens and the end of each, up to the context.
	if p := parts[0]; p.Loss != *s.BestValLoss || p.Error != nil || p.Classes != nil || p.Examples != 10 || p.Tokens < 80 || p.Tokens > 160 {
		t.Errorf("the best weights evaluate as %+v", p)
	}
}

func TestDropoutAndOtherOptionsTrain(t *testing.T) {
	for _, model := range []string{"dropout: 0.1, tied: true", "norm: post, positions: sinusoidal, activation: relu", "context: 32, feed_forward: 24"} {
		s, _ := trained(t, rhyme(t, "model={transformer: {layers: 1, width: 16, heads: 2, "+model+"}}"))
		if s.Status != report.Done || *s.FinalValLoss >= math.Log(257) {
			t.Errorf("%s: %+v", model, s)
		}
	}
}

// generated is what weights of a run make.
func generated(t *testing.T, dir string, g Generation) (string, Generated) {
	t.Helper()
	s, weights, err := DefaultRegistry().LoadRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	made, err := s.Generate(context.Background(), weights, g, &out)
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), made
}

func TestAModelGoesOnWithWhatItLearned(t *testing.T) {
	_, dir := trained(t, rhyme(t, "stop.max_steps=150", "evaluate.every=50 steps"))
	text, made := generated(t, dir, Generation{Prompt: "buckle", Tokens: 40})
	if text != " my shoe" || !made.Ended || made.Tokens != 9 || made.PromptTokens != 7 {
		t.Errorf("buckle goes on with %q, %+v", text, made)
	}
	line, made := generated(t, dir, Generation{Tokens: 100, IgnoreEnd: true, Temperature: 0.1})
	if made.Ended || made.Tokens != 100 || made.PromptTokens != 1 || len(line) != 100 || strings.Count(line, "\n") < 3 {
		t.Errorf("without a prompt and an end it makes %q, %+v", line, made)
	}
	if again, _ := generated(t, dir, Generation{Tokens: 100, IgnoreEnd: true, Temperature: 0.1}); again != line {
		t.Errorf("the same seed makes %q and %q", line, again)
	}
	drawn := func(seed uint64, k int) string {
		text, _ := generated(t, dir, Generation{Tokens: 60, IgnoreEnd: true, Temperature: 3, TopK: k, Seed: seed})
		return text
	}
	if drawn(1, 0) == drawn(2, 0) || drawn(1, 0) == drawn(1, 2) {
		t.Error("another seed, or fewer tokens to draw from, make the same text")
	}
	if drawn(1, 1) != drawn(2, 1) {
		t.Error("of one token, two are drawn")
	}
}

func TestALongPromptIsReadFromItsEnd(t *testing.T) {
	_, dir := trained(t, rhyme(t, "data.source.text.layout=chunks"))
	end := "knock at the doo" // as long as the context
	of := func(prompt string) string {
		text, _ := generated(t, dir, Generation{Prompt: prompt, Tokens: 50, Temperature: 1, Seed: 3, IgnoreEnd: true})
		return text
	}
	if long := of(strings.Repeat("three four\n", 20) + end); long != of(end) {
		t.Errorf("its end alone goes on otherwise than %q", long)
	}
}

func TestWhereTheContextIsFullTheNewerHalfIsReadAgain(t *testing.T) {
	s := rhyme(t)
	reader := func() *reader {
		m := new(reader)
		var err error
		if m.generator, err = s.Model.Value.(Speaker).Generator(Shape{Classes: 257, Context: 7}, &m.params, nn.Config{}); err != nil {
			t.Fatal(err)
		}
		return m
	}
	read := func(tokens ...int32) []float32 {
		m := reader()
		for _, v := range tokens {
			if err := m.read(v); err != nil {
				t.Fatal(err)
			}
		}
		return m.logits
	}
	if !slices.Equal(read(1, 2, 3, 4, 5, 6, 7, 8), read(5, 6, 7, 8)) {
		t.Error("the eighth token of a context of 7 does not follow the last three")
	}
	if !slices.Equal(read(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12), read(9, 10, 11, 12)) {
		t.Error("the context is not halved again")
	}
	if slices.Equal(read(1, 2, 3, 4, 5, 6, 7), read(5, 6, 7)) {
		t.Error("tokens within the context are forgotten")
	}
}

func TestChunksBeginWithThePromptAlone(t *testing.T) {
	_, dir := trained(t, rhyme(t, "data.source.text.layout=chunks"))
	for prompt, want := range map[string]int{"": 1, "abc": 3} {
		if _, made := generated(t, dir, Generation{Prompt: prompt, Tokens: 1}); made.PromptTokens != want {
			t.Errorf("%q: %d tokens are read, want %d", prompt, made.PromptTokens, want)
		}
	}
}

func TestAnInterruptionEndsGeneration(t *testing.T) {
	_, dir := trained(t, rhyme(t))
	s, weights, err := DefaultRegistry().LoadRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var out bytes.Buffer
	if _, err := s.Generate(ctx, weights, Generation{Tokens: 1 << 40}, &out); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestOnlyLanguageModelsGenerate(t *testing.T) {
	_, dir := trained(t, parse(t, small))
	s, weights, err := DefaultRegistry().LoadRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Generate(context.Background(), weights, Generation{Tokens: 1}, nil); !errors.Is(err, ErrNoLanguageModel) || !strings.Contains(err.Error(), "synth") {
		t.Errorf("of a run on pictures: error %v", err)
	}
	for _, g := range []Generation{{}, {Tokens: -1}, {Tokens: 1, Temperature: -1}, {Tokens: 1, Temperature: math.NaN()}, {Tokens: 1, TopK: -1}} {
		if _, err := rhyme(t).Generate(context.Background(), "", g, nil); err == nil || g.Check() == nil {
			t.Errorf("%+v: error %v", g, err)
		}
	}
}

func TestModelsForOtherDataAreRefusedByTheirKey(t *testing.T) {
	for _, c := range []struct {
		spec Spec
		want string
	}{
		{rhyme(t, "model={resnet_cifar: {depth: 8}}"), "model.resnet_cifar: is a model of pictures"},
		{rhyme(t, "model={vit: {size: tiny}}"), "model.vit: is a model of pictures"},
		{parse(t, small, "model={transformer: {layers: 1}}"), "model.transformer: is a language model"},
		{parse(t, small, "model={vit: {size: tiny}}"), "model.vit: patch: is 16, which does not divide the pictures of 8 pixels"},
		{parse(t, small, "model={vit: {size: huge, patch: 4}}"), `model.vit: size: is "huge"; want one of tiny, small, base`},
		{parse(t, small, "model={vit: {patch: 4}}"), "model.vit: size: is missing"},
		{parse(t, small, "model={vit: {size: tiny, width: 64, patch: 4}}"), "want either"},
		{rhyme(t, "model={transformer: {context: 8}}"), "model.transformer: context: is 8, less than the 16 tokens"},
		{rhyme(t, "model={transformer: {vocab: 8}}"), "model.transformer: vocab: is 8, and the vocabulary of the data has 257 tokens"},
		{rhyme(t, "model={transformer: {width: 10, heads: 3}}"), "model.transformer: "},
		{rhyme(t, "stop.target=val_error<=0.1"), "stop.target: val_error is of classes"},
	} {
		err := (&Run{Spec: c.spec}).Check(context.Background())
		var spec SpecError
		if !errors.As(err, &spec) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one of the spec with %q", err, c.want)
		}
	}
}

func TestAComparisonOfTextTellsLosses(t *testing.T) {
	c := Comparison{
		Spec: rhyme(t, "evaluate.every=48 fresh"), Dir: t.TempDir(),
		Strategies: []echo.Strategy{echo.None, echo.Example, echo.Augmentation, echo.Batch}, Factors: []echo.Factor{2},
	}
	table, err := c.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if len(table.Rows) != 3 || table.Metric != ValLoss {
		t.Errorf("%d rows by %s, want 3 by val_loss", len(table.Rows), table.Metric)
	}
	if text := texted(t, table); !strings.Contains(text, "Best validation loss") || !strings.Contains(text, "ppl") {
		t.Errorf("the table is\n%s", text)
	}
}

func TestARunGoesByTheTokenizerItBeganWith(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "own.tiktoken")
	tokenizer := func(text string) {
		path := filepath.Join(dir, "text.txt")
		if err := os.WriteFile(path, []byte(strings.Repeat(text+"\n", 20)), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := (TokenizerTraining{Paths: []string{path}, Merges: 3, Out: file}).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	tokenizer("one two buckle my shoe")
	_, run := trained(t, rhyme(t, "stop.max_steps=6", "data.source.text.tokenizer="+file))
	evaluate := func() error {
		s, weights, err := DefaultRegistry().LoadRun(run)
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.EvaluateWeights(t.Context(), weights)
		return err
	}
	if err := evaluate(); err != nil {
		t.Fatal(err)
	}
	tokenizer("knock at the door")
	if err := evaluate(); err == nil || !strings.Contains(err.Error(), "own.tiktoken is not the one that the run began with") {
		t.Errorf("with another tokenizer of as many tokens: %v", err)
	}
}
