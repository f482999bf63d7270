package experiments

import (
	"context"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/internal/safetensors"
	"github.com/reprise-ml/reprise/train"
	"github.com/reprise-ml/reprise/train/report"
)

// rates returns the rate of every step of a run, and where it stood before
// the step.
func rates(t *testing.T, sets ...string) (rates, steps, fresh []float64) {
	t.Helper()
	_, r := newLab(64)
	_, dir := trained(t, parseWith(t, r, ofLab, sets...))
	at := 0.0
	for i, l := range metricsOf(t, dir, report.KindTrain) {
		rates, steps, fresh = append(rates, *l.LR), append(steps, float64(i)), append(fresh, at)
		at = float64(l.FreshExamples)
	}
	return rates, steps, fresh
}

func TestTheRateOfEveryStepIsTheFormulaOfItsSchedule(t *testing.T) {
	formulas := map[string]func(x float64) float64{ // x is the share of the horizon
		"{schedule: constant, start: 0.01}":                                func(float64) float64 { return 0.01 },
		"{schedule: linear, start: 0.01}":                                  func(x float64) float64 { return 0.01 * (1 - x) },
		"{schedule: linear, start: 0.01, end: 0.004}":                      func(x float64) float64 { return 0.01 - 0.006*x },
		"{schedule: cosine, start: 0.01}":                                  func(x float64) float64 { return 0.005 * (1 + math.Cos(math.Pi*x)) },
		"{schedule: cosine, start: 0.01, end: 0.002}":                      func(x float64) float64 { return 0.002 + 0.004*(1+math.Cos(math.Pi*x)) },
		"{schedule: exponential, start: 0.01}":                             func(x float64) float64 { return 0.01 * math.Pow(0.01, x) },
		"{schedule: exponential, start: 0.01, end: 0.005}":                 func(x float64) float64 { return 0.01 * math.Pow(0.5, x) },
		"{schedule: step, start: 0.01}":                                    func(x float64) float64 { return 0.01 * math.Pow(0.1, one(x >= 0.5)+one(x >= 0.75)) },
		"{schedule: step, start: 0.01, at: [0.25, 0.5, 0.8], factor: 0.5}": func(x float64) float64 { return 0.01 * math.Pow(0.5, one(x >= 0.25)+one(x >= 0.5)+one(x >= 0.8)) },
		"{schedule: linear, start: 0.01, horizon: 10 steps}":               func(x float64) float64 { return 0.01 * (1 - min(2*x, 1)) },
		"{schedule: linear, start: 0.01, horizon: 40 steps}":               func(x float64) float64 { return 0.01 * (1 - x/2) },
	}
	for rate, formula := range formulas {
		got, steps, _ := rates(t, "train.rate="+rate, "stop.max_steps=20")
		for i, v := range got {
			if want := formula(steps[i] / 20); !near(v, want, 1e-12) {
				t.Errorf("%s: the rate of step %d is %g, want %g", rate, i+1, v, want)
			}
		}
		if len(got) != 20 {
			t.Errorf("%s: %d steps were logged", rate, len(got))
		}
	}
}

