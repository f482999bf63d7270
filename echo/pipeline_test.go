package echo_test

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/data/augment"
	"github.com/reprise-ml/reprise/echo"
)

// photos is a source of JPEG files in memory.
type photos [][]byte

func (p photos) Len() int { return len(p) }

func (p photos) Read(_ context.Context, i int) (data.Example, error) {
	return data.Example{Input: data.Picture{Encoded: p[i]}, Target: data.Class(i % 10)}, nil
}

// album makes n photos of 8×8 pixels.
func album(t *testing.T, n int) photos {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	out := make(photos, n)
	for i := range out {
		m := image.NewNRGBA(image.Rect(0, 0, 8, 8))
		for y := range 8 {
			for x := range 8 {
				m.SetNRGBA(x, y, color.NRGBA{uint8(r.Uint32()), uint8(r.Uint32()), uint8(r.Uint32()), 255})
			}
		}
		var b bytes.Buffer
		if err := jpeg.Encode(&b, m, &jpeg.Options{Quality: 95}); err != nil {
			t.Fatal(err)
		}
		out[i] = b.Bytes()
	}
	return out
}

// pipeline is an input pipeline with every place to echo at.
type pipeline struct {
	src             data.Source
	reads           int // 0: without end
	workers         int
	echo            echo.Spec
	shuffle, batch  int
	seed            uint64
	augmentShuffled bool                                                // the paper's order, where it differs from ours
	delay           func(o data.Origin)                                 // of a read
	see             func(data.Seq[data.Example]) data.Seq[data.Example] // what passes between the stages
}

func (p pipeline) batches() data.Seq[data.Batch] {
	const echoSeed, augmentSeed, shuffleSeed, batchSeed = 1, 2, 3, 4
	ctx := context.Background()
	see := p.see
	if see == nil {
		see = func(in data.Seq[data.Example]) data.Seq[data.Example] { return in }
	}
	read := func(ctx context.Context, o data.Origin) (data.Example, error) {
		if p.delay != nil {
			p.delay(o)
		}
		return p.src.Read(ctx, o.Index)
	}
	augmented := func(in data.Seq[data.Example]) data.Seq[data.Example] {
		return data.Augment(ctx, in, p.workers, p.seed+augmentSeed, augment.PadCrop{Pad: 3}, augment.Flip{})
	}

	order := data.Order(p.src.Len(), data.Permuted, p.seed)
	if p.reads > 0 {
		order = first(order, p.reads)
	}
	examples := see(data.Read(ctx, order, p.workers, read, nil))
	examples = echo.Repeat(examples, p.echo.At(echo.Read), p.seed+echoSeed)
	examples = see(data.Decode(ctx, examples, p.workers, nil))
	examples = echo.Repeat(examples, p.echo.At(echo.Example), p.seed+echoSeed)
	if p.augmentShuffled {
		examples = augmented(data.Shuffle(examples, p.shuffle, p.seed+shuffleSeed))
	} else {
		examples = see(augmented(examples))
		examples = echo.Repeat(examples, p.echo.At(echo.Augmentation), p.seed+echoSeed)
		examples = data.Shuffle(examples, p.shuffle, p.seed+shuffleSeed)
	}
	batches := data.Prefetch(data.Batches(examples, p.batch, data.Format{}.Batch), 1)
	batches = echo.Repeat(batches, p.echo.At(echo.Batch), p.seed+echoSeed)
	return data.Shuffle(batches, p.echo.ShuffleBatches, p.seed+batchSeed)
}

// drawn is a pipeline of the given strategies with the rest drawn.
func drawn(t *rapid.T, src data.Source, strategies ...echo.Strategy) pipeline {
	p := pipeline{
		src:     src,
		reads:   rapid.IntRange(1, 25).Draw(t, "reads"),
		workers: rapid.IntRange(1, 3).Draw(t, "workers"),
		shuffle: rapid.IntRange(0, 12).Draw(t, "shuffle"),
		batch:   rapid.IntRange(1, 6).Draw(t, "batch"),
		seed:    rapid.Uint64().Draw(t, "seed"),
	}
	p.echo.Strategy = rapid.SampledFrom(strategies).Draw(t, "strategy")
	p.echo.Factor = echo.Factor(rapid.SampledFrom([]float64{1.3, 1.5, 2, 2.75, 3}).Draw(t, "factor"))
	if p.echo.Strategy == echo.Batch {
		p.echo.ShuffleBatches = rapid.IntRange(0, 4).Draw(t, "shuffle batches")
	}
	return p
}

