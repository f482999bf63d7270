package experiments

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/reprise-ml/reprise/optim"
)

func TestAZeroIsRefusedOrKeptButNeverReplaced(t *testing.T) {
	for set, want := range map[string]string{
		"train.batch=0":                  "train.batch: is 0, want 1 to",
		"train.accumulate=0":             "train.accumulate: is 0, want at least 1",
		"evaluate.batch=0":               "evaluate.batch: is 0, want 1 to",
		"pipeline.readers=0":             "pipeline.readers: is 0, want 1 to",
		"pipeline.workers=0":             "pipeline.workers: is 0, want 1 to",
		"input.size=0":                   "input.size: is 0, want 1 to",
		"train.rate.start=0":             "train.rate.start: is 0, want more than 0",
		"train.rate.factor=0":            "train.rate.factor: is 0, want more than 0",
		"train.compute_threads=0":        "want 1 to 1024, or auto",
		"log.every=0 steps":              "is no length of training",
		"evaluate.every=0 epochs":        "is no length of training",
		"stop.max_steps=0":               "stop: has no limit",
		"input.std=[1, 0, 1]":            "input.std: holds 0",
		"pipeline.prefetch=0MiB":         "is no size of a buffer",
		"echo.factor=2":                  "echo: the factor is 2 and there is no strategy",
		"train.optimizer=null":           "train.optimizer: is missing",
		"model=null":                     "model: is missing",
		"data.source=null":               "data.source: is missing",
		"train.batch=1048577":            "train.batch: is 1048577",
		"evaluate.batch=1048577":         "evaluate.batch: is 1048577",
		"pipeline.readers=4097":          "pipeline.readers: is 4097",
		"pipeline.workers=4097":          "pipeline.workers: is 4097",
		"pipeline.prefetch=1025":         "pipeline.prefetch: is 1025",
		"input.size=16385":               "input.size: is 16385",
		"stop.max_epochs=2e9":            "stop.max_epochs: is 2e+09",
		"stop.max_fresh=-1":              "stop: a limit is negative",
		"stop.max_epochs=-1":             "stop: a limit is negative",
		"name=a/b":                       "name: is",
		"name=.hidden":                   "name: is",
		"input.augment=[flip, null]":     "input.augment[1]: is empty",
		"input.resize=[null]":            "input.resize[0]: is empty",
		"train.rate.at=[0.5, null]":      "train.rate.at[1]: is empty",
		"input.mean=[1, ~, 1]":           "input.mean[1]: is empty",
		"model.mlp.hidden=[4, null]":     "model.mlp.hidden[1]: is empty",
		"train.rate.at=[1.1]":            "train.rate.at: is [1.1]",
		"train.rate.at=[-0.1]":           "train.rate.at: is [-0.1]",
		"train.rate.factor=1.1":          "train.rate.factor: is 1.1",
		"train.ema.decay=1":              "train.ema: ",
		"storage.simulate.bandwidth=0.5": "storage.simulate: ",
		"model.mlp=&a {hidden: [4]}":     "anchors, aliases and tags of YAML are not supported",
		"name=*a":                        "",
		"name=!!str 7":                   "anchors, aliases and tags of YAML are not supported",
	} {
		if _, err := DefaultRegistry().Parse("test.yaml", minimal, set); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s gives %v, want %s", set, err, want)
		}
	}
	for set, holds := range map[string]func(Spec) bool{
		"data.max_bad=0":         func(s Spec) bool { return s.Data.MaxBad == 0 },
		"pipeline.prefetch=0":    func(s Spec) bool { return s.Stages.Prefetch == Buffer{} },
		"pipeline.prefetch=1024": func(s Spec) bool { return s.Stages.Prefetch.Items == 1024 },
		"pipeline.shuffle=0":     func(s Spec) bool { return s.Stages.Shuffle == Buffer{} },
		"input.augment=[]":       func(s Spec) bool { return s.Input.Augment != nil && len(s.Input.Augment) == 0 },
		"input.augment=null":     func(s Spec) bool { return len(s.Input.Augment) == 2 },
		"input.resize=[]":        func(s Spec) bool { return s.Input.Resize != nil && len(s.Input.Resize) == 0 },
		"log.progress=0s":        func(s Spec) bool { return s.Log.Progress == 0 },
		"train.rate.at=[]":       func(s Spec) bool { return len(s.Train.Rate.At) == 0 },
		"train.rate.at=[0, 1]":   func(s Spec) bool { return len(s.Train.Rate.At) == 2 },
		"train.optimizer.sgd={momentum: 0, nesterov: false}": func(s Spec) bool { return sgd(s) == [3]any{0.0, false, 0.0} },
		"train.optimizer.sgd.nesterov=false":                 func(s Spec) bool { return sgd(s) == [3]any{0.9, false, 0.0} },
		"train.optimizer.sgd={weight_decay: 1e-4}":           func(s Spec) bool { return sgd(s) == [3]any{0.9, true, 1e-4} },
		"train.optimizer=sgd":                                func(s Spec) bool { return sgd(s) == [3]any{0.9, true, 0.0} },
		"train.ema={}":                                       func(s Spec) bool { return s.Train.EMA != nil },
		"echo={strategy: batch, factor: 0}":                  func(s Spec) bool { return s.Echo.Factor == 2 },
		"echo={strategy: none, factor: 1}":                   func(s Spec) bool { return s.Echo.Factor == 1 },
		"train.rate={schedule: exponential, start: 2}":       func(s Spec) bool { return s.Train.Rate.End == 0.02 },
		"train.rate={schedule: linear, start: 2}":            func(s Spec) bool { return s.Train.Rate.End == 0 },
		"train.batch=1048576":                                func(s Spec) bool { return s.Train.Batch == 1<<20 },
		"seed=0":                                             func(s Spec) bool { return s.Seed == 0 },
		"name=null":                                          func(s Spec) bool { return s.Name == "run" },
	} {
		s := parse(t, minimal, set)
		if !holds(s) {
			t.Errorf("%s gives %+v", set, s)
		}
		text, err := s.text()
		if err != nil {
			t.Fatal(err)
		}
		if back := parse(t, string(text)); !holds(back) || !reflect.DeepEqual(back, s) {
			t.Errorf("%s is written as\n%s\nwhich gives %+v", set, text, back)
		}
	}
}

