package train_test

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/reprise-ml/reprise/nn"
	"github.com/reprise-ml/reprise/train"
)

type kept struct {
	Count int64
	Value float64
}

func checkpoint(step int64) train.Checkpoint {
	return train.Checkpoint{
		Step:      step,
		Model:     []nn.Tensor{{Name: "fc.weight", Shape: []int{2, 3}, Data: []float32{1, 2, 3, 4, 5, float32(step)}}},
		Optimizer: []nn.Tensor{{Name: "momentum.fc.weight", Shape: []int{6}, Data: []float32{.1, .2, .3, .4, .5, .6}}},
		State:     kept{step * 10, 1.0 / 3},
	}
}

// saved returns a folder with checkpoints of steps 10, 20 and 30.
func saved(t *testing.T) train.Checkpoints {
	t.Helper()
	c := train.Checkpoints{Dir: t.TempDir(), Keep: 3}
	for _, step := range []int64{10, 20, 30} {
		if err := c.Save(checkpoint(step)); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func TestACheckpointIsReadAsItWasWritten(t *testing.T) {
	c := saved(t)
	if steps, err := c.Steps(); err != nil || !slices.Equal(steps, []int64{30, 20, 10}) {
		t.Fatalf("there are checkpoints of steps %v, %v", steps, err)
	}
	var state kept
	p, err := c.Load(20, &state)
	want := checkpoint(20)
	if err != nil || !reflect.DeepEqual(p.Model, want.Model) || !reflect.DeepEqual(p.Optimizer, want.Optimizer) || state != want.State {
		t.Errorf("the checkpoint of step 20 holds %v, %v, %v, %v", p.Model, p.Optimizer, state, err)
	}
}

func TestTheLatestCheckpointsAreKept(t *testing.T) {
	c := saved(t)
	c.Keep = 2
	for _, s := range []struct {
		save int64
		want []int64
	}{
		{40, []int64{40, 30}},
		{40, []int64{40, 30}}, // again
		{35, []int64{35, 30}}, // what is later was found damaged
	} {
		if err := c.Save(checkpoint(s.save)); err != nil {
			t.Fatal(err)
		}
		if steps, err := c.Steps(); err != nil || !slices.Equal(steps, s.want) {
			t.Errorf("after that of step %d there are checkpoints of steps %v, %v; want %v", s.save, steps, err, s.want)
		}
	}
	if steps, err := (train.Checkpoints{Dir: filepath.Join(c.Dir, "none")}).Steps(); len(steps) > 0 || err != nil {
		t.Errorf("a folder that is not there has %v, %v", steps, err)
	}
}

func TestEveryDamageOfACheckpointIsFound(t *testing.T) {
	c := saved(t)
	files, err := filepath.Glob(filepath.Join(c.Folder(20), "*"))
	if err != nil || len(files) != 3 {
		t.Fatalf("the files are %v, %v", files, err)
	}
	bad := func(what string) {
		t.Helper()
		var state kept
		if _, err := c.Load(20, &state); err == nil || !strings.Contains(err.Error(), c.Folder(20)) {
			t.Errorf("%s: the error is %v", what, err)
		}
	}
	for _, path := range files {
		name := filepath.Base(path)
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		write := func(b []byte) {
			if err := os.WriteFile(path, b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		for at := range whole {
			if name == "state.json" && at == len(whole)-1 {
				continue // the newline at its end says nothing
			}
			broken := slices.Clone(whole)
			broken[at] ^= 1
			write(broken)
			bad(name + " with a bit turned")
			write(whole[:at])
			bad(name + " cut short")
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		bad("without " + name)
		write(whole)
	}
	if _, err := c.Load(20, new(kept)); err != nil {
		t.Error(err)
	}
}

func TestAHalfWrittenCheckpointIsNoneAndIsCleanedAway(t *testing.T) {
	c := saved(t)
	half := filepath.Join(c.Dir, ".step-00000040.tmp")
	if err := os.Rename(c.Folder(30), half); err != nil {
		t.Fatal(err)
	}
	if steps, err := c.Steps(); err != nil || !slices.Equal(steps, []int64{20, 10}) {
		t.Errorf("there are checkpoints of steps %v, %v", steps, err)
	}
	if err := c.Save(checkpoint(30)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(half); !os.IsNotExist(err) {
		t.Errorf("the half-written one is there: %v", err)
	}
}

func TestAFailureToSaveLeavesWhatThereWas(t *testing.T) {
	c := saved(t)
	p := checkpoint(40)
	p.Optimizer[0].Shape = []int{7} // which its data do not fill
	if err := c.Save(p); err == nil || !strings.Contains(err.Error(), "step 40") {
		t.Errorf("the error is %v", err)
	}
	p = checkpoint(40)
	p.State = func() {}
	if err := c.Save(p); err == nil {
		t.Error("a func is saved as JSON")
	}
	held, err := os.ReadDir(c.Dir)
	if err != nil || len(held) != 3 {
		t.Errorf("the folder holds %v, %v", held, err)
	}
}

func TestACheckpointsFolderOwnsItsNamesOnly(t *testing.T) {
	var c train.Checkpoints
	for name, want := range map[string]bool{
		"step-00000010": true, "step-123456789": true, ".step-00000010.tmp": true,
		"step-10": false, "step-00000010.old": false, ".step-00000010": false, "notes": false, "": false, "step-": false,
	} {
		if c.Owns(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}
