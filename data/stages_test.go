package data_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/reprise-ml/reprise/data"
)

// words is a Source: it has a length, and reads any record.
type words []string

func (w words) Len() int { return len(w) }

func (w words) Read(_ context.Context, i int) (data.Example, error) {
	text := data.Tokens{}
	for _, r := range w[i] {
		text = append(text, r-'a')
	}
	return data.Example{Input: text, Target: data.Class(len(text) % 2)}, nil
}

// A whole pipeline. It has no end, as its order has none.
func Example() {
	src := words{"abc", "bed", "cab", "dad", "ebb"}
	const seed = 1
	ctx := context.Background()
	batches := data.Scoped(ctx, func(ctx context.Context) data.Seq[data.Batch] {
		order := data.Order(src.Len(), data.Permuted, seed)
		examples := data.Read(ctx, order, 2, data.FromSource(src), nil)
		examples = data.Shuffle(examples, 4, seed)
		return data.Prefetch(data.Batches(examples, 2, data.Format{}.Batch), 1)
	})
	for b, err := range batches {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(b.Inputs[0].Shape, b.Inputs[0].I32, "after", b.Reads, "reads")
		if b.Ordinal == 2 {
			break // nothing is left running
		}
	}
	// Output:
	// [2 3] [0 1 2 3 0 3] after 5 reads
	// [2 3] [1 4 3 0 1 2] after 7 reads
	// [2 3] [1 4 3 4 1 1] after 9 reads
}

func ExampleOrder() {
	n := 0
	for o, err := range data.Order(4, data.Permuted, 2) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("read %d is of record %d\n", o.Read, o.Index)
		if n++; n == 8 {
			break // after two epochs; the order goes on
		}
	}
	// Output:
	// read 0 is of record 2
	// read 1 is of record 0
	// read 2 is of record 3
	// read 3 is of record 1
	// read 4 is of record 3
	// read 5 is of record 1
	// read 6 is of record 0
	// read 7 is of record 2
}

func ExampleOnce() {
	for o := range data.Once(3) {
		fmt.Println(o.Index)
	}
	// Output:
	// 0
	// 1
	// 2
}

// The results come in the order of the inputs for any number of workers.
func ExampleMap() {
	const workers = 3
	half := func(_ context.Context, o data.Origin) (string, error) {
		if o.Index%2 == 1 {
			return "", data.Skip
		}
		return fmt.Sprintf("half of %d is %d", o.Index, o.Index/2), nil
	}
	for s, err := range data.Map(context.Background(), data.Once(6), workers, half) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(s)
	}
	// Output:
	// half of 0 is 0
	// half of 2 is 1
	// half of 4 is 2
}

// Reading goes on while the loop is at work.
func ExamplePrefetch() {
	const depth = 2
	for o, err := range data.Prefetch(data.Once(3), depth) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(o.Index)
	}
	// Output:
	// 0
	// 1
	// 2
}

// Leaving the loop cancels the context that build was given.
func ExampleScoped() {
	var scope context.Context
	origins := data.Scoped(context.Background(), func(ctx context.Context) data.Seq[data.Origin] {
		scope = ctx
		return data.Order(100, data.Permuted, 1)
	})
	for range origins {
		fmt.Println("in the loop:", scope.Err())
		break
	}
	fmt.Println("after it:", scope.Err())
	// Output:
	// in the loop: <nil>
	// after it: context canceled
}

func ExampleFail() {
	for _, err := range data.Fail[data.Example](errors.New("no such data set")) {
		fmt.Println(err)
	}
	// Output: no such data set
}

// A bad record is dropped, and counted in the order of the records.
func ExampleRead() {
	read := func(_ context.Context, o data.Origin) (data.Example, error) {
		if o.Index == 1 {
			return data.Example{}, errors.New("checksum differs")
		}
		return data.Example{Input: data.Tokens{int32(o.Index)}}, nil
	}
	drop := func(o data.Origin, err error) error {
		fmt.Printf("dropped record %d: %v\n", o.Index, err)
		return nil
	}
	const workers = 1
	for e, err := range data.Read(context.Background(), data.Once(3), workers, read, drop) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("record", e.Origin.Index)
	}
	// Output:
	// record 0
	// dropped record 1: checksum differs
	// record 2
}