func sgd(s Spec) [3]any {
	o := s.Train.Optimizer.Value.(*optim.SGD)
	return [3]any{o.Momentum, o.Nesterov, o.WeightDecay}
}

func TestTheDefaultsAreThoseOfTheDocumentation(t *testing.T) {
	s := parse(t, minimal)
	if s.Train.Batch != 128 || s.Train.Accumulate != 1 || s.Evaluate.Batch != 250 || s.Log.Every != (Span{50, Steps}) || s.Data.MaxBad != 100 || s.Data.OnError != OnErrorFail || s.Data.Order != "permuted" ||
		s.Stages.Shuffle.Items != 4096 || s.Stages.Readers != 8 || s.Stages.Prefetch.Memory != 64<<20 || s.Input.Size != 32 || s.Train.Rate.Start != 0.1 || s.Train.Rate.Schedule != "constant" || s.Echo.Strategy != "none" {
		t.Errorf("got %+v", s)
	}
	var names []string
	for _, a := range append(s.Input.Augment, s.Input.Resize...) {
		names = append(names, a.Name)
	}
	if got := strings.Join(names, " "); got != "random_resized_crop flip resize center_crop" {
		t.Errorf("pictures are prepared by %s", got)
	}
}

func TestASpecMayBeginWithAByteOrderMarkAndNotBeLarge(t *testing.T) {
	if s := parse(t, "\ufeff"+minimal); s.Stop.MaxSteps != 3 {
		t.Errorf("got %+v", s)
	}
	large := minimal + strings.Repeat("# a comment\n", 1<<20/12)
	dir := t.TempDir()
	path := filepath.Join(dir, "large.yaml")
	for text, want := range map[string]string{large: "is larger than a spec may be", strings.Repeat(large, 3): "is larger than a spec may be"} {
		if _, err := DefaultRegistry().Parse("test.yaml", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d bytes give %v", len(text), err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := DefaultRegistry().Load(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a file of %d bytes gives %v", len(text), err)
		}
	}
	fits := minimal + strings.Repeat("#", 1<<20-len(minimal))
	if s := parse(t, fits); s.Stop.MaxSteps != 3 {
		t.Errorf("got %+v", s)
	}
	for _, text := range []string{"", "# nothing\n", "\ufeff"} {
		if _, err := DefaultRegistry().Parse("test.yaml", text); err == nil || !strings.Contains(err.Error(), "data.source: is missing") {
			t.Errorf("%q gives %v", text, err)
		}
	}
}

