package experiments

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"gorgonia.org/gorgonia"

	"github.com/reprise-ml/reprise/data/text"
	"github.com/reprise-ml/reprise/echo"
	"github.com/reprise-ml/reprise/optim"
	"github.com/reprise-ml/reprise/train"
	"github.com/reprise-ml/reprise/train/report"
)

// fragile is a lab whose runs can be interrupted at a chosen moment.
type fragile struct {
	*lab
	registry Registry
	notices  []string
	steps    atomic.Int64 // until the run is interrupted, in that step
	judging  atomic.Int64 // reads of validation data until it is
	cancel   context.CancelFunc
}

const never = math.MaxInt64

// adam is optim.Adam that interrupts the run.
type adam struct {
	optim.Adam `yaml:",inline"`
	lab        *fragile
}

func (a *adam) Step(weights []gorgonia.ValueGrad) error {
	if a.lab.steps.Add(-1) == 0 {
		a.lab.cancel()
	}
	return a.Adam.Step(weights)
}

func newFragile(records int) *fragile {
	f := new(fragile)
	f.lab, f.registry = newLab(records)
	f.noise = 90
	f.reads = func(ctx context.Context, base string, record int) error {
		if base == "validation" && f.judging.Add(-1) == 0 {
			f.cancel()
			return ctx.Err()
		}
		if base != "test" && record%11 == 5 {
			return errors.New("damaged")
		}
		return nil
	}
	f.registry.Optimizers["fragile"] = func() Optimizer { return &adam{lab: f} }
	return f
}

// spec has everything that a checkpoint must keep.
func (f *fragile) spec(t *testing.T, sets ...string) Spec {
	return parseWith(t, f.registry, ofLab, append([]string{
		"data.on_error=skip", "data.test=test", "input.augment=[flip, {pad_crop: {pad: 1}}]", "model={resnet_cifar: {depth: 8}}",
		"pipeline={shuffle: 20, readers: 2, workers: 2, prefetch: 2}",
		"train={optimizer: fragile, accumulate: 2, clip_norm: 1, ema: {decay: 0.8, warmup: true}, rate: {schedule: cosine}}",
		"stop.max_steps=22", "evaluate.every=24 fresh", "log.every=3 steps", "checkpoint={every: 5 steps, keep: 3}",
	}, sets...)...)
}

// train begins the run in dir or goes on with it. It is interrupted in its
// steps-th step, or at a read of an evaluation.
func (f *fragile) train(s Spec, dir string, steps, judging int64) (report.Summary, error) {
	var ctx context.Context
	ctx, f.cancel = context.WithCancel(context.Background())
	defer f.cancel()
	f.steps.Store(steps)
	f.judging.Store(never)
	f.notices = nil
	r := Run{Spec: s, Dir: dir, Resume: true, Notice: func(n string) {
		f.notices = append(f.notices, n)
		f.judging.Store(judging) // the first notice comes after the data have been tried
	}}
	return r.Train(ctx)
}

// whole is an unbroken run.
func (f *fragile) whole(t *testing.T, s Spec) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "whole")
	if _, err := f.train(s, dir, never, never); err != nil {
		t.Fatal(err)
	}
	return dir
}

// untimed returns an object of JSON without what the clock measures, and
// without what tells of resuming.
func untimed(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	for key := range m {
		if strings.HasSuffix(key, "_seconds") || strings.HasSuffix(key, "wall_to_target") || strings.HasSuffix(key, "cpu_to_target") ||
			slices.Contains([]string{"t_up", "t_down", "r", "utilisation"}, key) || key == "resumes" || key == "resume_reads" || key == "peak_rss_bytes" || key == "predicted_rss_bytes" || key == "worker_cores" {
			delete(m, key)
		}
	}
	return m
}