// differ says where two streams of batches differ in a bit.
func differ(a, b []data.Batch) error {
	if len(a) != len(b) {
		return fmt.Errorf("%d and %d batches", len(a), len(b))
	}
	for i := range a {
		switch {
		case !slices.Equal(a[i].Origins, b[i].Origins):
			return fmt.Errorf("batch %d is of %v and %v", i, a[i].Origins, b[i].Origins)
		case a[i].Reads != b[i].Reads || a[i].Ordinal != b[i].Ordinal:
			return fmt.Errorf("batch %d has Reads %d and %d, Ordinal %d and %d", i, a[i].Reads, b[i].Reads, a[i].Ordinal, b[i].Ordinal)
		case !slices.Equal(a[i].Inputs[0].F32, b[i].Inputs[0].F32) || !slices.Equal(a[i].Inputs[0].Shape, b[i].Inputs[0].Shape):
			return fmt.Errorf("batch %d has other pixels", i)
		case !slices.Equal(a[i].Targets[0].I32, b[i].Targets[0].I32):
			return fmt.Errorf("batch %d has other classes", i)
		}
	}
	return nil
}

// pixels are the values of row i of b.
func pixels(b data.Batch, i int) []float32 {
	n := len(b.Inputs[0].F32) / len(b.Origins)
	return b.Inputs[0].F32[i*n : (i+1)*n]
}

func TestAnyNumberOfWorkersGivesTheSameBits(t *testing.T) {
	src := album(t, 7)
	rapid.Check(t, func(rt *rapid.T) {
		p := drawn(rt, src, echo.Strategies()...)
		delays := rapid.SliceOfN(rapid.IntRange(0, 9), p.reads, p.reads).Draw(rt, "delays")
		p.delay = func(o data.Origin) { time.Sleep(time.Duration(delays[o.Read]) * time.Second) }
		var want []data.Batch
		for _, workers := range []int{1, 2, 8} {
			p.workers = workers
			var got []data.Batch
			var err error
			synctest.Test(t, func(*testing.T) { got, err = collect(p.batches()) })
			if workers == 1 {
				want = got
			}
			if err == nil {
				err = differ(want, got)
			}
			if err != nil {
				rt.Fatalf("1 and %d workers: %v", workers, err)
			}
		}
	})
}

func TestAFactorOfOneIsNoneForEveryStrategy(t *testing.T) {
	src := album(t, 7)
	rapid.Check(t, func(t *rapid.T) {
		p := drawn(t, src, echo.None)
		want, err := collect(p.batches())
		if err != nil {
			t.Fatal(err)
		}
		for _, strategy := range echo.Strategies() {
			p.echo = echo.Spec{Strategy: strategy, Factor: 1}
			got, err := collect(p.batches())
			if err == nil {
				err = differ(want, got)
			}
			if err != nil {
				t.Fatalf("none and %s by 1: %v", strategy, err)
			}
		}
	})
}

func TestEchoingBytesAndEchoingExamplesAreTheSameToTheBit(t *testing.T) {
	src := album(t, 7)
	rapid.Check(t, func(t *rapid.T) {
		p := drawn(t, src, echo.Read)
		a, err := collect(p.batches())
		if err != nil {
			t.Fatal(err)
		}
		p.echo.Strategy = echo.Example
		b, err := collect(p.batches())
		if err == nil {
			err = differ(a, b)
		}
		if err != nil {
			t.Fatalf("read and example: %v", err)
		}
	})
}

// TestOneOrderOfTheStagesServesEveryStrategyOfThePaper: the paper augments
// after the shuffle, but where it echoes what is augmented. Draws that are
// keyed by origin make both orders one.
func TestOneOrderOfTheStagesServesEveryStrategyOfThePaper(t *testing.T) {
	src := album(t, 7)
	rapid.Check(t, func(t *rapid.T) {
		p := drawn(t, src, echo.None, echo.Read, echo.Example, echo.Batch)
		ours, err := collect(p.batches())
		if err != nil {
			t.Fatal(err)
		}
		p.augmentShuffled = true
		papers, err := collect(p.batches())
		if err == nil {
			err = differ(ours, papers)
		}
		if err != nil {
			t.Fatalf("before and after the shuffle: %v", err)
		}
	})
}

func TestCopiesDifferWhereTheyAreEchoedBeforeAugmentationAndAreEqualAfterIt(t *testing.T) {
	src := album(t, 20)
	for _, strategy := range echo.Strategies() {
		p := pipeline{src: src, reads: 200, workers: 2, shuffle: 30, batch: 5, echo: echo.Spec{Strategy: strategy, Factor: 2}}
		got, err := collect(p.batches())
		if err != nil {
			t.Fatal(err)
		}
		of := map[int64][]float32{}
		equal, different := 0, 0
		for _, b := range got {
			for i, o := range b.Origins {
				other, ok := of[o.Read]
				of[o.Read] = pixels(b, i)
				switch {
				case !ok:
				case slices.Equal(other, pixels(b, i)):
					equal++
				default:
					different++
				}
			}
		}
		switch strategy {
		case echo.None:
			if equal+different > 0 {
				t.Errorf("%s: %d copies", strategy, equal+different)
			}
		case echo.Read, echo.Example: // of 7·7 crops, flipped or not, some agree by chance
			if different < 180 {
				t.Errorf("%s: of 200 copies %d differ", strategy, different)
			}
		default:
			if equal != 200 {
				t.Errorf("%s: of 200 copies %d are equal", strategy, equal)
			}
		}
	}
}

