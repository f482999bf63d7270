package experiments

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/train/report"
)

// realData skips a test where the directory of real pictures, REPRISE_DATA,
// does not hold a file; what the test shows on them, the others show on
// pictures made by package synth.
func realData(t *testing.T, file string) {
	t.Helper()
	dir := os.Getenv("REPRISE_DATA")
	if dir == "" {
		t.Skip("REPRISE_DATA is not set: no real pictures")
	}
	if !exists(filepath.Join(dir, file)) {
		t.Skipf("REPRISE_DATA holds no %s", file)
	}
}

func TestTheFirstSpecTrainsOnRealPictures(t *testing.T) {
	realData(t, "cifar10-jpeg.tar.gz")
	s, err := DefaultRegistry().Load("specs/first.yaml", "echo={strategy: example, factor: 2}", "pipeline.shuffle=64", "stop={max_steps: 2}",
		"train.batch=16", "data.test=none", "data.validation=train[45000:45100]", "evaluate={batch: 50, every: 1 epochs}")
	if err != nil {
		t.Fatal(err)
	}
	summary, _ := trained(t, s)
	if summary.Status != report.Done || summary.Steps != 2 || *summary.FinalValError > 1 {
		t.Errorf("got %+v", summary)
	}
}

func TestSplitsOfRealPicturesHaveEveryClassInItsShare(t *testing.T) {
	realData(t, "cifar10-jpeg.tar.gz")
	s, err := DefaultRegistry().Load("specs/first.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, d, err := s.Open()
	if err != nil {
		t.Fatal(err)
	}
	for part, want := range map[data.Source]int{d.Train: 4500, d.Validation: 500, d.Test: 1000} {
		counts := make([]int, 10)
		for i := range part.Len() {
			counts[part.(data.Labelled).Label(i)]++
		}
		for c, n := range counts {
			if n != want {
				t.Errorf("class %s has %d of %d records, want %d", d.Classes[c], n, part.Len(), want)
			}
		}
	}
}

func TestGrayAndColourPicturesOfManySizesTrain(t *testing.T) {
	realData(t, "tiny-imagenet-20.tar.gz")
	s := parse(t, `
data: {source: {shards: {path: "${REPRISE_DATA}/tiny-imagenet-20.tar.gz"}}, train: "train[:2%]", validation: "val[:5%]"}
input: {size: 32}
pipeline: {shuffle: 32}
model: {mlp: {hidden: [4]}}
train: {batch: 32, rate: {start: 0.01}}
stop: {max_epochs: 2}
`)
	summary, err := (&Run{Spec: s, Dir: filepath.Join(t.TempDir(), "run")}).Train(context.Background())
	if err != nil || summary.FreshExamples < 400 {
		t.Errorf("got %+v, %v", summary, err)
	}
}