// sameOutcome compares the files of two runs.
func sameOutcome(t *testing.T, whole, broken string) {
	t.Helper()
	for _, name := range []string{BestWeights, FinalWeights} {
		if !sameFile(t, filepath.Join(whole, name), filepath.Join(broken, name)) {
			t.Errorf("%s is another one", name)
		}
	}
	for _, name := range []string{"metrics.jsonl", "summary.json"} {
		var parts [2][]map[string]any
		for i, dir := range []string{whole, broken} {
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			rows := []string{string(text)}
			if strings.HasSuffix(name, "l") {
				rows = strings.Split(strings.TrimSpace(string(text)), "\n")
			}
			for _, row := range rows {
				parts[i] = append(parts[i], untimed(t, []byte(row)))
			}
		}
		if !reflect.DeepEqual(parts[0], parts[1]) {
			t.Errorf("%s holds\n%v\nwant\n%v", name, parts[1], parts[0])
		}
	}
}

// sameFaults compares the errors.jsonl of two runs that have read every record.
func sameFaults(t *testing.T, whole, broken string) {
	t.Helper()
	var rows [2][]string
	for i, dir := range []string{whole, broken} {
		text, err := os.ReadFile(filepath.Join(dir, "errors.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		rows[i] = strings.Split(string(text), "\n")
		slices.Sort(rows[i]) // how far the pipeline was ahead of an evaluation is not decided
	}
	if !slices.Equal(rows[0], rows[1]) {
		t.Errorf("errors.jsonl holds\n%s\nwant\n%s", rows[1], rows[0])
	}
}

func TestARunThatIsInterruptedEveryFewStepsEndsAsIfItWereNot(t *testing.T) {
	for i, s := range echo.Strategies() {
		t.Run(string(s), func(t *testing.T) {
			f := newFragile(64)
			spec := f.spec(t, "echo={strategy: "+string(s)+", factor: 2.5}")
			if s == echo.Batch {
				spec.Echo.ShuffleBatches = 3
			}
			whole, dir := f.whole(t, spec), filepath.Join(t.TempDir(), "broken")
			var err error
			var last report.Summary
			resumes := -1
			for n := range int64(100) {
				spec.Stages.Readers, spec.Stages.Workers, spec.Train.ComputeThreads = 1+int(n)%3, 1+int(n)%4, 1+Threads(n)%2
				last, err = f.train(spec, dir, 1+(n+int64(i))%4, never)
				resumes++
				if err == nil {
					break
				}
				if !errors.Is(err, context.Canceled) || last.Status != report.Interrupted {
					t.Fatalf("the run ended with %v, %+v", err, last)
				}
			}
			if last.Resumes != resumes || resumes < 8 || last.ResumeReads < int64(resumes) {
				t.Errorf("the summary has %d resumes, %d resume_reads; there were %d resumes", last.Resumes, last.ResumeReads, resumes)
			}
			sameOutcome(t, whole, dir)
			sameFaults(t, whole, dir)
		})
	}
}

func TestAnEvaluationThatIsBrokenOffIsMadeAgain(t *testing.T) {
	f := newFragile(64)
	for _, sets := range [][]string{
		{"stop.max_steps=13"},
		{"stop={max_steps: 13, target: val_loss<=100}"},    // met at the first evaluation
		{"stop.max_steps=13", "evaluate.every=1000 fresh"}, // only at the end
	} {
		spec := f.spec(t, sets...)
		whole, dir := f.whole(t, spec), filepath.Join(t.TempDir(), "broken")
		breaks := 0
		for range 3 { // the first evaluation is broken off until it is given time
			if _, err := f.train(spec, dir, never, 9); !errors.Is(err, context.Canceled) {
				t.Fatalf("the run ended with %v", err)
			}
			breaks++
		}
		if s, err := f.train(spec, dir, never, never); err != nil || s.Resumes != breaks {
			t.Fatalf("%v: the run ended with %v, after %d resumes; %q", sets, err, s.Resumes, f.notices)
		}
		sameOutcome(t, whole, dir)
	}
}

func TestWallTimeToTheTargetAddsUpOverResumes(t *testing.T) {
	l, r := newLab(64)
	ctx, cancel := context.WithCancel(context.Background())
	steps := 0
	l.reads = nil
	r.Optimizers["slow"] = func() Optimizer {
		return &slow{step: func() {
			if steps++; steps == 7 {
				cancel()
			}
		}}
	}
	spec := parseWith(t, r, ofLab, "train.optimizer=slow", "stop={max_steps: 40, target: val_loss<=100}", "evaluate.every=12 steps", "checkpoint.every=3 steps")
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "run")
		first := Run{Spec: spec, Dir: dir}
		if s, err := first.Train(ctx); !errors.Is(err, context.Canceled) || s.Steps != 7 {
			t.Fatalf("step %d, %v", s.Steps, err)
		}
		second := Run{Spec: spec, Dir: dir, Resume: true}
		s, err := second.Train(context.Background())
		if err != nil || s.Status != report.TargetMet || *s.StepsToTarget != 12 || math.Abs(*s.WallToTarget-0.12) > 1e-9 {
			t.Errorf("%s at step %v after %v s, %v", s.Status, s.StepsToTarget, s.WallToTarget, err)
		}
	})
}

