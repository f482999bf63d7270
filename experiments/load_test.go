package experiments

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/reprise-ml/reprise/data/augment"
	"github.com/reprise-ml/reprise/experiments/specs"
	"github.com/reprise-ml/reprise/optim"
)

const minimal = `
data: {source: synth}
model: {mlp: {hidden: [8]}}
stop: {max_steps: 3}
`

func parse(t testing.TB, text string, sets ...string) Spec {
	t.Helper()
	s, err := DefaultRegistry().Parse("test.yaml", text, sets...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestErrorsNameFileLineKeyAndTheNearestName(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"an unknown key", "data: {source: synth}\ntrain:\n  bach: 8\n", `test.yaml:3:3: train: unknown key "bach"; did you mean "batch"?`},
		{"an unknown top key", "pipelin: {}\n", `test.yaml:1:1: unknown key "pipelin"; did you mean "pipeline"?`},
		{"a key like no other", "zzzzzzzzzzzz: 1\n", `want one of checkpoint, data, echo, evaluate`},
		{"an unknown source", "data: {source: foldr}\n", `data.source: unknown name "foldr"; did you mean "folder"?`},
		{"an unknown setting of a source", "data: {source: {folder: {paht: x}}}\n", `data.source.folder: unknown key "paht"; did you mean "path"?`},
		{"an unknown augmentation", "input:\n  augment:\n    - flip\n    - crop\n", `test.yaml:4:7: input.augment[1]: unknown name "crop"`},
		{"a text for a number", "train: {batch: many}\n", `train.batch: "many" is no number`},
		{"a fraction for a whole number", "train: {batch: 1.5}\n", `train.batch: "1.5" is no whole number`},
		{"a list for a number", "train: {batch: [1]}\n", `train.batch: want a whole number`},
		{"a number for a list", "input: {augment: 3}\n", `input.augment: want a list`},
		{"a number for keys", "train: 3\n", `train: want keys and values`},
		{"a length without unit", "evaluate: {every: 100}\n", `examples: 4000 steps, 12.8k fresh, 2 epochs`},
		{"a bad target", "stop: {target: error<1}\n", `examples: val_error<=0.09`},
		{"a target that cannot be missed", "stop: {target: val_error>=0.5}\n", `is no target`},
		{"a bad duration", "storage: {simulate: {latency: fast}}\n", `examples: 2ms, 30s, 1m30s`},
		{"two names at once", "model: {mlp: {}, resnet_cifar: {}}\n", `model: want a name, or one name`},
		{"an array of another length", "input: {augment: [{random_resized_crop: {size: 8, scale: [1, 2, 3]}}]}\n", `scale: want a list of 2 values`},
		{"no YAML", "data: {\n", `test.yaml`},
		{"two documents", "seed: 1\n---\nseed: 2\n", `holds 2 documents`},
		{"extends without a file", "extends: other.yaml\n", `goes with a file`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := DefaultRegistry().Parse("test.yaml", c.text)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestValuesOutOfRangeAreNamedAllAtOnce(t *testing.T) {
	_, err := DefaultRegistry().Parse("test.yaml", `
data: {source: synth, order: random, on_error: ignore, train: "train[", max_bad: -1}
input: {size: -1, mean: [1], std: [1, 0, 1], augment: [{flip: {p: 2}}]}
pipeline: {readers: -1, workers: -1}
echo: {strategy: example, factor: 0.5}
storage: {upstream_ratio: -1}
model: mlp
train: {batch: 10, accumulate: 3, label_smoothing: 1, clip_norm: -1, rate: {schedule: slow, start: -1, end: -1, at: [2, 1]}, optimizer: {sgd: {momentum: 2}}, ema: {decay: 2}}
stop: {max_steps: -1}
`)
	for _, want := range []string{
		"data.order: ", "data.on_error: ", "data.train: ", "data.max_bad: ", "input.size: ", "input.mean: ", "input.std: ", "input.augment[0].flip: ",
		"pipeline.readers: ", "pipeline.workers: ", "echo: the factor is 0.5", "storage.upstream_ratio: ", "train.accumulate: ",
		"train.label_smoothing: ", "train.clip_norm: ", "train.rate.schedule: ", "train.rate.start: ", "train.rate.end: ", "train.rate.at: ",
		"train.optimizer.sgd: ", "train.ema: ", "stop: a limit is negative",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("nothing is said of %q in\n%v", want, err)
		}
	}
	for text, want := range map[string]string{
		"stop: {max_steps: 1}":                                           "data.source: is missing",
		"data: {source: synth}\nmodel: mlp":                              "stop: has no limit",
		minimal + "echo: {strategy: augmentation}\ninput: {augment: []}": "echo.strategy: augmentation is the same as example",
		minimal + "echo: {strategy: example, shuffle_batches: 4}":        "shuffle_batches is 4, which goes with the strategy batch",
		minimal + "echo: {strategy: loud}":                               `the strategy is "loud"`,
	} {
		if _, err := DefaultRegistry().Parse("test.yaml", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngives %v\nwant %s", text, err, want)
		}
	}
}

func TestNumbersAreReadWithSuffixes(t *testing.T) {
	s := parse(t, minimal+`
seed: 18446744073709551615
pipeline: {shuffle: 64k, prefetch: 1.5MB}
storage: {simulate: {latency: 2ms, bandwidth: 1MiB}}
train: {rate: {start: 5e-4, horizon: 1k steps}}
evaluate: {every: 12.8k fresh}
`)
	if s.Seed != 1<<64-1 || s.Stages.Shuffle != (Buffer{Items: 64000}) || s.Stages.Prefetch != (Buffer{Memory: 1_500_000}) ||
		s.Storage.Simulate.Latency != 2*time.Millisecond || s.Storage.Simulate.Bandwidth != 1<<20 || s.Train.Rate.Start != 5e-4 ||
		s.Train.Rate.Horizon != (Span{1000, Steps}) || s.Evaluate.Every != (Span{12800, Fresh}) {
		t.Errorf("got %+v", s)
	}
}

func TestSetsChangeSingleValues(t *testing.T) {
	s := parse(t, minimal, "echo.factor=3", "echo.strategy=batch", "input.augment=[flip, {pad_crop: {pad: 2}}]", "model.mlp.hidden=[4, 5]", "train.optimizer.sgd.momentum=0.5")
	if s.Echo.Factor != 3 || s.Echo.Strategy != "batch" || len(s.Input.Augment) != 2 || s.Input.Augment[1].Value.(*augment.PadCrop).Pad != 2 {
		t.Errorf("got %+v", s)
	}
	if h := s.Model.Value.(*MLP).Hidden; len(h) != 2 || h[1] != 5 {
		t.Errorf("hidden is %v", h)
	}
	if o := s.Train.Optimizer.Value.(*optim.SGD); o.Momentum != 0.5 {
		t.Errorf("the optimizer is %+v", o)
	}
	for set, want := range map[string]string{
		"echo.facto=2": `--set echo.facto:2:3: echo: unknown key "facto"; did you mean "factor"?`,
		"echo.factor":  "want key=value",
		"=1":           "want key=value",
	} {
		if _, err := DefaultRegistry().Parse("test.yaml", minimal, set); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("--set %s gives %v", set, err)
		}
	}
}

func TestAFileExtendsAnother(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("base.yaml", minimal+"name: base\ntrain: {batch: 64, optimizer: {sgd: {momentum: 0.8, weight_decay: 1e-4}}}\ninput: {augment: [flip]}\n")
	child := write("sub/child.yaml", "extends: ../base.yaml\ntrain: {optimizer: {sgd: {weight_decay: 5e-4}}}\ninput: {augment: []}\n")
	s, err := DefaultRegistry().Load(child, "seed=7")
	if err != nil {
		t.Fatal(err)
	}
	o := s.Train.Optimizer.Value.(*optim.SGD)
	if s.Name != "child" || s.Seed != 7 || s.Train.Batch != 64 || o.Momentum != 0.8 || o.WeightDecay != 5e-4 || len(s.Input.Augment) != 0 {
		t.Errorf("got %+v, %+v", s, o)
	}
	for path, want := range map[string]string{
		write("a.yaml", "extends: b.yaml\n"):  "a circle",
		write("b.yaml", "extends: a.yaml\n"):  "a circle",
		write("c.yaml", "extends: none.yaml"): "none.yaml",
		write("d.yaml", "extends: e.yaml\n"):  `e.yaml:2:1: unknown key "sed"; did you mean "seed"?`,
		filepath.Join(dir, "missing.yaml"):    "missing.yaml",
	} {
		write("e.yaml", "\nsed: 1\n")
		if _, err := DefaultRegistry().Load(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s gives %v, want %s", path, err, want)
		}
	}
}

func TestAWrittenSpecReadsBackTheSame(t *testing.T) {
	texts := map[string]string{"minimal": minimal, "rich": `
model: {mlp: {hidden: [8]}}
name: rich
seed: 3
data: {source: {folder: {path: "${HOME}/x: y"}}, train: "train[:90%]", validation: "train[90%:]", split_seed: 4}
input: {augment: [{random_resized_crop: {size: 32, scale: [0.5, 1]}}, {cutout: {size: 4, fill: [1, 2, 3]}}, flip], resize: []}
pipeline: {shuffle: 500MiB, prefetch: 3}
echo: {strategy: batch, factor: 2.5, shuffle_batches: 10}
storage: {simulate: {latency: 2ms, bandwidth: 123456.789, jitter: 1ms, seed: 9}, upstream_ratio: 4}
train: {optimizer: {adamw: {weight_decay: 0.01}}, ema: {decay: 0.99, warmup: true}, rate: {schedule: step, at: [0.3, 0.6], horizon: 3 epochs, warmup: 1k fresh}}
stop: {target: "val_accuracy>=91%", max_epochs: 2.5}
log: {every: 2 steps, progress: 1m30s}
`}
	entries, err := specs.Files.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := specs.Files.ReadFile(e.Name())
		if err != nil {
			t.Fatal(err)
		}
		texts[e.Name()] = string(text)
	}
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			s := parse(t, text)
			first, err := s.text()
			if err != nil {
				t.Fatal(err)
			}
			second, err := parse(t, string(first)).text()
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(first, second) {
				t.Errorf("wrote\n%s\nand then\n%s", first, second)
			}
			var loose map[string]any
			if err := yaml.Unmarshal(first, &loose); err != nil {
				t.Errorf("what was written is no YAML: %v", err)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add(minimal)
	f.Add("data: {source: {folder: {path: x}}}\nstop: {target: val_error<=9%}\n")
	f.Add("a: &x {b: *x}\n? [k]\n: v\n")
	f.Add("input: {augment: [{random_resized_crop: {scale: [1, 2]}}]}")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := DefaultRegistry().Parse("fuzz.yaml", text)
		if err != nil {
			return
		}
		written, err := s.text()
		if err != nil {
			t.Fatalf("a good spec cannot be written: %v", err)
		}
		if _, err := DefaultRegistry().Parse("written.yaml", string(written)); err != nil {
			t.Fatalf("what was written is refused: %v\n%s", err, written)
		}
	})
}
