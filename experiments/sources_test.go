package experiments

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/reprise-ml/reprise/data/datatest"
	"github.com/reprise-ml/reprise/train/report"
)

// files writes files below a new directory, and returns it.
func files(t *testing.T, contents map[string][]byte) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range contents {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// archived packs files into a tar archive.
func archived(t *testing.T, contents map[string][]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(contents)) {
		if err := w.WriteHeader(&tar.Header{Name: "set/" + name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(contents[name]))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(contents[name]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// cifarFile holds n records of CIFAR-10, of every class in turn.
func cifarFile(n int) []byte {
	var b []byte
	for i := range n {
		b = append(b, byte(i%10))
		b = append(b, bytes.Repeat([]byte{byte(20 * (i % 10))}, 3072)...)
	}
	return b
}

// idxFile is the IDX format of bytes of a shape.
func idxFile(values []byte, shape ...int) []byte {
	b := []byte{0, 0, 8, byte(len(shape))}
	for _, n := range shape {
		b = binary.BigEndian.AppendUint32(b, uint32(n))
	}
	return append(b, values...)
}

func idxFiles() map[string][]byte {
	out := map[string][]byte{}
	for prefix, n := range map[string]int{"train": 40, "t10k": 8} {
		var pixels, labels []byte
		for i := range n {
			pixels = append(pixels, bytes.Repeat([]byte{byte(60 * (i % 4))}, 64)...)
			labels = append(labels, byte(i%4))
		}
		out[prefix+"-images-idx3-ubyte"] = idxFile(pixels, n, 8, 8)
		out[prefix+"-labels-idx1-ubyte"] = idxFile(labels, n)
	}
	return out
}

func TestEverySourceTrainsFromItsFiles(t *testing.T) {
	pictures := datatest.Files(t, 2, 20)
	flat := map[string][]byte{}
	withVal := map[string][]byte{}
	for name, content := range pictures {
		if after, ok := strings.CutPrefix(name, "train/"); ok {
			flat[after] = content
			withVal[name] = content
		} else {
			withVal["val/"+strings.TrimPrefix(name, "test/")] = content
		}
	}
	for _, c := range []struct {
		name, source, path      string
		train, validation, test string // as the spec names them in the end
		records, classes        int
	}{
		{"folder", "folder", files(t, pictures), "train[:90%]", "train[90%:]", "test", 36, 2},
		{"folder with val", "folder", files(t, withVal), "train", "val", "", 40, 2},
		{"folder without parts", "folder", files(t, flat), "all[:90%]", "all[90%:]", "", 36, 2},
		{"shards", "shards", files(t, map[string][]byte{"a.tar": archived(t, pictures)}), "train[:90%]", "train[90%:]", "test", 36, 2},
		{"cifar", "cifar", files(t, map[string][]byte{"data_batch_1.bin": cifarFile(40), "test_batch.bin": cifarFile(10)}), "train[:90%]", "train[90%:]", "test", 36, 10},
		{"idx", "idx", files(t, idxFiles()), "train[:90%]", "train[90%:]", "test", 36, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("REPRISE_HERE", filepath.Dir(c.path))
			path := "${REPRISE_HERE}/" + filepath.Base(c.path)
			s := parse(t, "data: {source: {"+c.source+": {path: \""+path+"\"}}}\ninput: {size: 8}\npipeline: {shuffle: 4}\nmodel: {mlp: {}}\ntrain: {batch: 4, rate: {start: 0.001}}\nstop: {max_epochs: 1}\n")
			summary, dir := trained(t, s)
			if summary.Status != report.Done || summary.FreshExamples != int64(c.records) || (summary.TestError != nil) != (c.test != "") {
				t.Errorf("got %+v", summary)
			}
			kept, err := DefaultRegistry().Load(filepath.Join(dir, "config.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			if d := kept.Data; d.Train != c.train || d.Validation != c.validation || d.Test != c.test {
				t.Errorf("the parts are %+v", d)
			}
			text, err := os.ReadFile(filepath.Join(dir, "config.yaml"))
			if err != nil || !strings.Contains(string(text), path) {
				t.Errorf("config.yaml does not name the path as it was given:\n%s", text)
			}
			_, d, err := kept.Open()
			if err != nil || len(d.Classes) != c.classes || d.Train.Len() != c.records {
				t.Errorf("%d records of the classes %q, %v", d.Train.Len(), d.Classes, err)
			}
			if bases, err := kept.Data.Source.Value.Bases(); err != nil || len(bases) == 0 {
				t.Errorf("the parts are %q, %v", bases, err)
			}
		})
	}
}

func TestEverySourceNamesAPathThatIsNotThere(t *testing.T) {
	for _, source := range []string{"folder", "shards", "cifar", "idx"} {
		for path, want := range map[string]string{"/no/such/place": "/no/such/place", "$REPRISE_NO_SUCH": "REPRISE_NO_SUCH, which is not set", "": "path: is missing"} {
			s := parse(t, minimal, "data.source={"+source+": {path: \""+path+"\"}}")
			if _, _, err := s.Open(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s of %q gives %v", source, path, err)
			}
			if _, err := s.Data.Source.Value.Open("train"); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s of %q opens with %v", source, path, err)
			}
		}
	}
}

func TestVariablesOfAPathAreExpanded(t *testing.T) {
	t.Setenv("REPRISE_A", "/a")
	t.Setenv("REPRISE_EMPTY", "")
	for path, want := range map[Path]string{
		"plain/x": "plain/x", "$REPRISE_A/x": "/a/x", "${REPRISE_A}x": "/ax", "$$REPRISE_A": "$REPRISE_A", "a$$b": "a$b", "$REPRISE_EMPTY/x": "/x", "$$$$": "$$",
	} {
		if got, err := path.Expand(); err != nil || got != want {
			t.Errorf("%s is %q, %v, want %q", path, got, err, want)
		}
	}
	for _, path := range []Path{"", "$REPRISE_NO_SUCH", "${REPRISE_A}/${REPRISE_NO_SUCH}/x", "${REPRISE_NO_SUCH}/$REPRISE_A"} {
		if got, err := path.Expand(); err == nil || got != "" {
			t.Errorf("%q is %q", path, got)
		}
	}
}

func TestAFolderThatDisappearsEndsTheRunThatSkips(t *testing.T) {
	for maxBad, want := range map[string]string{"100": "every record of data.train is damaged, 21 reads in a row", "5": "6 distinct damaged records, more than data.max_bad, 5"} {
		for _, strategy := range []string{"none", "read", "batch"} {
			root := pictures(t, 2, 10)
			dir := filepath.Join(t.TempDir(), "run")
			run := Run{Spec: parse(t, strings.ReplaceAll(ofFolder, "PATH", root), "data.on_error=skip", "data.max_bad="+maxBad, "stop={max_epochs: 0, max_steps: 1e6}", "evaluate.every=1e6 steps", "echo.strategy="+strategy), Dir: dir,
				Notice: func(string) { os.RemoveAll(filepath.Join(root, "train")) }}
			s, err := run.Train(context.Background())
			if err == nil || !strings.Contains(err.Error(), want) || s.Status != report.Failed {
				t.Errorf("%s: got %+v, %v; want %s", strategy, s, err, want)
			}
		}
	}
}

func TestValidationDataThatDisappearEndTheRun(t *testing.T) {
	l, r := newLab(64)
	var gone atomic.Bool
	l.reads = func(_ context.Context, base string, _ int) error {
		if base == "validation" && gone.Load() {
			return errors.New("gone")
		}
		return nil
	}
	run := Run{Spec: parseWith(t, r, ofLab, "data.on_error=skip"), Dir: filepath.Join(t.TempDir(), "run"), Notice: func(string) { gone.Store(true) }}
	s, err := run.Train(context.Background())
	if err == nil || !strings.Contains(err.Error(), "evaluating on data.validation: ") || s.Status != report.Failed || s.BadRecords != 16 || s.BadReads != 0 {
		t.Errorf("got %+v, %v", s, err)
	}
}

func TestEndlessDataHaveNoEpochs(t *testing.T) {
	_, r := newLab(0)
	for set, want := range map[string]string{
		"stop.max_epochs=1":                                 "stop.max_epochs: the training data has no end; want max_fresh or max_steps",
		"evaluate.every=1 epochs":                           "evaluate.every: is in epochs, and the training data has no end",
		"log.every=1 epochs":                                "log.every: is in epochs",
		"train.rate.horizon=2 epochs":                       "train.rate.horizon: is in epochs",
		"data.train=train[:50%]":                            "cuts a source that has no end",
		"data.validation=train":                             "data.validation: has endless records",
		"data.test=train":                                   "data.test: has endless records",
		"train.rate={warmup: 1 epochs, horizon: 100 fresh}": "train.rate.warmup: is in epochs",
	} {
		run := Run{Spec: parseWith(t, r, ofLab, "data.source.lab.records=0", set), Dir: filepath.Join(t.TempDir(), "run")}
		var spec SpecError
		if _, err := run.Train(context.Background()); err == nil || !strings.Contains(err.Error(), want) || !errors.As(err, &spec) || exists(run.Dir) {
			t.Errorf("%s gives %v, want %s", set, err, want)
		}
	}
	s, dir := trained(t, parseWith(t, r, strings.Replace(ofLab, "every: 100 steps, ", "", 1), "data.source.lab.records=0", "stop={max_steps: 0, max_fresh: 80}"))
	if s.FreshExamples != 80 || metricsOf(t, dir, report.KindTrain)[0].Epoch != nil {
		t.Errorf("got %+v", s)
	}
	if kept, err := r.Load(filepath.Join(dir, "config.yaml")); err != nil || kept.Evaluate.Every != (Span{10000, Fresh}) {
		t.Errorf("evaluation is every %v, %v", kept.Evaluate.Every, err)
	}
}
