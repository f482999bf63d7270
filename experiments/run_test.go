package experiments

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/reprise-ml/reprise/data/datatest"
	"github.com/reprise-ml/reprise/echo"
	"github.com/reprise-ml/reprise/internal/safetensors"
	"github.com/reprise-ml/reprise/train"
	"github.com/reprise-ml/reprise/train/report"
)

const small = `
data: {source: {synth: {classes: 3, size: 8, examples: 96, held: 30}}}
input: {size: 8, augment: [{pad_crop: {pad: 1}}, flip], resize: []}
pipeline: {shuffle: 20, readers: 2, workers: 2}
model: {mlp: {hidden: [12]}}
train: {batch: 16, rate: {start: 0.02}}
stop: {max_steps: 24}
evaluate: {every: 64 fresh, batch: 7}
log: {every: 5 steps}
`

func trained(t *testing.T, s Spec) (report.Summary, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	r := Run{Spec: s, Dir: dir}
	summary, err := r.Train(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return summary, dir
}

func TestARunWritesWhatItDid(t *testing.T) {
	summary, dir := trained(t, parse(t, small, "echo.strategy=example", "echo.factor=2"))
	if summary.Status != report.Done || summary.Steps != 24 || summary.Examples != 24*16 {
		t.Errorf("the summary is %+v", summary)
	}
	lines, err := report.ReadMetrics(filepath.Join(dir, "metrics.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, l := range lines {
		kinds[l.Kind]++
		if l.Kind == report.KindEval && l.Step < 24 && l.FreshExamples/64 != (l.FreshExamples-16)/64+1 && l.FreshExamples%64 > 16 {
			t.Errorf("an evaluation at %d fresh examples", l.FreshExamples)
		}
		if want := float64(l.FreshExamples) / 96; l.Epoch == nil || *l.Epoch != want {
			t.Errorf("step %d: epoch %v, want %g", l.Step, l.Epoch, want)
		}
	}
	if kinds[report.KindTrain] != 5 || kinds[report.KindEval] < 3 || kinds[report.KindTest] != 1 {
		t.Errorf("the lines are of the kinds %v", kinds)
	}
	last := lines[len(lines)-1]
	if last.FreshExamples != summary.FreshExamples || last.Reads != summary.Reads {
		t.Errorf("the last line has %+v", last)
	}
	back, err := report.ReadSummary(dir)
	if err != nil || !reflect.DeepEqual(back, summary) {
		t.Errorf("summary.json holds %+v, %v", back, err)
	}
	for _, name := range []string{BestWeights, FinalWeights} {
		f, err := safetensors.ReadFile(filepath.Join(dir, name))
		if err != nil || len(f.Tensors) != 4 {
			t.Errorf("%s holds %d tensors, %v", name, len(f.Tensors), err)
		}
	}
	again, err := DefaultRegistry().Load(filepath.Join(dir, "config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	repeated, _ := trained(t, again)
	if *repeated.FinalLoss != *summary.FinalLoss || *repeated.TestLoss != *summary.TestLoss || repeated.Reads != summary.Reads {
		t.Errorf("a run of its config.yaml ends with %+v, not %+v", repeated, summary)
	}
}

func TestWorkersAndThreadsDoNotChangeTheBits(t *testing.T) {
	for _, strategy := range echo.Strategies() {
		t.Run(string(strategy), func(t *testing.T) {
			weights := func(workers string) [][]float32 {
				_, dir := trained(t, parse(t, small, "model={resnet_cifar: {depth: 8}}", "stop.max_steps=4", "evaluate.every=100 steps", "data.test=none",
					"echo={strategy: "+string(strategy)+", factor: 2.5}",
					"pipeline.readers="+workers, "pipeline.workers="+workers, "train.compute_threads="+workers))
				f, err := safetensors.ReadFile(filepath.Join(dir, FinalWeights))
				if err != nil {
					t.Fatal(err)
				}
				var out [][]float32
				for _, x := range f.Tensors {
					out = append(out, x.Data)
				}
				return out
			}
			one := weights("1")
			for _, n := range []string{"2", "8"} {
				if !reflect.DeepEqual(one, weights(n)) {
					t.Errorf("the weights with %s workers are not those with 1", n)
				}
			}
		})
	}
}

func TestReadTrainsAsExampleDoes(t *testing.T) {
	a, _ := trained(t, parse(t, small, "echo={strategy: read, factor: 2.5}"))
	b, _ := trained(t, parse(t, small, "echo={strategy: example, factor: 2.5}"))
	if *a.FinalLoss != *b.FinalLoss || *a.TestLoss != *b.TestLoss || a.FreshExamples != b.FreshExamples || a.Reads != b.Reads {
		t.Errorf("read ends with %+v, example with %+v", a, b)
	}
}

func TestTheCoresThatWorkersKeepBusyAreMeasuredOverTheFirstSteps(t *testing.T) {
	s, _ := trained(t, parse(t, small, "stop.max_steps=60"))
	if s.WorkerCores == nil || *s.WorkerCores <= 0 || *s.WorkerCores > 16 {
		t.Errorf("got %v", s.WorkerCores)
	}
	if s, _ = trained(t, parse(t, small)); s.WorkerCores != nil {
		t.Errorf("%v after 24 steps", *s.WorkerCores)
	}
}

func TestAFactorOfOneIsNoEcho(t *testing.T) {
	none, _ := trained(t, parse(t, small))
	for _, s := range echo.Strategies()[1:] {
		one, _ := trained(t, parse(t, small, "echo={strategy: "+string(s)+", factor: 1}"))
		if *one.FinalLoss != *none.FinalLoss || one.FreshExamples != none.FreshExamples || one.Reads != none.Reads {
			t.Errorf("%s by 1 ends with %+v, none with %+v", s, one, none)
		}
	}
}

func TestBooksOfFreshExamplesAndReads(t *testing.T) {
	const m, b, steps = 20, 16, 24
	for _, c := range []struct {
		strategy    echo.Strategy
		fresh, near float64
		reads       int64
	}{
		{echo.None, steps * b, 0, m - 1 + steps*b},
		{echo.Example, steps * b / 2, m, int64(math.Ceil((m - 1 + steps*b) / 2.0))},
		{echo.Augmentation, steps * b / 2, m, int64(math.Ceil((m - 1 + steps*b) / 2.0))},
		{echo.Batch, steps * b / 2, 0, m - 1 + steps*b/2},
	} {
		s, _ := trained(t, parse(t, small, "echo={strategy: "+string(c.strategy)+", factor: 2}"))
		if math.Abs(float64(s.FreshExamples)-c.fresh) > c.near || s.Reads != c.reads {
			t.Errorf("%s: %d fresh examples and %d reads, want about %g and %d", c.strategy, s.FreshExamples, s.Reads, c.fresh, c.reads)
		}
	}
}

func TestATargetStopsTheRunAndABudgetWithoutItIsSaid(t *testing.T) {
	s, _ := trained(t, parse(t, small, "stop.target=val_error<=0.99"))
	if s.Status != report.TargetMet || s.FreshToTarget == nil || *s.FreshToTarget != s.FreshExamples || *s.StepsToTarget != s.Steps || s.Steps == 24 {
		t.Errorf("got %+v", s)
	}
	s, _ = trained(t, parse(t, small, "stop.target=val_loss<=0.0001"))
	if s.Status != report.Budget || s.FreshToTarget != nil || s.Steps != 24 {
		t.Errorf("got %+v", s)
	}
	s, _ = trained(t, parse(t, small, "stop={max_epochs: 0.5}"))
	if s.Status != report.Done || s.FreshExamples != 48 {
		t.Errorf("half an epoch of 96 is %d fresh examples", s.FreshExamples)
	}
}

func TestAnAverageOfTheWeightsIsEvaluatedAndTrainingIsNotChanged(t *testing.T) {
	plain, _ := trained(t, parse(t, small))
	averaged, _ := trained(t, parse(t, small, "train.ema={decay: 0.9}"))
	if *plain.FinalLoss != *averaged.FinalLoss {
		t.Errorf("the training loss is %g, and %g with an average", *plain.FinalLoss, *averaged.FinalLoss)
	}
	if *plain.FinalValLoss == *averaged.FinalValLoss {
		t.Error("the average of the weights evaluates like the weights")
	}
}

func TestDivergenceStopsBeforeTheUpdateAndNamesTheStep(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	r := Run{Spec: parse(t, small, "train.rate.start=1e12"), Dir: dir}
	summary, err := r.Train(context.Background())
	var diverged train.Diverged
	if !errors.As(err, &diverged) || summary.Status != report.Diverging || diverged.Step != summary.Steps+1 || !strings.Contains(summary.Error, fmt.Sprintf("at step %d", diverged.Step)) {
		t.Errorf("got %+v, %v", summary, err)
	}
	f, err := safetensors.ReadFile(filepath.Join(dir, FinalWeights))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range f.Tensors {
		for _, v := range x.Data {
			if math.IsNaN(float64(v)) {
				t.Fatalf("%s holds NaN", x.Name)
			}
		}
	}
}

func TestAnInterruptedRunEndsCleanly(t *testing.T) {
	before := runtime.NumGoroutine()
	dir := filepath.Join(t.TempDir(), "run")
	ctx, cancel := context.WithCancel(context.Background())
	r := Run{Spec: parse(t, small, "stop.max_steps=1e9", "log.every=1 steps", "evaluate.every=1e9 steps", "storage.simulate={latency: 1ms}"), Dir: dir}
	go func() {
		for {
			if lines, _ := report.ReadMetrics(filepath.Join(dir, "metrics.jsonl")); len(lines) > 3 {
				cancel()
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	summary, err := r.Train(ctx)
	if !errors.Is(err, context.Canceled) || summary.Status != report.Interrupted || summary.Steps < 3 {
		t.Errorf("got %+v, %v", summary, err)
	}
	if s, err := report.ReadSummary(dir); err != nil || s.Status != report.Interrupted {
		t.Errorf("summary.json holds %+v, %v", s, err)
	}
	if !exists(filepath.Join(dir, FinalWeights)) {
		t.Error("the weights are lost")
	}
	for range 100 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d goroutines before, %d after", before, runtime.NumGoroutine())
}

// pictures writes a folder data set, and returns its path.
func pictures(t *testing.T, classes, each int) string {
	t.Helper()
	return files(t, datatest.Files(t, classes, each))
}

const ofFolder = `
data: {source: {folder: {path: "PATH"}}, train: train, validation: test}
input: {size: 8}
pipeline: {shuffle: 4}
model: {mlp: {}}
train: {batch: 4, rate: {start: 0.001}}
stop: {max_epochs: 3}
`

func TestDamagedRecordsAreSkippedListedAndCounted(t *testing.T) {
	root := pictures(t, 2, 10)
	var names []string
	err := filepath.WalkDir(filepath.Join(root, "train"), func(path string, d os.DirEntry, err error) error {
		if !d.IsDir() {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{names[3], names[7], names[8]} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text[:len(text)/2], 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text := strings.ReplaceAll(ofFolder, "PATH", root)
	for _, strategy := range []string{"none", "read", "example", "batch"} {
		for _, workers := range []string{"1", "8"} {
			summary, dir := trained(t, parse(t, text, "data.on_error=skip", "echo.strategy="+strategy, "pipeline.workers="+workers, "pipeline.readers="+workers))
			if summary.BadRecords != 3 || summary.BadReads < 6 || summary.BadReads > 12 {
				t.Errorf("%s: %d damaged records, %d reads of them", strategy, summary.BadRecords, summary.BadReads)
			}
			log, err := os.ReadFile(filepath.Join(dir, "errors.jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			rows := strings.Split(strings.TrimSpace(string(log)), "\n")
			if len(rows) != 3 {
				t.Errorf("%s: errors.jsonl holds\n%s", strategy, log)
			}
			for _, row := range rows {
				var f Fault
				if err := json.Unmarshal([]byte(row), &f); err != nil || f.Part != "train" || f.Error == "" || !strings.HasPrefix(f.Name, root) {
					t.Errorf("%s: a row is %s, %v", strategy, row, err)
				}
			}
		}
	}
	r := Run{Spec: parse(t, text, "data.on_error=skip", "data.max_bad=2"), Dir: filepath.Join(t.TempDir(), "run")}
	var many TooManyBad
	if summary, err := r.Train(context.Background()); !errors.As(err, &many) || many.Max != 2 || summary.Status != report.Failed {
		t.Errorf("three damaged records of at most two give %+v, %v", summary, err)
	}
	r = Run{Spec: parse(t, text), Dir: filepath.Join(t.TempDir(), "run")}
	if _, err := r.Train(context.Background()); err == nil || !strings.Contains(err.Error(), "train") || !strings.Contains(err.Error(), ".jpg") {
		t.Errorf("a damaged record of a run that does not skip gives %v", err)
	}
}

func TestWhatCannotBeTrainedIsRefusedBeforeAFileIsWritten(t *testing.T) {
	root := pictures(t, 2, 10)
	empty := pictures(t, 2, 2)
	if err := os.Mkdir(filepath.Join(empty, "train", "zebra"), 0o755); err != nil {
		t.Fatal(err)
	}
	held := t.TempDir()
	if err := os.WriteFile(filepath.Join(held, "thesis.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, path string
		dir        string
		force      bool
		sets       []string
		want       string
	}{
		{name: "a missing path", path: "/no/such/place", want: "/no/such/place"},
		{name: "an unset variable", path: "${REPRISE_NO_SUCH}/x", want: "REPRISE_NO_SUCH, which is not set"},
		{name: "an empty class", path: empty, want: "zebra"},
		{name: "a part that is not there", path: root, sets: []string{"data.train=trian"}, want: "test, train"},
		{name: "a batch above the data", path: root, sets: []string{"train.batch=21"}, want: "train.batch: is 21, more than the 20 records of data.train (train)"},
		{name: "overlapping splits", path: root, sets: []string{"data.train=train[:60%]", "data.validation=train[50%:]"}, want: "in common"},
		{name: "a split past the end", path: root, sets: []string{"data.train=train[:21]"}, want: "reaches to record 21"},
		{name: "pictures of another size", path: root, sets: []string{"input.augment=[]"}, want: "input.augment: makes pictures of"},
		{name: "a model of no depth", path: root, sets: []string{"model={resnet_cifar: {depth: 9}}"}, want: "model.resnet_cifar: "},
		{name: "a used directory", path: root, dir: held, want: "holds thesis.txt, which is no file of a run"},
		{name: "a used directory of another kind", path: root, dir: held, force: true, want: "holds thesis.txt, which is no file of a run"},
		{name: "a directory that cannot be", path: root, dir: filepath.Join(held, "thesis.txt", "x"), want: "run directory"},
		{name: "a warm-up in another unit", path: root, sets: []string{"train.rate.warmup=10 steps"}, want: "train.rate.warmup: "},
		{name: "a warm-up as long as the training", path: root, sets: []string{"train.rate={schedule: cosine, horizon: 10 fresh, warmup: 10 fresh}"}, want: "train.rate.warmup: is 10 fresh, and the horizon 10 fresh"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := c.dir
			if dir == "" {
				dir = filepath.Join(t.TempDir(), "run")
			}
			r := Run{Spec: parse(t, strings.ReplaceAll(ofFolder, "PATH", c.path), c.sets...), Dir: dir, Force: c.force}
			_, err := r.Train(context.Background())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if c.dir == "" && exists(dir) {
				t.Error("the run directory was made")
			}
		})
	}
	if !exists(filepath.Join(held, "thesis.txt")) {
		t.Error("a file of somebody else is gone")
	}
}

func TestForceReplacesARun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	for _, force := range []bool{false, true} {
		r := Run{Spec: parse(t, small), Dir: dir, Force: force}
		if _, err := r.Train(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	r := Run{Spec: parse(t, small), Dir: dir}
	if _, err := r.Train(context.Background()); err == nil || !strings.Contains(err.Error(), "force") {
		t.Errorf("a used directory gives %v", err)
	}
}

func TestWeightsOfARunBeginAnother(t *testing.T) {
	first, dir := trained(t, parse(t, small))
	evaluated, err := parse(t, small).EvaluateWeights(context.Background(), filepath.Join(dir, BestWeights))
	if err != nil {
		t.Fatal(err)
	}
	if len(evaluated) != 2 || *evaluated[0].Error != *first.BestValError || *evaluated[1].Error != *first.TestError {
		t.Errorf("the best weights evaluate as %+v, the run said %g and %g", evaluated, *first.BestValError, *first.TestError)
	}
	n, wrong := 0, 0.0
	for _, c := range evaluated[0].Classes {
		n += c.Examples
		wrong += c.Error * float64(c.Examples)
	}
	if n != 30 || math.Abs(wrong/30-*evaluated[0].Error) > 1e-9 {
		t.Errorf("the classes are %+v", evaluated[0].Classes)
	}
	r := Run{Spec: parse(t, small, "model.mlp.hidden=[13]", "train.init="+filepath.Join(dir, BestWeights)), Dir: filepath.Join(t.TempDir(), "run")}
	if _, err := r.Train(context.Background()); err == nil || !strings.Contains(err.Error(), "weight") {
		t.Errorf("weights of another model give %v", err)
	}
}

func TestUpstreamRatioIsMeasuredOnceAndKept(t *testing.T) {
	s := parse(t, small, "storage.upstream_ratio=20", "stop.max_steps=2", "model={resnet_cifar: {depth: 8}}")
	_, dir := trained(t, s)
	kept, err := DefaultRegistry().Load(filepath.Join(dir, "config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if kept.Storage.Simulate.Bandwidth <= 0 || kept.Storage.UpstreamRatio != 20 {
		t.Errorf("config.yaml has %+v", kept.Storage)
	}
	_, again := trained(t, kept)
	if same, err := DefaultRegistry().Load(filepath.Join(again, "config.yaml")); err != nil || same.Storage != kept.Storage {
		t.Errorf("a further run has %+v, %v", same.Storage, err)
	}
	r := Run{Spec: parse(t, small, "storage.upstream_ratio=1e-6"), Dir: filepath.Join(t.TempDir(), "run")}
	if _, err := r.Train(context.Background()); err == nil || !strings.Contains(err.Error(), "has R = ") {
		t.Errorf("an upstream that is slower already gives %v", err)
	}
}

func TestWhatFailsAtTheEndOfAnInterruptedRunIsTold(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	ctx, cancel := context.WithCancel(context.Background())
	r := Run{Spec: parse(t, small, "stop.max_steps=1e9", "log.every=1 steps", "evaluate.every=1e9 steps", "storage.simulate={latency: 1ms}"), Dir: dir}
	go func() {
		defer cancel()
		for {
			if lines, _ := report.ReadMetrics(filepath.Join(dir, "metrics.jsonl")); len(lines) > 3 {
				os.RemoveAll(dir) // what is still to be written has no place
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	_, err := r.Train(ctx)
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), FinalWeights) {
		t.Errorf("got %v", err)
	}
	if all, ok := err.(interface{ Unwrap() []error }); !ok || len(all.Unwrap()) < 2 {
		t.Errorf("the errors are not side by side: %#v", err)
	}
}
