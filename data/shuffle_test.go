package data_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-ml/reprise/data"
)

// reads are n origins, read one after another.
func reads(n int) []data.Origin {
	out := make([]data.Origin, n)
	for i := range out {
		out[i] = data.Origin{Index: i, Read: int64(i)}
	}
	return out
}

func TestShuffleIsAPermutationThatMovesNothingForwardByMoreThanItsSize(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 300).Draw(t, "n")
		size := rapid.IntRange(-2, 350).Draw(t, "size")
		seed := rapid.Uint64().Draw(t, "seed")
		shuffled := data.Shuffle(stream(reads(n)...), size, seed)
		got, err := collect(shuffled)
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := collect(shuffled); !slices.Equal(got, again) {
			t.Fatal("a second pass over one shuffle gives another order")
		}
		for place, i := range indices(got) {
			if place < i-max(size-1, 0) {
				t.Fatalf("item %d stands in place %d already, with a buffer of %d", i, place, size)
			}
		}
		in := indices(got)
		if slices.Sort(in); !slices.Equal(in, upTo(n)) {
			t.Fatalf("%v is no permutation of %d items", got, n)
		}
	})
}

func TestTheFirstItemLeavesTheShuffleOnceTheBufferIsFull(t *testing.T) {
	for _, n := range []int{3, 10, 100} {
		for _, size := range []int{-1, 0, 1, 2, 7, 10, 100} {
			given := 0
			origins := func(yield func(data.Origin, error) bool) {
				for _, o := range reads(n) {
					given++
					if !yield(o, nil) {
						return
					}
				}
			}
			left := 0
			for range data.Shuffle(origins, size, 1) {
				if want := min(left+max(size, 1), n); given != want {
					t.Fatalf("output %d of a buffer of %d came after %d of %d inputs, want %d", left, size, given, n, want)
				}
				left++
			}
		}
	}
}

func TestReadsIsOneMoreThanTheHighestReadThatHadEntered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(0, 40).Draw(t, "size")
		gaps := rapid.SliceOfN(rapid.Int64Range(0, 3), 1, 120).Draw(t, "gaps")
		var in []data.Example
		read := int64(0)
		for _, gap := range gaps { // 0: another copy of a read; above 1: records were skipped
			read += gap
			in = append(in, data.Example{Origin: data.Origin{Read: read}, Reads: -1})
		}
		got, err := collect(data.Shuffle(stream(in...), size, 1))
		if err != nil || len(got) != len(in) {
			t.Fatalf("%d of %d items, %v", len(got), len(in), err)
		}
		for i, e := range got {
			last := in[min(i+max(size, 1), len(in))-1]
			if e.Reads != last.Origin.Read+1 {
				t.Fatalf("output %d has Reads %d, and read %d had entered last", i, e.Reads, last.Origin.Read)
			}
		}
	})
}

func TestABufferBelowTwoKeepsTheOrder(t *testing.T) {
	for size := -1; size < 2; size++ {
		got, err := collect(data.Shuffle(stream(reads(50)...), size, 3))
		if err != nil || !slices.Equal(got, reads(50)) {
			t.Errorf("a buffer of %d gives %v, %v", size, indices(got), err)
		}
	}
}

func TestTheSeedAloneDecidesTheOrder(t *testing.T) {
	seen := map[string]uint64{}
	for seed := range uint64(100) {
		got, _ := collect(data.Shuffle(stream(reads(60)...), 20, seed))
		key := fmt.Sprint(indices(got))
		if other, ok := seen[key]; ok {
			t.Errorf("seeds %d and %d give one order", seed, other)
		}
		seen[key] = seed
	}
	// Nothing but the number of items decides: batches go the same ways.
	batches := make([]data.Batch, 60)
	for i := range batches {
		batches[i] = data.Batch{Ordinal: int64(i)}
	}
	got, _ := collect(data.Shuffle(stream(batches...), 20, 5))
	origins, _ := collect(data.Shuffle(stream(reads(60)...), 20, 5))
	for i, b := range got {
		if int(b.Ordinal) != origins[i].Index {
			t.Fatalf("batch %d stands where origin %d does", b.Ordinal, origins[i].Index)
		}
	}
}

func TestAShuffleOfWholeBatchesKeepsWhatTheySay(t *testing.T) {
	in := []data.Batch{{Reads: 10, Ordinal: 0}, {Reads: 20, Ordinal: 1}, {Reads: 30, Ordinal: 2}, {Reads: 40, Ordinal: 3}}
	got, err := collect(data.Shuffle(stream(in...), 3, 1))
	if err != nil || len(got) != len(in) {
		t.Fatal(got, err)
	}
	for _, b := range got {
		if b.Reads != 10*(b.Ordinal+1) {
			t.Errorf("batch %d left the buffer with Reads %d", b.Ordinal, b.Reads)
		}
	}
}

func TestEveryOrderOfABufferThatHoldsAllIsAboutEquallyLikely(t *testing.T) {
	for _, size := range []int{4, 5, 100} {
		counts := map[[4]int]int{}
		for seed := range uint64(2400) {
			got, _ := collect(data.Shuffle(stream(reads(4)...), size, seed))
			counts[[4]int(indices(got))]++
		}
		var list []int
		for _, c := range counts {
			list = append(list, c)
		}
		if len(list) != 24 || tooUneven(list) {
			t.Errorf("with a buffer of %d the orders of 4 items came %v times", size, list)
		}
	}
}

func TestItemsWaitInTheBufferForAGeometricTime(t *testing.T) {
	const n, size = 200_000, 10
	got, err := collect(data.Shuffle(stream(reads(n)...), size, 7))
	if err != nil {
		t.Fatal(err)
	}
	// An item leaves as the k-th after it enters with probability
	// 1/size·(1-1/size)^k.
	waits := map[int]int{}
	total := 0
	for place, i := range indices(got) {
		if i < size || i > n-50*size {
			continue // the fill and what the end may cut short
		}
		waits[place-(i-size+1)]++
		total++
	}
	share := 1.0 / size
	for k := range 3 * size {
		want := float64(total) * share
		if d := float64(waits[k]) - want; d*d > 25*want {
			t.Errorf("%d items waited for %d others, want about %.0f", waits[k], k, want)
		}
		share *= 1 - 1.0/size
	}
}

func TestShufflePassesErrorsOnAndEnds(t *testing.T) {
	got, err := collect(data.Shuffle(failing(errTest, reads(10)...), 4, 1))
	if len(got) != 7 || err != errTest {
		t.Errorf("%d items left a buffer of 4 before the error %v of the 11th", len(got), err)
	}
}

func TestLeavingAShuffleLeavesItsStream(t *testing.T) {
	for size, want := range map[int]int64{4: 4, 1000: 100} { // in the middle, in the drain
		src := tap{n: 100}
		origins := data.Map(context.Background(), src.numbers, 1, func(_ context.Context, i int) (data.Origin, error) {
			return data.Origin{Index: i}, nil
		})
		for range data.Shuffle(origins, size, 1) {
			break
		}
		if src.running.Load() != 0 || src.given.Load() < want {
			t.Errorf("a buffer of %d left %d streams open after %d items", size, src.running.Load(), src.given.Load())
		}
	}
}