func TestARunIsResumedByItsOwnSpecOnly(t *testing.T) {
	f := newFragile(64)
	dir := filepath.Join(t.TempDir(), "run")
	if _, err := f.train(f.spec(t), dir, 8, never); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	for set, want := range map[string]string{
		"train.batch=16":       "train.batch is 16, and was 8",
		"train.ema.decay=0.9":  "train.ema.decay is 0.9, and was 0.8",
		"input.augment=[flip]": "input.augment is ",
		"train.optimizer=sgd":  "train.optimizer.sgd.",
		"pipeline.shuffle=10":  "pipeline.shuffle is 10, and was 20",
		"name=other":           "name is other",
	} {
		_, err := f.train(f.spec(t, set), dir, never, never)
		var bad SpecError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", set, err, want)
		}
	}
	f.more = 16
	if _, err := f.train(f.spec(t), dir, never, never); err == nil || !strings.Contains(err.Error(), "data.train: has 80 records, and had 64") {
		t.Errorf("other data: %v", err)
	}
	f.more = 0
	if s, err := f.train(f.spec(t, "data.max_bad=50", "checkpoint={every: 2 steps, keep: 1}", "pipeline.readers=5", "log.progress=1s"), dir, never, never); err != nil || s.Resumes != 1 {
		t.Errorf("what decides nothing: %v, %d resumes", err, s.Resumes)
	}
	if s, err := f.train(f.spec(t), dir, 1, never); err != nil || s.Status != report.Done || len(f.notices) == 0 || !strings.Contains(f.notices[len(f.notices)-1], "finished already") {
		t.Errorf("a finished run: %v, %+v, %q", err, s, f.notices)
	}
	text, err := os.ReadFile(filepath.Join(dir, "meta.json"))
	var m Meta
	if err != nil || json.Unmarshal(text, &m) != nil || len(m.Resumes) != 1 || m.Resumes[0].Step != 8 || m.Resumes[0].Reads != 19 {
		t.Errorf("meta.json holds %s, %v", text, err)
	}
}

func TestAConfigThatWasChangedByHandIsRefused(t *testing.T) {
	f := newFragile(64)
	dir := filepath.Join(t.TempDir(), "run")
	if _, err := f.train(f.spec(t), dir, 8, never); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	changed := f.spec(t, "seed=9")
	r := Run{Spec: changed, Notice: func(string) {}}
	if err := r.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := train.WriteFile(filepath.Join(dir, "config.yaml"), r.Spec.Write); err != nil {
		t.Fatal(err)
	}
	if _, err := f.train(changed, dir, never, never); err == nil || !strings.Contains(err.Error(), "config.yaml was changed since") {
		t.Errorf("the error is %v", err)
	}
}

func TestTooManyDamagedRecordsCanBeBorneAfterAll(t *testing.T) {
	f := newFragile(64) // in which 6 of train and 1 of validation are damaged
	whole := f.whole(t, f.spec(t))
	dir := filepath.Join(t.TempDir(), "broken")
	var bad TooManyBad
	if s, err := f.train(f.spec(t, "data.max_bad=5", "checkpoint.every=1 steps"), dir, never, never); !errors.As(err, &bad) || s.Status != report.Failed {
		t.Fatalf("the run ended with %v, %+v", err, s)
	}
	if _, err := f.train(f.spec(t, "data.max_bad=5"), dir, never, never); !errors.As(err, &bad) {
		t.Fatalf("the run ended with %v", err)
	}
	if _, err := f.train(f.spec(t), dir, never, never); err != nil {
		t.Fatal(err)
	}
	sameOutcome(t, whole, dir)
	sameFaults(t, whole, dir)
}

