package data_test

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-ml/reprise/data"
)

// take returns the first n origins of an order.
func take(t interface{ Fatal(...any) }, order data.Seq[data.Origin], n int) []data.Origin {
	out := make([]data.Origin, 0, n)
	for o, err := range order {
		if err != nil {
			t.Fatal(err)
		}
		if out = append(out, o); len(out) == n {
			break
		}
	}
	return out
}

// indices are the records of origins.
func indices(origins []data.Origin) []int {
	out := make([]int, len(origins))
	for i, o := range origins {
		out[i] = o.Index
	}
	return out
}

func TestEachEpochIsAPermutation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 300).Draw(t, "n")
		seed := rapid.Uint64().Draw(t, "seed")
		ordering := rapid.SampledFrom([]data.Ordering{"", data.Permuted, data.Sequential}).Draw(t, "ordering")
		origins := take(t, data.Order(n, ordering, seed), 3*n)
		for i, o := range origins {
			if o.Read != int64(i) || o.Copy != 0 {
				t.Fatalf("origin %d is %+v", i, o)
			}
		}
		for epoch := range 3 {
			seen := indices(origins[epoch*n : (epoch+1)*n])
			if slices.Sort(seen); seen[0] != 0 || seen[n-1] != n-1 || len(slices.Compact(seen)) != n {
				t.Fatalf("epoch %d is no permutation", epoch)
			}
		}
	})
}

func TestEpochsAndSeedsHaveDifferentOrders(t *testing.T) {
	const n = 100
	seen := map[string]bool{}
	for seed := range uint64(20) {
		order := data.Order(n, data.Permuted, seed)
		origins := take(t, order, 5*n)
		if !slices.Equal(origins, take(t, order, 5*n)) {
			t.Error("a second pass over one order gives another")
		}
		for epoch := range 5 {
			key := ""
			for _, i := range indices(origins[epoch*n : (epoch+1)*n]) {
				key += string(rune(i))
			}
			if seen[key] {
				t.Errorf("epoch %d of seed %d has been seen before", epoch, seed)
			}
			seen[key] = true
		}
	}
}

func TestSequentialIsTheOrderOfTheSource(t *testing.T) {
	got := indices(take(t, data.Order(4, data.Sequential, 9), 10))
	if want := []int{0, 1, 2, 3, 0, 1, 2, 3, 0, 1}; !slices.Equal(got, want) {
		t.Errorf("the order is %v, want %v", got, want)
	}
}

func TestAnEndlessSourceIsReadInItsOrder(t *testing.T) {
	for _, ordering := range []data.Ordering{"", data.Permuted, data.Sequential} {
		for i, o := range take(t, data.Order(data.Endless, ordering, 1), 1000) {
			if o != (data.Origin{Index: i, Read: int64(i)}) {
				t.Fatalf("origin %d is %+v", i, o)
			}
		}
	}
}

func TestOnceIsOnePassAndEnds(t *testing.T) {
	if got := indices(take(t, data.Once(5), 100)); !slices.Equal(got, []int{0, 1, 2, 3, 4}) {
		t.Errorf("one pass is %v", got)
	}
}

func TestWhatCannotBeOrderedIsAnError(t *testing.T) {
	for _, test := range []struct {
		n        int
		ordering data.Ordering
		want     string
	}{
		{0, data.Permuted, "data: the source holds no records"},
		{5, "backwards", `data: order is "backwards", want permuted or sequential`},
		{data.Endless, "backwards", `data: order is "backwards", want permuted or sequential`},
	} {
		n := 0
		for _, err := range data.Order(test.n, test.ordering, 0) {
			if n++; err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("%d records in order %q: error is %v, want %s", test.n, test.ordering, err, test.want)
			}
		}
		if n != 1 {
			t.Errorf("%d values, want one error", n)
		}
	}
}

// tooUneven reports counts that Pearson's statistic finds too uneven for
// draws that were equally likely, at about 4.5 standard deviations.
func tooUneven(counts []int) bool {
	n := 0
	for _, c := range counts {
		n += c
	}
	sum, want := 0.0, float64(n)/float64(len(counts))
	for _, c := range counts {
		sum += (float64(c) - want) * (float64(c) - want) / want
	}
	free := float64(len(counts) - 1)
	return sum > free+4.5*math.Sqrt(2*free)+10
}

func TestEveryPermutationIsAboutEquallyLikely(t *testing.T) {
	for n, factorial := range map[int]int{2: 2, 3: 6, 4: 24, 5: 120} {
		counts := map[[5]int]int{}
		for seed := range uint64(20) {
			origins := take(t, data.Order(n, data.Permuted, seed), n*factorial*20)
			for ; len(origins) > 0; origins = origins[n:] {
				var p [5]int
				copy(p[:], indices(origins[:n]))
				counts[p]++
			}
		}
		var list []int
		for _, c := range counts {
			list = append(list, c)
		}
		if len(list) != factorial || tooUneven(list) {
			t.Errorf("the permutations of %d were drawn %v times", n, list)
		}
	}
}

func TestEveryRecordStandsInEveryPlaceEquallyOften(t *testing.T) {
	for _, n := range []int{7, 16, 33} {
		const epochs = 4000
		places := make([]int, n*n)  // by record and place
		follows := make([]int, n*n) // by record and the one after it
		for i, o := range take(t, data.Order(n, data.Permuted, 5), n*epochs) {
			places[o.Index*n+i%n]++
		}
		origins := indices(take(t, data.Order(n, data.Permuted, 6), n*epochs))
		for i := range origins[1:] {
			if (i+1)%n > 0 {
				follows[origins[i]*n+origins[i+1]]++
			}
		}
		if tooUneven(places) {
			t.Errorf("of %d records some stand in some places too often: %v", n, places)
		}
		pairs := make([]int, 0, n*(n-1))
		for i, c := range follows {
			if i/n != i%n {
				pairs = append(pairs, c)
			}
		}
		if tooUneven(pairs) {
			t.Errorf("of %d records some follow some others too often: %v", n, pairs)
		}
	}
}

func BenchmarkOrder(b *testing.B) {
	for _, n := range []int{50_000, 65_537, 1_281_167} { // the second walks longest
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			left := b.N
			for _, err := range data.Order(n, data.Permuted, 1) {
				if err != nil {
					b.Fatal(err)
				}
				if left--; left < 0 {
					return
				}
			}
		})
	}
}

func TestHeadsAreTheBeginningOfEachEpoch(t *testing.T) {
	whole := take(t, data.Order(10, data.Permuted, 3), 30)
	for i, o := range take(t, data.Heads(data.Order(10, data.Permuted, 3), 10, 4), 12) {
		if want := whole[i/4*10+i%4]; o.Index != want.Index || o.Read != int64(i) {
			t.Errorf("read %d is %+v, want record %d", i, o, want.Index)
		}
	}
	if _, err := collect(data.Heads(data.Order(0, data.Permuted, 3), 10, 4)); err == nil {
		t.Error("an error is lost")
	}
}

func ExampleHeads() {
	reads := 0
	for o := range data.Heads(data.Order(9, data.Sequential, 0), 9, 3) {
		fmt.Print(o.Index, " ")
		if reads++; reads == 6 {
			break
		}
	}
	// Output: 0 1 2 0 1 2
}
