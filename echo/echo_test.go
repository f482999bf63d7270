package echo_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/echo"
)

var errTest = errors.New("test: the tape tore")

// first returns the first n values of in.
func first[T any](in data.Seq[T], n int) data.Seq[T] {
	return func(yield func(T, error) bool) {
		left := n
		if left == 0 {
			return
		}
		for v, err := range in {
			if left--; !yield(v, err) || left == 0 {
				return
			}
		}
	}
}

// then is in, and err after it.
func then[T any](in data.Seq[T], err error) data.Seq[T] {
	return func(yield func(T, error) bool) {
		for v, err := range in {
			if !yield(v, err) {
				return
			}
		}
		var zero T
		yield(zero, err)
	}
}

// collect returns what a stream yields before it ends or fails.
func collect[T any](in data.Seq[T]) ([]T, error) {
	var out []T
	for v, err := range in {
		if err != nil {
			return out, err
		}
		out = append(out, v)
	}
	return out, nil
}

// times counts how often each read occurs.
func times(origins []data.Origin) map[int64]int {
	n := map[int64]int{}
	for _, o := range origins {
		n[o.Read]++
	}
	return n
}

// row makes a batch of origins alone.
func row(group []data.Origin) (data.Batch, error) {
	return data.Batch{Origins: slices.Clone(group)}, nil
}

func ExampleRepeat() {
	const factor, seed = 3, 1
	for o, err := range echo.Repeat(data.Once(2), factor, seed) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("record %d, copy %d\n", o.Index, o.Copy)
	}
	// Output:
	// record 0, copy 0
	// record 0, copy 1
	// record 0, copy 2
	// record 1, copy 0
	// record 1, copy 1
	// record 1, copy 2
}

// With a factor that is not whole each item is repeated once more or once
// less, as drawn for it.
func ExampleRepeat_fractional() {
	const factor, seed = 1.5, 2
	for o, err := range echo.Repeat(data.Once(6), factor, seed) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if o.Fresh() {
			fmt.Printf("\nrecord %d", o.Index)
		} else {
			fmt.Print(", again")
		}
	}
	// Output:
	// record 0
	// record 1, again
	// record 2
	// record 3, again
	// record 4, again
	// record 5
}

func ExampleFactor_Check() {
	fmt.Println(echo.Factor(2.5).Check())
	fmt.Println(echo.Factor(0.5).Check())
	// Output:
	// <nil>
	// echo: the factor is 0.5, want 1 to 1024, or auto
}

func TestEveryItemIsRepeatedInPlaceWithItsCopiesNumbered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		factor := rapid.Float64Range(1, 9).Draw(t, "factor")
		if rapid.Bool().Draw(t, "whole") {
			factor = math.Floor(factor)
		}
		n := rapid.IntRange(0, 50).Draw(t, "n")
		seed := rapid.Uint64().Draw(t, "seed")
		repeated := echo.Repeat(data.Once(n), echo.Factor(factor), seed)
		got, err := collect(repeated)
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := collect(repeated); !slices.Equal(got, again) {
			t.Fatal("a second pass differs")
		}
		next := data.Origin{}
		for i, o := range got {
			if o != next {
				t.Fatalf("item %d is %+v, want %+v", i, o, next)
			}
			switch last := i+1 == len(got) || got[i+1].Read != o.Read; {
			case !last:
				next.Copy++
			case o.Copy+1 != int(math.Floor(factor)) && o.Copy+1 != int(math.Ceil(factor)):
				t.Fatalf("item %d comes %d times at a factor of %v", o.Index, o.Copy+1, factor)
			default:
				next = data.Origin{Index: o.Index + 1, Read: o.Read + 1}
			}
		}
		if next.Index != n {
			t.Fatalf("%d of %d items came", next.Index, n)
		}
	})
}

func TestTheMeanNumberOfTimesIsTheFactor(t *testing.T) {
	const n = 100_000
	for _, factor := range []float64{1.001, 1.25, 1.5, 2, 2.9, 7.3, 16} {
		for seed := range uint64(3) {
			total := 0.0
			for range echo.Repeat(data.Once(n), echo.Factor(factor), seed) {
				total++
			}
			part := factor - math.Floor(factor)
			tolerance := 5 * math.Sqrt(n*part*(1-part))
			if math.Abs(total-n*factor) > tolerance+1e-6 {
				t.Errorf("at a factor of %v, %d items came %.0f times, want %.0f ± %.0f", factor, n, total, n*factor, tolerance)
			}
		}
	}
}

