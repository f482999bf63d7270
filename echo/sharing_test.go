package echo_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/echo"
)

// bytesOf is a copy of what a picture holds, whatever its form.
func bytesOf(p data.Picture) []byte {
	if p.Encoded != nil {
		return slices.Clone(p.Encoded)
	}
	return slices.Clone(p.RGB().Pix)
}

func TestCopiesOfAnExampleShareItsMemory(t *testing.T) {
	src := album(t, 3)
	ctx := context.Background()
	encoded := data.Read(ctx, data.Once(3), 1, data.FromSource(src), nil)
	decoded := data.Decode(ctx, encoded, 1, nil)
	for name, in := range map[string]data.Seq[data.Example]{
		"encoded": encoded, "decoded": decoded, "augmented": data.Augment(ctx, decoded, 1, 1),
	} {
		examples, err := collect(data.Shuffle(echo.Repeat(in, 4, 1), 5, 1))
		if err != nil || len(examples) != 12 {
			t.Fatalf("%s: %d examples, %v", name, len(examples), err)
		}
		of := map[int64]data.Picture{}
		for _, e := range examples {
			p := e.Input.(data.Picture)
			first, ok := of[e.Origin.Read]
			switch {
			case !ok:
				of[e.Origin.Read] = p
			case p.Image != first.Image,
				p.Encoded != nil && &p.Encoded[0] != &first.Encoded[0],
				p.Pix != nil && &p.Pix[0] != &first.Pix[0]:
				t.Errorf("copies of %s read %d have memory of their own", name, e.Origin.Read)
			}
		}
	}
}

func TestCopiesOfABatchShareItsArraysAndKeepReadsAndOrdinalAlsoShuffled(t *testing.T) {
	src := album(t, 20)
	const e = 3
	p := pipeline{src: src, reads: 60, workers: 2, shuffle: 8, batch: 5}
	plain, err := collect(p.batches())
	if err != nil {
		t.Fatal(err)
	}
	p.echo = echo.Spec{Strategy: echo.Batch, Factor: e, ShuffleBatches: 6}
	got, err := collect(p.batches())
	if err != nil || len(got) != e*len(plain) {
		t.Fatalf("%d batches of %d, %v", len(got), len(plain), err)
	}
	copies := map[int64][]data.Batch{}
	moved := false
	for i, b := range got {
		moved = moved || b.Ordinal != int64(i/e)
		want := plain[b.Ordinal]
		if b.Reads != want.Reads || !slices.Equal(b.Inputs[0].F32, want.Inputs[0].F32) || !slices.Equal(b.Targets[0].I32, want.Targets[0].I32) {
			t.Errorf("a copy of batch %d has Reads %d, want %d, or other values", b.Ordinal, b.Reads, want.Reads)
		}
		for row, o := range b.Origins {
			if o != want.Origins[row].Echo(b.Origins[0].Copy) {
				t.Errorf("row %d of a copy of batch %d is of %+v", row, b.Ordinal, o)
			}
		}
		copies[b.Ordinal] = append(copies[b.Ordinal], b)
	}
	if !moved {
		t.Error("the batches were not shuffled")
	}
	for ordinal, list := range copies {
		var numbers []int
		for _, b := range list {
			numbers = append(numbers, b.Origins[0].Copy)
			if &b.Inputs[0].F32[0] != &list[0].Inputs[0].F32[0] || &b.Targets[0].I32[0] != &list[0].Targets[0].I32[0] {
				t.Errorf("the copies of batch %d have memory of their own", ordinal)
			}
		}
		if slices.Sort(numbers); !slices.Equal(numbers, []int{0, 1, 2}) {
			t.Errorf("the copies of batch %d are %v", ordinal, numbers)
		}
	}
}

// TestNoStageWritesToWhatItWasGiven notes what passes between the stages and
// looks again at the end.
func TestNoStageWritesToWhatItWasGiven(t *testing.T) {
	src := album(t, 10)
	for _, strategy := range echo.Strategies() {
		type seen struct {
			picture data.Picture
			was     []byte
		}
		var guard sync.Mutex
		var all []seen
		p := pipeline{src: src, reads: 40, workers: 2, shuffle: 10, batch: 4, echo: echo.Spec{Strategy: strategy, Factor: 3}}
		if strategy == echo.Batch {
			p.echo.ShuffleBatches = 5
		}
		p.see = func(in data.Seq[data.Example]) data.Seq[data.Example] {
			return func(yield func(data.Example, error) bool) {
				for e, err := range in {
					if err == nil {
						picture := e.Input.(data.Picture)
						guard.Lock()
						all = append(all, seen{picture, bytesOf(picture)})
						guard.Unlock()
					}
					if !yield(e, err) {
						return
					}
				}
			}
		}
		var batches []data.Batch
		var were [][]float32
		for b, err := range p.batches() {
			if err != nil {
				t.Fatal(err)
			}
			batches = append(batches, b)
			were = append(were, slices.Clone(b.Inputs[0].F32))
		}
		if len(all) < 3*p.reads || len(batches) == 0 {
			t.Fatalf("%s: %d pictures and %d batches passed", strategy, len(all), len(batches))
		}
		for _, s := range all {
			if !slices.Equal(bytesOf(s.picture), s.was) {
				t.Errorf("%s: a picture was written to after it passed", strategy)
			}
		}
		for i, b := range batches {
			if !slices.Equal(b.Inputs[0].F32, were[i]) {
				t.Errorf("%s: a batch was written to after it passed", strategy)
			}
		}
	}
}

// torn is a source of which a record cannot be read.
type torn struct {
	photos
	at int
}

func (s torn) Read(ctx context.Context, i int) (data.Example, error) {
	if i == s.at {
		return data.Example{}, errTest
	}
	return s.photos.Read(ctx, i)
}

func TestAnErrorOfTheSourceComesOutOfEveryPipeline(t *testing.T) {
	damaged := album(t, 9)
	damaged[5] = damaged[5][:len(damaged[5])/2]
	for name, src := range map[string]data.Source{"unreadable": torn{album(t, 9), 5}, "damaged": damaged} {
		for _, strategy := range echo.Strategies() {
			p := pipeline{src: src, workers: 2, shuffle: 4, batch: 2, echo: echo.Spec{Strategy: strategy, Factor: 1.5}}
			_, err := collect(p.batches())
			if err == nil || errors.Is(err, errTest) != (name == "unreadable") {
				t.Errorf("%s, %s record: the error is %v", strategy, name, err)
			}
		}
	}
}

func TestAnInvalidFactorIsTheErrorOfThePipeline(t *testing.T) {
	src := album(t, 3)
	for _, strategy := range echo.Strategies()[1:] {
		p := pipeline{src: src, workers: 2, shuffle: 4, batch: 2, echo: echo.Spec{Strategy: strategy, Factor: 0.5}}
		got, err := collect(p.batches())
		if len(got) != 0 || err == nil || err.Error() != p.echo.Check().Error() {
			t.Errorf("%s: %d batches, then %v", strategy, len(got), err)
		}
	}
}