func TestAComparisonGoesOnWithTheRunThatWasBroken(t *testing.T) {
	f := newFragile(64)
	spec := f.spec(t, "stop={max_steps: 8, target: val_loss<=0.0001}")
	compare := func(dir string, steps int64) (Table, error) {
		var ctx context.Context
		ctx, f.cancel = context.WithCancel(context.Background())
		defer f.cancel()
		f.steps.Store(steps)
		f.judging.Store(never)
		c := Comparison{Spec: spec, Strategies: []echo.Strategy{echo.None, echo.Example}, Factors: []echo.Factor{2}, Dir: dir}
		return c.Run(ctx)
	}
	whole, dir := filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "broken")
	if _, err := compare(whole, never); err != nil {
		t.Fatal(err)
	}
	if _, err := compare(dir, 11); !errors.Is(err, context.Canceled) { // in the third step of the second run
		t.Fatal(err)
	}
	table, err := compare(dir, never)
	if err != nil || table.Rows[0].Runs[0].Resumes != 0 || table.Rows[1].Runs[0].Resumes != 1 {
		t.Fatalf("the table is %+v, %v", table, err)
	}
	for _, name := range []string{"none-1-seed-0", "example-2-seed-0"} {
		sameOutcome(t, filepath.Join(whole, name), filepath.Join(dir, name))
	}
}

func TestADirectoryOfCheckpointsWithOtherThingsInItIsNotRemoved(t *testing.T) {
	f := newFragile(64)
	dir := filepath.Join(t.TempDir(), "run")
	if _, err := f.train(f.spec(t), dir, 8, never); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	note := filepath.Join(dir, checkpointsDir, "notes.txt")
	if err := os.WriteFile(note, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := Run{Spec: f.spec(t, "stop.max_steps=1"), Dir: dir, Force: true}
	f.steps.Store(never)
	if _, err := r.Train(t.Context()); err == nil || !strings.Contains(err.Error(), "notes.txt") || !exists(note) {
		t.Errorf("the error is %v", err)
	}
	if err := os.Remove(note); err != nil {
		t.Fatal(err)
	}
	r = Run{Spec: f.spec(t, "stop.max_steps=1"), Dir: dir, Force: true}
	if _, err := r.Train(t.Context()); err != nil {
		t.Error(err)
	}
	if held, err := r.checkpoints().Steps(); err != nil || len(held) > 0 {
		t.Errorf("there are checkpoints of steps %v, %v", held, err)
	}
}

func TestValuesThatDecideNothingAreFree(t *testing.T) {
	spec := func(sets ...string) []byte {
		text, err := parse(t, small, sets...).text()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for _, set := range []string{"pipeline={readers: 7, workers: 9, prefetch: 3}", "train.compute_threads=3", "log.progress=5s", "data.max_bad=3", "checkpoint={every: 1 epochs, keep: 9}"} {
		if err := sameRun(spec(set), spec()); err != nil {
			t.Errorf("%s: %v", set, err)
		}
	}
	for _, set := range []string{"seed=1", "log.every=7 steps", "evaluate.batch=9", "echo={strategy: batch, factor: 2}", "storage.simulate.latency=1ms", "stop.max_steps=25", "train.ema={decay: 0.5}"} {
		key, _, _ := strings.Cut(set, "=")
		if err := sameRun(spec(set), spec()); err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", set, err)
		}
		if err := sameRun(spec(), spec(set)); err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("without %s: %v", set, err)
		}
	}
}