// A buffer of 3 has its first output after 3 reads.
func ExampleShuffle() {
	const size, seed = 3, 1
	examples := data.Map(context.Background(), data.Once(6), 1, func(_ context.Context, o data.Origin) (data.Example, error) {
		return data.Example{Origin: o}, nil
	})
	for e, err := range data.Shuffle(examples, size, seed) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("record %d, after %d reads\n", e.Origin.Index, e.Reads)
	}
	// Output:
	// record 2, after 3 reads
	// record 1, after 4 reads
	// record 3, after 5 reads
	// record 4, after 6 reads
	// record 0, after 6 reads
	// record 5, after 6 reads
}

// The fifth word does not fill a batch.
func ExampleBatches() {
	src := words{"ab", "be", "ad", "de", "cc"}
	examples := data.Read(context.Background(), data.Once(src.Len()), 1, data.FromSource(src), nil)
	for b, err := range data.Batches(examples, 2, data.Format{}.Batch) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(b.Ordinal, b.Inputs[0].Shape, b.Inputs[0].I32)
	}
	// Output:
	// 0 [2 2] [0 1 1 4]
	// 1 [2 2] [0 3 3 4]
}

// The last batch is filled with rows that do not count.
func ExamplePadded() {
	src := words{"ab", "be", "ad"}
	examples := data.Read(context.Background(), data.Once(src.Len()), 1, data.FromSource(src), nil)
	for b, err := range data.Padded(examples, 2, data.Format{}.Batch) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(b.Inputs[0].I32, b.Weights.F32)
	}
	// Output:
	// [0 1 1 4] [1 1]
	// [0 3 0 3] [1 0]
}

func ExampleFormat_Batch() {
	white := data.Picture{Pix: []uint8{255, 255, 255}, Width: 1, Height: 1}
	black := data.Picture{Pix: []uint8{0, 0, 0}, Width: 1, Height: 1}
	format := data.Format{Mean: []float32{0.5, 0.5, 0.5}, Std: []float32{0.5, 0.25, 0.125}}
	b, err := format.Batch([]data.Example{
		{Input: white, Target: data.Class(7)},
		{Input: black, Target: data.Class(2)},
	})
	fmt.Println(b.Inputs[0].Shape, b.Inputs[0].F32, err)
	fmt.Println(b.Targets[0].Shape, b.Targets[0].I32)
	// Output:
	// [2 1 1 3] [1 2 4 -1 -2 -4] <nil>
	// [2] [7 2]
}

// Three copies of one read: none shares its number, and only the first is
// fresh.
func ExampleOrigin_Echo() {
	read := data.Origin{Index: 12, Read: 40}
	for n := range 3 {
		again := read.Echo(n)
		fmt.Printf("%+v is fresh: %t\n", again, again.Fresh())
	}
	// Output:
	// {Index:12 Read:40 Copy:0} is fresh: true
	// {Index:12 Read:40 Copy:1} is fresh: false
	// {Index:12 Read:40 Copy:2} is fresh: false
}

// What is drawn depends on the read and the copy, not on when it is drawn.
func ExampleOrigin_Rand() {
	const seed = 1
	read := data.Origin{Read: 40}
	fmt.Println(read.Echo(1).Rand(seed).IntN(1000))
	fmt.Println(read.Rand(seed).IntN(1000))
	fmt.Println(read.Echo(1).Rand(seed).IntN(1000))
	// Output:
	// 550
	// 71
	// 550
}

func ExampleBatch_Duplicates() {
	b := data.Batch{Origins: []data.Origin{{Read: 3}, {Read: 8}, {Read: 3, Copy: 1}}}
	fmt.Println(b.Fresh(), "fresh rows,", b.Duplicates(), "duplicate")
	// Output: 2 fresh rows, 1 duplicate
}

// The first three quarters of the records are for training, the rest for
// validation.
func ExampleSubset() {
	src := words{"aa", "b", "cc", "d", "ee", "f", "gg", "h"}
	const seed = 0
	for _, name := range []string{"train[:75%]", "train[75%:]"} {
		slice, err := data.ParseSlice(name)
		if err != nil {
			fmt.Println(err)
			return
		}
		part, err := data.Subset(src, slice, seed)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Print(name)
		for i := range part.Len() {
			fmt.Print(", ", data.RecordName(part, i))
		}
		fmt.Println()
	}
	// Output:
	// train[:75%], record 0, record 3, record 4, record 5, record 6, record 7
	// train[75%:], record 1, record 2
}

func ExampleFromSource() {
	read := data.FromSource(words{"ab", "be"})
	e, err := read(context.Background(), data.Origin{Index: 1})
	fmt.Println(e.Input, e.Target, err)
	// Output: [1 4] 0 <nil>
}
