package data_test

import (
	"slices"
	"testing"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/echo"
)

// dots are pictures of one pixel, each of the value of its number.
func dots(n int) []data.Example {
	var in []data.Example
	for i := range n {
		p := data.Picture{Pix: []uint8{uint8(i), 0, 0}, Width: 1, Height: 1}
		in = append(in, data.Example{Input: p, Target: data.Class(0), Origin: data.Origin{Index: i, Read: int64(i)}})
	}
	return in
}

// batchOf joins one picture.
func batchOf(t *testing.T, form func([]data.Example) (data.Batch, error), e data.Example) data.Batch {
	t.Helper()
	b, err := form([]data.Example{e})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestTheMemoryOfABatchIsUsedAgainWhenItsLastCopyIsReleased(t *testing.T) {
	in, form := dots(6), data.Format{}.Reusing()
	at := func(b data.Batch) *float32 { return &b.Inputs[0].F32[0] }
	first := batchOf(t, form, in[1])
	echoes := []data.Batch{first.Echo(0), first.Echo(1)}
	first.Release()
	echoes[0].Release()
	if second := batchOf(t, form, in[2]); at(second) == at(first) {
		t.Fatal("the memory of a batch of which a copy is in use is used again")
	}
	echoes[1].Release()
	third := batchOf(t, form, in[3])
	if at(third) != at(first) || third.Inputs[0].F32[0] != float32(1./255)*3 {
		t.Errorf("the memory of a released batch is not used again, or holds %v", third.Inputs[0].F32)
	}
	kept := third.Keep()
	third.Release()
	third.Release()
	if fourth := batchOf(t, form, in[4]); at(fourth) == at(kept) || kept.Inputs[0].F32[0] != float32(1./255)*3 {
		t.Error("a batch that is kept is written to")
	}
	larger, err := form(slices.Repeat(in[5:], 9))
	if err != nil || len(larger.Inputs[0].F32) != 27 {
		t.Errorf("a larger batch has %d values, %v", len(larger.Inputs[0].F32), err)
	}
	data.Batch{}.Release()
}

func TestEchoedBatchesThatAreReleasedAtOnceHoldTheirOwnPixels(t *testing.T) {
	for _, factor := range []echo.Factor{1, 2.5, 4} {
		for _, depth := range []int{0, 2} {
			batches := data.Batches(stream(dots(200)...), 5, data.Format{}.Reusing())
			batches = echo.Repeat(data.Prefetch(batches, depth), factor, 1)
			n := 0
			for b, err := range data.Shuffle(batches, 3, 1) {
				if err != nil {
					t.Fatal(err)
				}
				for i, o := range b.Origins {
					if got, want := b.Inputs[0].F32[3*i], float32(1./255)*float32(o.Index); got != want {
						t.Fatalf("row %d of a batch is %v, want that of record %d, %v", i, got, o.Index, want)
					}
				}
				b.Release()
				n++
			}
			if n < 40 {
				t.Errorf("%d batches", n)
			}
		}
	}
}

func TestABatchOfTheCollectorMayBeReleasedToo(t *testing.T) {
	for b, err := range echo.Repeat(data.Batches(stream(dots(2)...), 1, data.Format{}.Batch), 2, 1) {
		if err != nil || len(b.Inputs) != 1 {
			t.Fatal(b, err)
		}
		b.Release()
	}
}
