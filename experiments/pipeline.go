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
// Pictures are decoded where they are augmented, unless copies share what is
// decoded. The last augmentations, drawn anew for every copy, are done where the
// examples leave the shuffle buffer. Where pictures are mixed, that is done before
// or after the echo of batches.
//
// Records of src are read through a storage, which nil stands for as it is.
// The buffers of s must be numbers. The stream begins where at is, at the zero
// Start at the beginning, and has no end of its own.
func (s Spec) Pipeline(ctx context.Context, src data.Source, through func(data.Reader) data.Reader, faults data.Faults, at Start) data.Seq[data.Batch] {
	return data.Scoped(ctx, func(ctx context.Context) data.Seq[data.Batch] {
		faults := at.Strict(faults)
		ready := new(data.Gauge) // batches
		e := s.echoes(at, ready)
		examples := s.read(ctx, src, through, faults, at.Replay)
		examples = e.at(examples, echo.Read)
		if s.sharesDecoded() {
			examples = data.Decode(ctx, examples, s.Stages.Workers, faults)
		}
		examples = e.at(examples, echo.Example)
		examples = s.augmenting(faults).Apply(ctx, examples, s.Stages.Workers)
		examples = e.at(examples, echo.Augmentation)
		examples = data.Shuffle(examples, s.Stages.Shuffle.Items, s.stage("shuffle"))
		examples = data.Finish(ctx, examples, s.Stages.Workers, s.stage("finish"), values(s.Input.AugmentAfter)...)
		batches := data.Batches(examples, s.Train.Batch, at.Form(s.form(ctx)))
		batches = s.mix(ctx, batches, false)
		batches = data.Prefetch(batches, s.Stages.Prefetch.Items, ready)
		batches = data.Taken(ctx, batches, s.Stages.Prefetch.Items, ready)
		batches = echo.At(batches, echo.Batch, e.Stage)
		batches = s.mix(ctx, batches, true)
		return at.From(at.tell(data.Shuffle(batches, s.Echo.ShuffleBatches, s.stage("shuffle batches"))))
	})
}

// read is the first stage: the records of src in an order, or, where it is
// one of streams, as these have them, interleaved.
func (s Spec) read(ctx context.Context, src data.Source, through func(data.Reader) data.Reader, faults data.Faults, at data.Replay) data.Seq[data.Example] {
	if through == nil {
		through = func(read data.Reader) data.Reader { return read }
	}
	streams, ok := src.(data.Stream)
	if !ok {
		order := at.Missing(s.order(src, nil))
		return data.Read(ctx, order, s.Stages.Readers, s.cached(through(data.FromSource(src))), faults)
	}
	examples := at.Interleave(ctx, streams, s.Data.Order, s.stage("order"), faults)
	return data.Map(ctx, examples, s.Stages.Readers, data.Measured(ctx, data.StageRead, func(ctx context.Context, e data.Example) (data.Example, error) {
		there := func(context.Context, data.Origin) (data.Example, error) { return e, nil }
		return through(there)(ctx, e.Origin)
	}))
}

// order is the order in which the records of src are read, where streams end
// as ends says.
func (s Spec) order(src data.Source, ends []data.Ending) data.Seq[data.Origin] {
	if streams, ok := src.(data.Stream); ok {
		return data.InterleavedOrder(streams, s.Data.Order, s.stage("order"), ends)
	}
	n, order := src.Len(), data.Order(src.Len(), s.Data.Order, s.stage("order"))
	if s.Data.Draws > 1 && n > 0 {
		return data.Heads(order, n, max(1, n/s.Data.Draws))
	}
	return order
}

// Once is the pipeline of evaluation: every record of src once, in its order,
// neither echoed, shuffled nor augmented, in batches of which the last is
// filled with rows of weight 0.
func (s Spec) Once(ctx context.Context, src data.Source, faults data.Faults) data.Seq[data.Batch] {
	return data.Scoped(ctx, func(ctx context.Context) data.Seq[data.Batch] {
		examples := data.Read(ctx, data.Once(src.Len()), s.Stages.Workers, data.FromSource(src), faults)
		examples = data.Preparation{Augmentations: s.Input.chosen(s.Input.Resize), Faults: faults}.Apply(ctx, examples, s.Stages.Workers)
		return data.Prefetch(data.Padded(examples, min(s.Evaluate.Batch, src.Len()), s.format().Reusing()), 1)
	})
}

// sharesDecoded reports whether an echo repeats what is decoded.
func (s Spec) sharesDecoded() bool { return s.Echo.At(echo.Example) != 1 }

// augmenting is how training pictures are decoded and augmented.
func (s Spec) augmenting(faults data.Faults) data.Preparation {
	return data.Preparation{Augmentations: s.Input.chosen(s.Input.Augment), Seed: s.stage("augment"), Faults: faults}
}

// stage is the seed of a stage: no two stages draw alike, and no two runs
// whose seeds differ.
func (s Spec) stage(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return h.Sum64() ^ s.Seed*0x9e3779b97f4a7c15
}

// form makes batches.
func (s Spec) form(ctx context.Context) func(group []data.Example) (data.Batch, error) {
	join := s.format().Reusing()
	f := data.Measured(ctx, data.StageBatch, func(_ context.Context, group []data.Example) (data.Batch, error) { return join(group) })
	return func(group []data.Example) (data.Batch, error) { return f(ctx, group) }
}

func (s Spec) format() data.Format {
	f := data.Format{Mean: s.Input.Mean, Std: s.Input.Std}
	if t, ok := s.textual(); ok {
		f.Context = t.Length()
	}
	return f
}

// exampleBytes is the memory of an example like e in the shuffle buffer. The
// target of text shares all but its last token with the input.
func exampleBytes(e data.Example) Bytes {
	const overhead = 128 // of the example itself and of its slices
	if x, ok := e.Input.(data.Tokens); ok {
		return Bytes(4*(len(x)+1) + overhead)
	}
	return Bytes(e.Size() + overhead)
}

// batchBytes is the memory of the arrays of b.
func batchBytes(b data.Batch) Bytes {
	n := 0
	for _, a := range append(b.Inputs, b.Targets...) {
		n += 4 * (len(a.F32) + len(a.I32))
	}
	n += 4 * len(b.Weights.F32)
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