func TestForceRemovesWhatAKilledRunLeftAndNothingElse(t *testing.T) {
	run := func(dir string, force bool) error {
		_, r := newLab(64)
		_, err := (&Run{Spec: parseWith(t, r, ofLab), Dir: dir, Force: force}).Train(t.Context())
		return err
	}
	dir := filepath.Join(t.TempDir(), "run")
	if err := run(dir, false); err != nil {
		t.Fatal(err)
	}
	left := []string{".best.safetensors.77-0.tmp", ".summary.json.77-3.tmp", ".probe123"}
	kept := []string{".notes", ".thesis.tmp", ".best.safetensors.bak"}
	for _, name := range append(left, kept...) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := run(dir, false); err == nil || !strings.Contains(err.Error(), "holds a run already") || !exists(filepath.Join(dir, left[0])) {
		t.Errorf("without force: %v", err)
	}
	if err := run(dir, true); err != nil {
		t.Fatal(err)
	}
	for _, name := range left {
		if exists(filepath.Join(dir, name)) {
			t.Errorf("%s is left", name)
		}
	}
	for _, name := range kept {
		if !exists(filepath.Join(dir, name)) {
			t.Errorf("%s is gone", name)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := run(dir, true); err == nil || !strings.Contains(err.Error(), "holds notes.txt, which is no file of a run") || !exists(filepath.Join(dir, FinalWeights)) {
		t.Errorf("beside a file of somebody else: %v", err)
	}
}

func TestADirectoryWithoutMetaJSONIsNoRunAndIsNotRemoved(t *testing.T) {
	_, r := newLab(64)
	for _, name := range []string{"config.yaml", "best.safetensors", "summary.json"} {
		dir := files(t, map[string][]byte{name: []byte("mine")})
		for _, force := range []bool{false, true} {
			_, err := (&Run{Spec: parseWith(t, r, ofLab), Dir: dir, Force: force}).Train(t.Context())
			if text, _ := os.ReadFile(filepath.Join(dir, name)); err == nil || !strings.Contains(err.Error(), "holds "+name) || string(text) != "mine" {
				t.Errorf("%s, force %t: %v; the file holds %q", name, force, err, text)
			}
		}
	}
	dir := files(t, map[string][]byte{".DS_Store": nil})
	if _, err := (&Run{Spec: parseWith(t, r, ofLab), Dir: dir}).Train(t.Context()); err != nil {
		t.Errorf("a hidden file in the directory gives %v", err)
	}
}

func TestARunDirectoryWithoutItsFilesIsNamedAsSuch(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string][]byte
		want  string
		spec  bool
	}{
		"nothing":    {nil, "is no run directory: it has no config.yaml", false},
		"no weights": {map[string][]byte{"config.yaml": []byte(minimal)}, "has no best.safetensors: the run ended before its first evaluation", false},
		"a bad spec": {map[string][]byte{"config.yaml": []byte("sed: 1"), BestWeights: nil}, `did you mean "seed"?`, true},
	} {
		_, _, err := DefaultRegistry().LoadRun(files(t, c.files))
		var spec SpecError
		if err == nil || !strings.Contains(err.Error(), c.want) || errors.As(err, &spec) != c.spec {
			t.Errorf("%s: %v", name, err)
		}
	}
	s, weights, err := DefaultRegistry().LoadRun(files(t, map[string][]byte{"config.yaml": []byte(minimal), BestWeights: nil}), "seed=4")
	if err != nil || s.Seed != 4 || filepath.Base(weights) != BestWeights {
		t.Errorf("got %+v, %s, %v", s, weights, err)
	}
}