func TestHowOftenAnItemComesIsDrawnFromItsOwnKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		factor := echo.Factor(rapid.Float64Range(1, 4).Draw(t, "factor"))
		seed := rapid.Uint64().Draw(t, "seed")
		keep := rapid.SliceOfN(rapid.Bool(), 1, 60).Draw(t, "keep")
		all := data.Once(len(keep))
		some := func(yield func(data.Origin, error) bool) {
			for o := range all {
				if o.Index = -o.Index; keep[o.Read] && !yield(o, nil) { // nor does the record matter
					return
				}
			}
		}
		every, _ := collect(echo.Repeat(all, factor, seed))
		left, _ := collect(echo.Repeat(some, factor, seed))
		of, n := times(every), times(left)
		for read, kept := range keep {
			if kept && n[int64(read)] != of[int64(read)] {
				t.Fatalf("read %d comes %d times, but %d where others were dropped", read, of[int64(read)], n[int64(read)])
			}
		}
	})
}

func TestAnItemComesEquallyOftenWhereverItIsEchoed(t *testing.T) {
	const n, factor, seed = 1000, 1.5, 3
	origins := data.Once(n)
	example := func(_ context.Context, o data.Origin) (data.Example, error) { return data.Example{Origin: o}, nil }
	want, _ := collect(echo.Repeat(origins, factor, seed))
	examples, _ := collect(echo.Repeat(data.Map(context.Background(), origins, 2, example), factor, seed))
	batches, _ := collect(echo.Repeat(data.Batches(origins, 1, row), factor, seed))
	if len(examples) != len(want) || len(batches) != len(want) {
		t.Fatalf("%d origins, %d examples, %d batches", len(want), len(examples), len(batches))
	}
	for i, o := range want {
		if examples[i].Origin != o || batches[i].Origins[0] != o {
			t.Fatalf("item %d is %+v, %+v and %+v", i, o, examples[i].Origin, batches[i].Origins[0])
		}
	}
	if other, _ := collect(echo.Repeat(origins, factor, seed+1)); slices.Equal(other, want) {
		t.Error("the seed changes nothing")
	}
}

func TestAFactorOfOneIsTheStreamItself(t *testing.T) {
	in := []data.Origin{{Index: 1, Copy: 3}, {Index: 2, Copy: 1}}
	copied := func(yield func(data.Origin, error) bool) {
		for _, o := range in {
			if !yield(o, nil) {
				return
			}
		}
	}
	got, err := collect(echo.Repeat(copied, 1, 5))
	if err != nil || !slices.Equal(got, in) {
		t.Errorf("%v, %v", got, err)
	}
	got, err = collect(echo.Repeat(copied, 2, 5))
	if want := []data.Origin{in[0].Echo(0), in[0].Echo(1), in[1].Echo(0), in[1].Echo(1)}; err != nil || !slices.Equal(got, want) {
		t.Errorf("where copies are echoed: %v, %v, want %v", got, err, want)
	}
}

func TestAFactorOutOfRangeIsAnError(t *testing.T) {
	for factor, want := range map[echo.Factor]string{
		0.5:                      "echo: the factor is 0.5, want 1 to 1024, or auto",
		0:                        "echo: the factor is 0, want 1 to 1024, or auto",
		-2:                       "echo: the factor is -2, want 1 to 1024, or auto",
		1025:                     "echo: the factor is 1025, want 1 to 1024, or auto",
		echo.Factor(math.NaN()):  "echo: the factor is NaN, want 1 to 1024, or auto",
		echo.Factor(math.Inf(1)): "echo: the factor is +Inf, want 1 to 1024, or auto",
	} {
		unread := func(func(data.Origin, error) bool) { t.Errorf("at a factor of %v the stream is read", factor) }
		n := 0
		for o, err := range echo.Repeat(unread, factor, 1) {
			if n++; err == nil || err.Error() != want || o != (data.Origin{}) {
				t.Errorf("%+v, %v, want %s", o, err, want)
			}
		}
		if n != 1 || factor.Check() == nil {
			t.Errorf("at a factor of %v: %d values and %v", factor, n, factor.Check())
		}
	}
	for _, factor := range []echo.Factor{1, 1.0001, 1023.5, 1024} {
		got, err := collect(echo.Repeat(data.Once(3), factor, 1))
		if err != nil || factor.Check() != nil {
			t.Errorf("the factor %v is refused: %v", factor, err)
		}
		for _, n := range times(got) {
			if float64(n) < math.Floor(float64(factor)) || float64(n) > math.Ceil(float64(factor)) {
				t.Errorf("at a factor of %v an item comes %d times", factor, n)
			}
		}
	}
}