// one is 1 where b holds.
func one(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func TestAHorizonAndAWarmUpAreInStepsOrInFreshExamples(t *testing.T) {
	const linear = "train.rate={schedule: linear, start: 0.01"
	for _, c := range []struct {
		sets    []string
		horizon float64 // in fresh examples; negative: in steps
		warmup  float64
	}{
		{[]string{linear + "}", "stop={max_steps: 0, max_fresh: 160}"}, 160, 0},
		{[]string{linear + "}", "stop={max_steps: 0, max_epochs: 2.5}"}, 160, 0},
		{[]string{linear + "}", "stop={max_steps: 0, max_epochs: 2.5, max_fresh: 80}"}, 80, 0},
		{[]string{linear + "}", "stop={max_steps: 20, max_epochs: 2.5}"}, -20, 0}, // a limit in steps is the horizon, whichever comes first
		{[]string{linear + ", horizon: 200 fresh}"}, 200, 0},
		{[]string{linear + ", horizon: 3 epochs}"}, 192, 0},
		{[]string{linear + ", warmup: 4 steps}", "stop.max_steps=20"}, -20, 4},
		{[]string{linear + ", horizon: 3 epochs, warmup: 0.5 epochs}"}, 192, 32},
		{[]string{linear + ", horizon: 3 epochs, warmup: 40 fresh}", "stop.max_steps=20"}, 192, 40},
		{[]string{linear + ", warmup: 40 fresh}", "stop={max_steps: 0, max_fresh: 160}"}, 160, 40},
	} {
		for _, echoing := range []string{"echo.strategy=none", "echo={strategy: batch, factor: 2}"} {
			got, steps, fresh := rates(t, append(c.sets, echoing)...)
			at, over := fresh, c.horizon
			if over < 0 {
				at, over = steps, -over
			}
			for i, v := range got {
				want := 0.01 * (1 - min(at[i]/over, 1))
				if at[i] < c.warmup {
					want = at[i] / c.warmup * 0.01 * (1 - c.warmup/over)
				}
				if !near(v, want, 1e-12) {
					t.Fatalf("%v, %s: the rate of step %d is %g, want %g", c.sets, echoing, i+1, v, want)
				}
			}
		}
	}
}

func TestEvaluationAndLoggingGoByWhatTheirIntervalCounts(t *testing.T) {
	for every, want := range map[string][2][]int64{ // steps with none, and with batch by 2
		"3 steps":    {{3, 6, 9, 10}, {3, 6, 9, 10}},
		"24 fresh":   {{3, 6, 9, 10}, {5, 10}},
		"20 fresh":   {{3, 5, 8, 10}, {5, 9, 10}},
		"0.5 epochs": {{4, 8, 10}, {7, 10}},
		"1 epochs":   {{8, 10}, {10}},
		"5 steps":    {{5, 10}, {5, 10}},
	} {
		for i, strategy := range []string{"none", "batch"} {
			_, r := newLab(64)
			_, dir := trained(t, parseWith(t, r, ofLab, "echo.strategy="+strategy, "stop.max_steps=10", "evaluate.every="+every, "log.every="+every))
			for _, kind := range []string{report.KindTrain, report.KindEval} {
				var steps []int64
				for _, l := range metricsOf(t, dir, kind) {
					steps = append(steps, l.Step)
				}
				if !slices.Equal(steps, want[i]) {
					t.Errorf("every %s, %s: lines of %s at the steps %v, want %v", every, strategy, kind, steps, want[i])
				}
			}
		}
	}
}

func TestALoggedLineIsTheMeanSinceTheLast(t *testing.T) {
	_, r := newLab(64)
	sets := []string{"echo={strategy: example, factor: 3}", "stop.max_steps=7", "pipeline.shuffle=4"}
	_, each := trained(t, parseWith(t, r, ofLab, sets...))
	_, dir := trained(t, parseWith(t, r, ofLab, append(sets, "log.every=3 steps")...))
	single := metricsOf(t, each, report.KindTrain)
	from := 0
	for _, l := range metricsOf(t, dir, report.KindTrain) {
		stretch := single[from:l.Step]
		loss, duplicates := 0.0, 0.0
		for _, s := range stretch {
			loss += *s.Loss / float64(len(stretch))
			duplicates += *s.DuplicateShare / float64(len(stretch))
		}
		fresh := l.FreshExamples
		if from > 0 {
			fresh -= single[from-1].FreshExamples
		}
		if !near(*l.Loss, loss, 1e-9) || !near(*l.DuplicateShare, duplicates, 1e-9) || !near(*l.EchoFactor, float64(8*len(stretch))/float64(fresh), 1e-9) || *l.GradNorm != *stretch[len(stretch)-1].GradNorm {
			t.Errorf("the line of step %d is %+v", l.Step, l)
		}
		from = int(l.Step)
	}
	if from != 7 {
		t.Errorf("the last line is of step %d", from)
	}
}

// drawn is the first weights of a run.
const drawn = "train.rate.start=1e-30"

func TestClippingBoundsTheLengthOfAStepAndNothingElse(t *testing.T) {
	_, r := newLab(64)
	step := func(sets ...string) (norm float64, weights map[string][]float32) {
		sets = append([]string{"stop.max_steps=1", "train.optimizer=sgd", "train.optimizer.sgd={momentum: 0, nesterov: false}", "train.rate.start=0.01"}, sets...)
		_, dir := trained(t, parseWith(t, r, ofLab, sets...))
		weights, _ = weightsOf(t, dir, FinalWeights)
		return *metricsOf(t, dir, report.KindTrain)[0].GradNorm, weights
	}
	_, first := step(drawn)
	moved := func(w map[string][]float32) float64 {
		sum := 0.0
		for name, values := range w {
			for i, v := range values {
				sum += float64(v-first[name][i]) * float64(v-first[name][i])
			}
		}
		return math.Sqrt(sum) / 0.01
	}
	norm, plain := step()
	if !near(moved(plain), norm, 1e-3*norm) {
		t.Errorf("the step is as long as %g, the gradient %g", moved(plain), norm)
	}
	clipped, bounded := step(fmt.Sprint("train.clip_norm=", norm/2))
	if clipped != norm || !near(moved(bounded), norm/2, 1e-3*norm) {
		t.Errorf("a gradient of %g clipped to half is logged as %g and moves by %g", norm, clipped, moved(bounded))
	}
	if _, free := step(fmt.Sprint("train.clip_norm=", norm*2)); !reflect.DeepEqual(free, plain) {
		t.Error("a bound above the gradient changes the step")
	}
}

// linear writes the weights of a model without hidden layers: each channel's
// weight for class even, and its bias.
func linear(t *testing.T, weights [3]float32, bias float32) string {
	t.Helper()
	w := make([]float32, 2*192)
	for i := range 192 {
		w[i] = weights[i%3] / 64
	}
	path := filepath.Join(t.TempDir(), "init.safetensors")
	err := train.WriteFile(path, func(out io.Writer) error {
		return safetensors.Write(out, safetensors.File{Tensors: []safetensors.Tensor{
			{Name: "1.weight", Shape: []int{2, 192}, Data: w}, {Name: "1.bias", Shape: []int{2}, Data: []float32{bias, 0}},
		}})
	})
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// firstLoss is the loss of the first step: of the records 0, 1 and 2, of
// which the pixels are 100, 150 and 100.
func firstLoss(t *testing.T, init string, sets ...string) (loss, validation float64) {
	t.Helper()
	_, r := newLab(64)
	sets = append([]string{"model={mlp: {hidden: []}}", "train.init=" + init, "train.batch=3", "data.order=sequential", "stop.max_steps=1", drawn, "input.mean=[0, 0, 0]", "input.std=[1, 1, 1]"}, sets...)
	_, dir := trained(t, parseWith(t, r, ofLab, sets...))
	return *metricsOf(t, dir, report.KindTrain)[0].Loss, *metricsOf(t, dir, report.KindEval)[0].ValLoss
}

// crossEntropy of a logit for class even, where that of odd is 0.
func crossEntropy(logit float64, class int) float64 {
	if class == 1 {
		logit = -logit
	}
	return math.Log1p(math.Exp(-logit))
}

func TestLabelSmoothingMixesTheClasses(t *testing.T) {
	init := linear(t, [3]float32{}, 1)
	for _, s := range []float64{0, 0.1, 0.4} {
		got, _ := firstLoss(t, init, fmt.Sprint("train.label_smoothing=", s))
		even, odd := crossEntropy(1, 0), crossEntropy(1, 1)
		want := (2*((1-s/2)*even+s/2*odd) + (1-s/2)*odd + s/2*even) / 3
		if !near(got, want, 1e-6) {
			t.Errorf("smoothing of %g: the loss is %g, want %g", s, got, want)
		}
	}
}

func TestMeanAndStdScaleEveryChannelOfTrainingAndEvaluation(t *testing.T) {
	for channel := range 3 {
		var w [3]float32
		w[channel] = 1
		init := linear(t, w, 0)
		got, validation := firstLoss(t, init, "input.mean=[0.1, 0.2, 0.3]", "input.std=[0.25, 0.5, 0.125]")
		logit := func(pixel float64) float64 {
			return (pixel/255 - []float64{0.1, 0.2, 0.3}[channel]) / []float64{0.25, 0.5, 0.125}[channel]
		}
		even, odd := crossEntropy(logit(100), 0), crossEntropy(logit(150), 1)
		if want := (2*even + odd) / 3; !near(got, want, 1e-4) {
			t.Errorf("channel %d: the loss is %g, want %g", channel, got, want)
		}
		if want := (even + odd) / 2; !near(validation, want, 1e-4) {
			t.Errorf("channel %d: the loss of validation is %g, want %g", channel, validation, want)
		}
	}
}

func TestAccumulationComputesTheSameStepInParts(t *testing.T) {
	last := func(model, parts string) (loss float64, weights map[string][]float32) {
		_, dir := trained(t, parse(t, small, "model="+model, "stop.max_steps=2", "train.accumulate="+parts, "log.every=1 steps"))
		weights, _ = weightsOf(t, dir, FinalWeights)
		return *metricsOf(t, dir, report.KindTrain)[0].Loss, weights
	}
	all, whole := last("{mlp: {hidden: [12]}}", "1")
	four, parts := last("{mlp: {hidden: [12]}}", "4")
	if !near(all, four, 1e-5) {
		t.Errorf("the loss is %g, in parts %g", all, four)
	}
	for name, values := range whole {
		for i, v := range values {
			if !near(float64(v), float64(parts[name][i]), 1e-4) {
				t.Fatalf("%s[%d] is %g, in parts %g", name, i, v, parts[name][i])
			}
		}
	}
	all, _ = last("{resnet_cifar: {depth: 8}}", "1")
	if four, _ = last("{resnet_cifar: {depth: 8}}", "4"); near(all, four, 1e-5) {
		t.Error("the statistics of a batch normalisation are those of the whole batch: it was not computed in parts")
	}
}

// order returns the records that a run reads, in order, but for those tried
// before it begins.
func order(t *testing.T, sets ...string) []int {
	t.Helper()
	l, r := newLab(64)
	run := Run{Spec: parseWith(t, r, ofLab, sets...), Dir: filepath.Join(t.TempDir(), "run"), Notice: func(text string) {
		if strings.HasPrefix(text, "shuffle buffer: ") {
			l.mu.Lock()
			defer l.mu.Unlock()
			clear(l.seen)
		}
	}}
	if _, err := run.Train(context.Background()); err != nil {
		t.Fatal(err)
	}
	return l.seen["train"]
}

func TestTheOrderOfReadsIsThatOfTheSetting(t *testing.T) {
	up := make([]int, 64)
	for i := range up {
		up[i] = i
	}
	sequential := order(t, "data.order=sequential", "stop.max_steps=16")
	if !slices.Equal(sequential[:64], up) || !slices.Equal(sequential[64:128], up) {
		t.Errorf("sequential reads %v", sequential[:128])
	}
	permuted := order(t, "stop.max_steps=16")
	first, second := slices.Clone(permuted[:64]), slices.Clone(permuted[64:128])
	if slices.Equal(first, up) || slices.Equal(first, second) {
		t.Errorf("permuted reads %v, then %v", first, second)
	}
	if slices.Equal(permuted[:64], order(t, "stop.max_steps=16", "seed=1")[:64]) {
		t.Error("another seed reads in the same order")
	}
	slices.Sort(first)
	slices.Sort(second)
	if !slices.Equal(first, up) || !slices.Equal(second, up) {
		t.Error("an epoch does not read every record once")
	}
}

func TestPrefetchIsTheNumberOfBatchesMadeAhead(t *testing.T) {
	reads := func(prefetch string) (n int) {
		synctest.Test(t, func(t *testing.T) {
			n = len(order(t, "pipeline.prefetch="+prefetch, "stop.max_steps=2", "train.optimizer=slow"))
		})
		return n
	}
	single := reads("1")
	for prefetch, want := range map[string]int{"4": 4, "13KB": 2, "6KB": 1, "100MiB": 8} { // a batch is 6176 bytes
		if n := reads(prefetch); n-single != 8*(want-1) {
			t.Errorf("a prefetch of %s reads %d records more than one of 1, want %d", prefetch, n-single, 8*(want-1))
		}
	}
}

func TestABufferOfBatchesPartsTheCopiesOfABatch(t *testing.T) {
	freshness := func(set string) (s string) {
		_, r := newLab(64)
		_, dir := trained(t, parseWith(t, r, ofLab, "stop.max_steps=16", set))
		before := int64(0)
		for _, l := range metricsOf(t, dir, report.KindTrain) {
			s += fmt.Sprint((l.FreshExamples - before) / 8)
			before = l.FreshExamples
		}
		return s
	}
	if got := freshness("echo={strategy: batch, factor: 2}"); got != "1010101010101010" {
		t.Errorf("batches are fresh as in %s", got)
	}
	if got := freshness("echo={strategy: batch, factor: 2, shuffle_batches: 6}"); got == "1010101010101010" || strings.Count(got, "1") < 7 {
		t.Errorf("batches are fresh as in %s", got)
	}
}

func TestSplitsDependOnTheirSeedAndNotOnThatOfTheRun(t *testing.T) {
	split := func(sets ...string) (records [2]string) {
		l, r := newLab(64)
		_, d, err := parseWith(t, r, ofLab, append(sets, "data.train=train[:50%]", "data.validation=train[50%:75%]")...).Open()
		if err != nil {
			t.Fatal(err)
		}
		for i, part := range []data.Source{d.Train, d.Validation} {
			l.seen["train"] = nil
			for record := range part.Len() {
				if _, err := part.Read(context.Background(), record); err != nil {
					t.Fatal(err)
				}
			}
			records[i] = fmt.Sprint(l.seen["train"])
			if part.Len() != []int{32, 16}[i] {
				t.Errorf("part %d has %d records", i, part.Len())
			}
		}
		return records
	}
	plain := split()
	if split("seed=5") != plain {
		t.Error("another seed of the run splits otherwise")
	}
	if other := split("data.split_seed=5"); other[0] == plain[0] || other[1] == plain[1] {
		t.Error("another seed of the split splits as before")
	}
}

// What is left alone by a setting has the same bits as without it.
func TestSettingsOfMeasuringDoNotChangeTheWeights(t *testing.T) {
	final := func(sets ...string) map[string][]float32 {
		_, dir := trained(t, parse(t, small, append([]string{"echo={strategy: example, factor: 2.5}", "stop.max_steps=6", "evaluate.every=100 steps", "train.compute_threads=1"}, sets...)...))
		weights, _ := weightsOf(t, dir, FinalWeights)
		return weights
	}
	plain := final()
	for _, set := range []string{"evaluate={every: 1 steps, batch: 30}", "log.every=1 steps", "pipeline.prefetch=1", "data.test=none", "data.split_seed=3", "storage.simulate={latency: 1ms, jitter: 1ms}", "train.clip_norm=1e9"} {
		if !reflect.DeepEqual(final(set), plain) {
			t.Errorf("%s changes the weights", set)
		}
	}
	for _, set := range []string{"seed=1", "train.rate.warmup=3 steps", "train.label_smoothing=0.1", "data.order=sequential", "pipeline.shuffle=21",
		"train.optimizer.sgd.weight_decay=0.1", "input.augment=[flip]", "train.optimizer=adam"} {
		if reflect.DeepEqual(final(set), plain) {
			t.Errorf("%s does not change the weights", set)
		}
	}
}
