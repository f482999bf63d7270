package data

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/reprise-ml/reprise/internal/jpeg"
)

// Augmentation makes a new picture of a decoded one, drawing from r. It must
// not write to what it was given. Implementations are in data/augment.
type Augmentation interface {
	Augment(p Picture, r *rand.Rand) (Picture, error)
}

// Augment applies augs in turn to the picture of each example, on up to
// workers goroutines, and leaves it as 8-bit pixels. All draws are keyed by
// seed and the example's origin. Other inputs pass as they are.
func Augment(ctx context.Context, in Seq[Example], workers int, seed uint64, augs ...Augmentation) Seq[Example] {
	return augmented(ctx, in, StageAugment, workers, seed, augs)
}

// Finish is Augment for the last augmentations, those right of an echo that repeats what the others made. Without any it is in.
func Finish(ctx context.Context, in Seq[Example], workers int, seed uint64, augs ...Augmentation) Seq[Example] {
	if len(augs) == 0 {
		return in
	}
	return augmented(ctx, in, StageFinish, workers, seed, augs)
}

func augmented(ctx context.Context, in Seq[Example], stage string, workers int, seed uint64, augs []Augmentation) Seq[Example] {
	resamplers := sync.Pool{New: func() any { return new(jpeg.Resampler) }}
	augment := Measured(ctx, stage, func(_ context.Context, e Example) (Example, error) {
		p := e.Input.(Picture)
		resampler := resamplers.Get().(*jpeg.Resampler)
		defer resamplers.Put(resampler)
		r := e.Rand(seed)
		for _, a := range augs {
			var err error
			p.resampler = resampler
			if p, err = a.Augment(p, r); err != nil {
				return Example{}, fmt.Errorf("data: augmenting record %d with %T: %w", e.Origin.Index, a, err)
			}
		}
		p.resampler = nil
		e.Input = p.RGB()
		return e, nil
	})
	return Map(ctx, in, workers, func(ctx context.Context, e Example) (Example, error) {
		if _, ok := e.Input.(Picture); !ok {
			return e, nil
		}
		return augment(ctx, e)
	})
}