func TestErrorsPassThroughAndEndTheStream(t *testing.T) {
	for _, factor := range []echo.Factor{1, 1.5, 3} {
		items, failures := 0, 0
		for o, err := range echo.Repeat(then(data.Once(4), errTest), factor, 1) {
			if err == nil {
				items++
				continue
			}
			if failures++; err != errTest || o != (data.Origin{}) {
				t.Errorf("at a factor of %v: %+v, %v", factor, o, err)
			}
		}
		if items < int(4*math.Floor(float64(factor))) || failures != 1 {
			t.Errorf("at a factor of %v: %d items and %d errors", factor, items, failures)
		}
	}
}

func TestTheNextItemIsTakenOnlyWhenTheCopiesAreUsedUp(t *testing.T) {
	given, running := 0, false
	counted := func(yield func(data.Origin, error) bool) {
		running = true
		defer func() { running = false }()
		for o := range data.Once(100) {
			given++
			if !yield(o, nil) {
				return
			}
		}
	}
	used := 0
	for range echo.Repeat(counted, 3, 1) {
		if used++; given != (used+2)/3 {
			t.Fatalf("use %d came after %d items", used, given)
		}
		if used == 8 {
			break // among the copies of the third
		}
	}
	if given != 3 || running {
		t.Errorf("%d items were taken, and the stream is left open: %v", given, running)
	}
}

// TestTheShareOfDuplicatesInABatchIsAsPredicted holds Repeat and Shuffle
// against B·E[n(n−1)]/(4M·E[n]), for a batch of B, a buffer of M and items
// that come n times: two copies leave the buffer k places apart with
// probability (1−1/M)^(k−1)/M, and are then in one batch with probability
// 1−k/B.
func TestTheShareOfDuplicatesInABatchIsAsPredicted(t *testing.T) {
	const size, buffer, batches, fill = 64, 4096, 8000, 400
	for _, factor := range []float64{1, 1.5, 2, 2.5, 4, 7} {
		origins := echo.Repeat(data.Order(1<<20, data.Permuted, 1), echo.Factor(factor), 2)
		origins = data.Shuffle(origins, buffer, 3)
		duplicates := 0
		for b, err := range first(data.Batches(origins, size, row), fill+batches) {
			if err != nil {
				t.Fatal(err)
			}
			if b.Ordinal >= fill {
				duplicates += b.Duplicates()
			}
		}
		n, part := math.Modf(factor)
		pairs := (1-part)*n*(n-1) + part*(n+1)*n
		want := batches * size * size * pairs / (4 * buffer * factor)
		// Terms of order 1/B and B/M are left out, and about Poisson noise.
		tolerance := want*(1.0/size+float64(size)/buffer) + 5*math.Sqrt(want)
		if math.Abs(float64(duplicates)-want) > tolerance {
			t.Errorf("at a factor of %v %d of %d rows are duplicates, want %.0f ± %.0f", factor, duplicates, batches*size, want, tolerance)
		}
	}
}

// Items of one's own can be echoed too.
type note struct {
	pitch string
	again int
}

func (n note) Echo(i int) note             { return note{n.pitch, i} }
func (n note) Rand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }
func notes(yield func(note, error) bool)   { _ = yield(note{"c", 0}, nil) && yield(note{"g", 0}, nil) }

func ExampleItem() {
	for n := range echo.Repeat(notes, 2, 1) {
		fmt.Println(n.pitch, n.again)
	}
	// Output:
	// c 0
	// c 1
	// g 0
	// g 1
}
