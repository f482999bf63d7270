package experiments

import (
	"context"
	"hash/fnv"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/echo"
)

// Pipeline is the input pipeline of the paper, with an echo stage at each of
// its places, of which at most one repeats:
//
//	read → echo → decode → echo → augment → echo → shuffle → batch → echo → shuffle batches
//
// n is the number of records that read reads, or data.Endless. The buffers of
// s must be numbers. The stream begins where at is, at the zero Replay from
// the start, and has no end of its own.
func (s Spec) Pipeline(ctx context.Context, n int, read data.Reader, faults data.Faults, at data.Replay) data.Seq[data.Batch] {
	return data.Scoped(ctx, func(ctx context.Context) data.Seq[data.Batch] {
		faults, order := at.Strict(faults), at.Missing(data.Order(n, s.Data.Order, s.stage("order")))
		examples := data.Read(ctx, order, s.Stages.Readers, read, faults)
		examples = echo.Repeat(examples, s.Echo.At(echo.Read), s.stage("echo"))
		examples = data.Decode(ctx, examples, s.Stages.Workers, faults)
		examples = echo.Repeat(examples, s.Echo.At(echo.Example), s.stage("echo"))
		examples = data.Augment(ctx, examples, s.Stages.Workers, s.stage("augment"), values(s.Input.Augment)...)
		examples = echo.Repeat(examples, s.Echo.At(echo.Augmentation), s.stage("echo"))
		examples = at.Refill(examples, echoed(s, at.Hollow()))
		examples = data.Shuffle(examples, s.Stages.Shuffle.Items, s.stage("shuffle"))
		batches := data.Batches(examples, s.Train.Batch, at.Form(s.format().Batch))
		batches = data.Prefetch(batches, s.Stages.Prefetch.Items)
		batches = echo.Repeat(batches, s.Echo.At(echo.Batch), s.stage("echo"))
		return at.From(data.Shuffle(batches, s.Echo.ShuffleBatches, s.stage("shuffle batches")))
	})
}

// Once is the pipeline of evaluation: every record of src once, in its order,
// neither echoed, shuffled nor augmented, in batches of which the last is
// filled with rows of weight 0.
func (s Spec) Once(ctx context.Context, src data.Source, faults data.Faults) data.Seq[data.Batch] {
	return data.Scoped(ctx, func(ctx context.Context) data.Seq[data.Batch] {
		examples := data.Read(ctx, data.Once(src.Len()), s.Stages.Workers, data.FromSource(src), faults)
		examples = data.Decode(ctx, examples, s.Stages.Workers, faults)
		examples = data.Augment(ctx, examples, s.Stages.Workers, 0, values(s.Input.Resize)...)
		return data.Prefetch(data.Padded(examples, min(s.Evaluate.Batch, src.Len()), s.format().Batch), 1)
	})
}

// stage is the seed of a stage: no two stages draw alike, and no two runs
// whose seeds differ.
func (s Spec) stage(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return h.Sum64() ^ s.Seed*0x9e3779b97f4a7c15
}

func (s Spec) format() data.Format { return data.Format{Mean: s.Input.Mean, Std: s.Input.Std} }

// exampleBytes is the memory of an example like e in the shuffle buffer.
func exampleBytes(e data.Example) Bytes {
	const overhead = 128 // of the example itself and of its slices
	return Bytes(e.Size() + overhead)
}

// batchBytes is the memory of the arrays of b.
func batchBytes(b data.Batch) Bytes {
	n := 0
	for _, a := range append(b.Inputs, b.Targets...) {
		n += 4 * (len(a.F32) + len(a.I32))
	}
	return Bytes(n)
}

// sized turns the buffers that are given in memory into numbers of examples
// like e and of batches like b.
func (s Spec) sized(e data.Example, b data.Batch) Spec {
	const most = 8 // batches that are worth making ahead
	s.Stages.Shuffle = s.Stages.Shuffle.of(exampleBytes(e))
	if p := &s.Stages.Prefetch; p.Memory > 0 {
		*p = p.of(batchBytes(b))
		p.Items = min(p.Items, most)
	}
	return s
}