// TestFreshExamplesAreTheReadsWhoseFirstUseWasInABatch goes through the steps
// of a training and counts after each.
func TestFreshExamplesAreTheReadsWhoseFirstUseWasInABatch(t *testing.T) {
	src := album(t, 7)
	rapid.Check(t, func(t *rapid.T) {
		p := drawn(t, src, echo.Strategies()...)
		p.reads = 0 // no end: the state is steady once the buffer is full
		firsts, uses := map[int64]bool{}, map[data.Origin]bool{}
		fresh, step := 0, 0
		for b, err := range first(p.batches(), 20) {
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range b.Origins {
				if uses[o] {
					t.Fatalf("%+v is trained on twice", o)
				}
				uses[o] = true
				if o.Copy == 0 {
					firsts[o.Read] = true
				}
				if o.Read >= b.Reads {
					t.Fatalf("a batch with Reads %d has a row of read %d", b.Reads, o.Read)
				}
			}
			step++
			if fresh += b.Fresh(); fresh != len(firsts) {
				t.Fatalf("%d fresh examples after step %d, of %d reads that were used first", fresh, step, len(firsts))
			}
		}
	})
}

func TestTheNumberOfFreshExamplesIsExactForWholeFactors(t *testing.T) {
	src := album(t, 7)
	rapid.Check(t, func(t *rapid.T) {
		p := drawn(t, src, echo.Strategies()...)
		p.reads = 0
		p.echo.ShuffleBatches = 0
		e := rapid.IntRange(1, 4).Draw(t, "whole factor")
		p.echo.Factor = echo.Factor(e)
		if p.echo.Strategy == echo.None {
			e = 1
		}
		const steps = 24
		// What a buffer of M holds back are M−1 items, between none and all
		// of them fresh. A batch echo comes after the buffer, and repeats
		// what has left it.
		held := max(p.shuffle-1, 0)
		if p.echo.Strategy == echo.Batch || p.echo.Strategy == echo.None {
			held = 0
		}
		fresh := 0
		reads := int64(0)
		step := 0
		for b, err := range first(p.batches(), steps) {
			if err != nil {
				t.Fatal(err)
			}
			step++
			fresh += b.Fresh()
			reads = b.Reads
			rows := step * p.batch
			entered := (rows + held + e - 1) / e
			if p.echo.Strategy == echo.Batch {
				entered = (step + e - 1) / e * p.batch
			}
			if fresh > entered || fresh < entered-held {
				t.Fatalf("%d fresh examples after %d rows, want %d to %d", fresh, rows, entered-held, entered)
			}
			exact := held == 0 && (rows%e == 0 && p.echo.Strategy != echo.Batch || step%e == 0)
			if exact && fresh*e != rows {
				t.Fatalf("%d fresh examples after %d steps, want %d·%d/%d", fresh, step, step, p.batch, e)
			}
			if int64(fresh) > reads {
				t.Fatalf("%d fresh examples of %d reads", fresh, reads)
			}
		}
	})
}

func TestADrainedPipelineHasUsedEveryReadAsOftenAsItsFactor(t *testing.T) {
	src := album(t, 7)
	for _, strategy := range echo.Strategies() {
		for _, e := range []int{1, 2, 3} {
			p := pipeline{src: src, reads: 60, workers: 2, shuffle: 17, batch: 5, echo: echo.Spec{Strategy: strategy, Factor: echo.Factor(e)}}
			if strategy == echo.None {
				e = 1
			}
			got, err := collect(p.batches())
			if err != nil {
				t.Fatal(err)
			}
			fresh := 0
			var origins []data.Origin
			for _, b := range got {
				fresh += b.Fresh()
				origins = append(origins, b.Origins...)
			}
			if steps := len(got); fresh != 60 || steps*p.batch != 60*e || got[steps-1].Reads != 60 {
				t.Errorf("%s by %d: %d steps, %d fresh examples, %d reads", strategy, e, steps, fresh, got[steps-1].Reads)
			}
			for read, n := range times(origins) {
				if n != e {
					t.Errorf("%s by %d: read %d was used %d times", strategy, e, read, n)
				}
			}
		}
	}
}
