package data

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"image"
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
// seed and the example's origin. Other inputs pass as they are. It is a
// [Preparation] of what is decoded.
func Augment(ctx context.Context, in Seq[Example], workers int, seed uint64, augs ...Augmentation) Seq[Example] {
	return Preparation{Seed: seed, Augmentations: augs}.Apply(ctx, in, workers)
}

// Finish is [Augment] for the last augmentations, those right of an echo that
// repeats what the others made. Without any it is in.
func Finish(ctx context.Context, in Seq[Example], workers int, seed uint64, augs ...Augmentation) Seq[Example] {
	if len(augs) == 0 {
		return in
	}
	return Preparation{Seed: seed, Augmentations: augs, stage: StageFinish}.Apply(ctx, in, workers)
}

// Preparation makes of examples as they are stored what a batch is made of.
// Inputs that come [Encoded] are decoded, just as [Decode] does it; pictures
// are augmented, and become 8-bit pixels. Of a JPEG the part alone that the
// first augmentations keep is made pixels, in memory that is used again; the rest
// is read all the same, to know whether the file is good, unless it is Sound.
type Preparation struct {
	Augmentations []Augmentation // applied in turn
	Seed          uint64         // of their draws, which are keyed by it and the example's origin
	Faults        Faults         // of what cannot be decoded

	stage string // that augmenting is measured as
}

// Apply prepares examples on up to workers goroutines.
func (s Preparation) Apply(ctx context.Context, in Seq[Example], workers int) Seq[Example] {
	s.stage = cmp.Or(s.stage, StageAugment)
	preparers := sync.Pool{New: func() any { return &preparer{Preparation: s, meter: meterOf(ctx)} }}
	faults := s.Faults.orFail()
	return attempt(ctx, in, workers, func(_ context.Context, e Example) (Example, error) {
		w := preparers.Get().(*preparer)
		defer preparers.Put(w)
		return w.prepare(e)
	}, func(o Origin, err error) error {
		if e := (*augmentError)(nil); errors.As(err, &e) {
			return err
		}
		return faults(o, err)
	})
}

// augmentError is the error of an augmentation, which is no fault of a record.
type augmentError struct{ error }

func (e *augmentError) Unwrap() error { return e.error }

// mostKept is the largest plane whose memory is kept, in bytes.
const mostKept = 1 << 25

// preparer prepares examples, one after another.
type preparer struct {
	Preparation
	meter     *Meter
	decoder   decoder
	planes    jpeg.Planes // of a picture that was decoded in part
	resampler jpeg.Resampler
	views     []View // to see through, one after another
}

// prepare makes what [Preparation] says of e.
func (w *preparer) prepare(e Example) (Example, error) {
	p, ok := e.Input.(Picture)
	if v, packed := e.Input.(Encoded); packed && !ok {
		var err error
		if e, err = w.unpack(v, e); err != nil {
			return e, err
		}
		p, ok = e.Input.(Picture)
	}
	if !ok {
		return e, nil
	}
	r, augs, inPart := e.Rand(w.Seed), w.Augmentations, false
	if p.Encoded != nil {
		var left []Augmentation
		if left, inPart = w.decodePart(p, r); inPart {
			augs = left
		} else {
			var err error
			if p, err = w.decodeWhole(p); err != nil {
				return e, err
			}
			r = e.Rand(w.Seed) // as if nothing had been drawn
		}
	}
	p, err := w.augment(p, inPart, augs, r)
	if err != nil {
		return e, &augmentError{fmt.Errorf("data: augmenting record %d %w", e.Origin.Index, err)}
	}
	e.Input = p
	return e, nil
}

func (w *preparer) unpack(v Encoded, e Example) (Example, error) {
	defer w.meter.time(StageDecode)()
	return v.Unpack(e)
}

// decodePart decodes what the first augmentations show of a JPEG to w.planes,
// draws for them, and returns those that are left. It is not ok where that
// cannot be done; whether the file is good is for others to say.
func (w *preparer) decodePart(p Picture, r *rand.Rand) (left []Augmentation, ok bool) {
	defer w.meter.time(StageDecode)()
	c, err := w.decoder.jpeg.Config(p.Encoded)
	if err != nil {
		return nil, false
	}
	left, err = w.draw(w.Augmentations, c.Width, c.Height, r)
	if err != nil || len(left) > 0 && len(w.views) == 1 && w.views[0] == Whole(c.Width, c.Height) { // those left have the planes then
		return nil, false
	}
	o := jpeg.Options{Crop: w.views[0].Part, Lenient: p.Sound, MaxPixels: MaxPixels}
	return left, w.decoder.planes(&w.planes, p.Encoded, o) == nil
}

func (w *preparer) decodeWhole(p Picture) (Picture, error) {
	defer w.meter.time(StageDecode)()
	return w.decoder.decode(p)
}

// augment applies augs to p or, if inPart, to what w.planes and w.views show.
func (w *preparer) augment(p Picture, inPart bool, augs []Augmentation, r *rand.Rand) (Picture, error) {
	defer w.meter.time(w.stage)()
	if inPart {
		p = w.views[0].of(&w.planes, image.Point{}, &w.resampler)
		for _, v := range w.views[1:] {
			p = p.see(v, &w.resampler)
		}
		if len(w.planes.Y) > mostKept {
			w.planes = jpeg.Planes{}
		}
	}
	for len(augs) > 0 {
		width, height := p.Bounds()
		left, err := w.draw(augs, width, height, r)
		if err != nil {
			return Picture{}, err
		}
		for _, v := range w.views {
			p = p.see(v, &w.resampler)
		}
		if len(left) == 0 {
			break
		}
		if p, err = left[0].Augment(p, r); err != nil {
			return Picture{}, fmt.Errorf("with %T: %w", left[0], err)
		}
		augs = left[1:]
	}
	return p.RGB(), nil
}

// draw makes w.views what the geometries that augs begins with show of a
// picture of a size, at least one view. It returns the other augmentations.
func (w *preparer) draw(augs []Augmentation, width, height int, r *rand.Rand) (left []Augmentation, err error) {
	w.views = append(w.views[:0], Whole(width, height))
	for i, a := range augs {
		g, ok := a.(Geometry)
		if !ok {
			return augs[i:], nil
		}
		last := &w.views[len(w.views)-1]
		next := View{}
		if last.Width < 1 || last.Height < 1 {
			err = errors.New("the picture has no pixels")
		} else {
			next, err = g.View(last.Width, last.Height, r)
		}
		if err != nil {
			return nil, fmt.Errorf("with %T: %w", a, err)
		}
		if both, ok := last.then(next); ok {
			*last = both
		} else if len(w.views) == 1 && *last == Whole(width, height) {
			*last = next
		} else {
			w.views = append(w.views, next)
		}
	}
	return nil, nil
}