func TestARunThatIsResumedDivergesWhereItWouldHave(t *testing.T) {
	f := newFragile(64)
	spec := f.spec(t, "log.every=1 steps")
	dir := filepath.Join(t.TempDir(), "run")
	if _, err := f.train(spec, dir, 8, never); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	r := Run{Spec: spec, Dir: dir, Notice: func(string) {}}
	if err := r.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	c, s, ok, err := r.latest()
	if first := metricsOf(t, dir, report.KindTrain)[0]; err != nil || !ok || c.Step != 8 || !s.Divergence.Started || s.Divergence.First != *first.Loss {
		t.Fatalf("the checkpoint of step %d knows %+v, %v", c.Step, s.Divergence, err)
	}
	s.Divergence.First, s.Divergence.Above = 1e-9, 97 // as after a loss that has been too high for long
	c.State = s
	if err := r.checkpoints().Save(c); err != nil {
		t.Fatal(err)
	}
	var diverged train.Diverged
	if _, err := f.train(spec, dir, never, never); !errors.As(err, &diverged) || diverged.Step != 11 {
		t.Errorf("the run ended with %v, want that of step 11", err)
	}
}

func TestARunThatWasKilledBeforeItsSummaryIsEndedOnce(t *testing.T) {
	f := newFragile(64)
	spec := f.spec(t, "stop.max_steps=15") // of which the last is evaluated, and has a checkpoint
	whole, dir := f.whole(t, spec), f.whole(t, spec)
	for _, name := range []string{"summary.json", FinalWeights} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if s, err := f.train(spec, dir, never, never); err != nil || s.Resumes != 1 {
		t.Fatalf("the run ended with %v, after %d resumes", err, s.Resumes)
	}
	sameOutcome(t, whole, dir)
}

// killedAfter makes the directory of a finished run that of one that was
// killed after a checkpoint.
func killedAfter(t *testing.T, dir string, step int64) {
	t.Helper()
	r := Run{Dir: dir}
	steps, err := r.checkpoints().Steps()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range steps {
		if s > step {
			err = errors.Join(err, os.RemoveAll(r.checkpoints().Folder(s)))
		}
	}
	if err := errors.Join(err, os.Remove(filepath.Join(dir, "summary.json"))); err != nil {
		t.Fatal(err)
	}
}

func TestALanguageModelIsResumedToo(t *testing.T) {
	spec := rhyme(t, "model.transformer.dropout=0.2", "echo={strategy: example, factor: 1.5}", "evaluate.every=5 steps", "checkpoint={every: 4 steps, keep: 9}")
	_, whole := trained(t, spec)
	_, dir := trained(t, spec)
	killedAfter(t, dir, 4)
	r := Run{Spec: spec, Dir: dir, Resume: true}
	if s, err := r.Train(t.Context()); err != nil || s.Resumes != 1 || s.ResumeReads == 0 {
		t.Fatalf("the run ended with %v, %+v", err, s)
	}
	sameOutcome(t, whole, dir)
}

func TestARunOnStreamsIsResumed(t *testing.T) {
	files := map[string]int{"train/a": 13, "train/b.gz": 9, "train/c": 5, "valid/x": 9}
	for _, layout := range text.Layouts() {
		path := corpus(t, files)
		spec := rhyme(t, "data.source.text={stream: true, cycle: 2, layout: "+string(layout)+", path: "+path+"}", "echo={strategy: example, factor: 1.5}",
			"pipeline.shuffle=6", "checkpoint={every: 4 steps, keep: 9}")
		_, whole := trained(t, spec)
		for _, step := range []int64{4, 8} {
			_, dir := trained(t, spec)
			killedAfter(t, dir, step)
			r := Run{Spec: spec, Dir: dir, Resume: true}
			if s, err := r.Train(t.Context()); err != nil || s.Resumes != 1 || s.ResumeReads < 1 || s.ResumeReads > 20 {
				t.Fatalf("%s, step %d: the run ended with %v, %+v", layout, step, err, s)
			}
			if len(r.at.Ends.List()) < 3 {
				t.Errorf("%s: the streams end at %v, want more than a pass", layout, r.at.Ends.List())
			}
			sameOutcome(t, whole, dir)
		}
		_, dir := trained(t, spec)
		killedAfter(t, dir, 4)
		if err := os.WriteFile(filepath.Join(path, "train", "d"), []byte("more\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		r := Run{Spec: spec, Dir: dir, Resume: true}
		if _, err := r.Train(t.Context()); err == nil || !strings.Contains(err.Error(), "data.train: has 4 streams, and had 3") {
			t.Errorf("with a file more: %v", err)
		}
	}
}
