// Package data carries examples from a source to the trainer.
//
// Everything that moves is a [Seq], a stream that ends by itself or with one
// error. Everything that acts on a stream is a function from Seq to Seq, so a
// pipeline reads top to bottom in the order the data flows:
//
//	order := data.Order(src.Len(), data.Permuted, seed)
//	examples := data.Read(ctx, order, 4, data.FromSource(src), nil)
//	examples = data.Decode(ctx, examples, 4, nil)
//	examples = data.Augment(ctx, examples, 4, seed, flip, crop)
//	examples = data.Shuffle(examples, 1024, seed)
//	batches := data.Batches(examples, 128, format.Batch)
//	for b, err := range data.Prefetch(batches, 2) { … }
//
// Each example carries its [Origin]. Stages pass it on unchanged, and only an
// echo marks copies, so what training has consumed is counted from the
// batches alone. Random draws are keyed by the origin, never by the order of
// arrival: any number of workers gives the same bits. A stage never writes to
// what it was given, for copies share memory.
package data
