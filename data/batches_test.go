package data_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-ml/reprise/data"
)

// row makes a batch of origins alone.
func row(group []data.Origin) (data.Batch, error) {
	return data.Batch{Origins: slices.Clone(group)}, nil
}

// untilThird is row, but fails on its third group.
func untilThird() func(group []data.Origin) (data.Batch, error) {
	n := 0
	return func(group []data.Origin) (data.Batch, error) {
		if n++; n == 3 {
			return data.Batch{}, errTest
		}
		return row(group)
	}
}

func TestBatchesAreFullGroupsInOrderAndTheRestIsDropped(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 60).Draw(t, "n")
		size := rapid.IntRange(1, 20).Draw(t, "size")
		batches := data.Batches(stream(reads(n)...), size, row)
		for range 2 {
			got, err := collect(batches)
			if err != nil || len(got) != n/size {
				t.Fatalf("%d batches, %v, want %d", len(got), err, n/size)
			}
			for i, b := range got {
				if b.Ordinal != int64(i) || b.Weights.F32 != nil || !slices.Equal(b.Origins, reads(n)[i*size:(i+1)*size]) {
					t.Fatalf("batch %d is %+v", i, b)
				}
			}
		}
	})
}

func TestABatchIsMadeAsSoonAsItIsFull(t *testing.T) {
	src := tap{n: 100}
	form := func(group []int) (data.Batch, error) { return data.Batch{Reads: int64(group[0])}, nil }
	n := int64(0)
	for b, err := range data.Batches(src.numbers, 7, form) {
		if n++; err != nil || b.Reads != 7*(n-1) || src.given.Load() != 7*n {
			t.Fatalf("batch %d begins with %d and took %d items (%v)", n, b.Reads, src.given.Load(), err)
		}
	}
}

func TestPaddedHasEveryItemOnceAtWeightOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 60).Draw(t, "n")
		size := rapid.IntRange(1, 20).Draw(t, "size")
		got, err := collect(data.Padded(stream(reads(n)...), size, row))
		if err != nil || len(got) != (n+size-1)/size {
			t.Fatalf("%d batches, %v, want %d", len(got), err, (n+size-1)/size)
		}
		var seen []data.Origin
		for i, b := range got {
			if b.Ordinal != int64(i) {
				t.Fatalf("batch %d has Ordinal %d", i, b.Ordinal)
			}
			if !slices.Equal(b.Weights.Shape, []int{size}) || len(b.Weights.F32) != size || len(b.Origins) != size {
				t.Fatalf("batch %d has %d rows and weights %+v, want %d", i, len(b.Origins), b.Weights, size)
			}
			for j, w := range b.Weights.F32 {
				switch w {
				case 1:
					seen = append(seen, b.Origins[j])
				case 0:
					if b.Origins[j] != reads(n)[n-1] {
						t.Fatalf("the padding is %+v, want the last item", b.Origins[j])
					}
				default:
					t.Fatalf("a weight is %v", w)
				}
			}
		}
		if !slices.Equal(seen, reads(n)) {
			t.Fatalf("the rows of weight 1 are %v, want all %d items", seen, n)
		}
	})
}

func TestErrorsEndBatches(t *testing.T) {
	for name, stage := range map[string]func(data.Seq[data.Origin], int, func([]data.Origin) (data.Batch, error)) data.Seq[data.Batch]{
		"Batches": data.Batches[data.Origin],
		"Padded":  data.Padded[data.Origin],
	} {
		for what, s := range map[string]data.Seq[data.Batch]{
			"upstream": stage(failing(errTest, reads(11)...), 5, row),
			"form":     stage(stream(reads(30)...), 5, untilThird()),
		} {
			batches, failures := 0, 0
			for b, err := range s {
				if err == nil {
					batches++
					continue
				}
				if failures++; err != errTest || b.Origins != nil {
					t.Errorf("%s with an error of %s fails with %+v, %v", name, what, b, err)
				}
			}
			if batches != 2 || failures != 1 {
				t.Errorf("%s with an error of %s: %d batches and %d errors, want 2 and 1", name, what, batches, failures)
			}
		}
	}
}

func TestAFailureToFormTheShortLastGroupIsReported(t *testing.T) {
	got, err := collect(data.Padded(stream(reads(12)...), 5, untilThird()))
	if len(got) != 2 || err != errTest {
		t.Errorf("%d batches, then %v", len(got), err)
	}
}

func TestLeavingBatchesLeavesTheirStream(t *testing.T) {
	form := func([]int) (data.Batch, error) { return data.Batch{}, nil }
	src := tap{n: 100}
	for name, s := range map[string]data.Seq[data.Batch]{
		"Batches": data.Batches(src.numbers, 5, form),
		"Padded":  data.Padded(src.numbers, 5, form),
	} {
		src.given.Store(0)
		for range s {
			break
		}
		if src.given.Load() != 5 || src.running.Load() != 0 {
			t.Errorf("%s took %d items, and %d streams are left open", name, src.given.Load(), src.running.Load())
		}
	}
}
