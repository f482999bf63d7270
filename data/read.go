package data

import (
	"context"
	"fmt"
	"sync"
)

// Reader makes the example of an origin. It must be safe to call from
// several goroutines.
type Reader func(ctx context.Context, o Origin) (Example, error)

// Faults decides what becomes of a record that cannot be read or decoded:
// nil drops it, an error ends the stream. It is called in the order of the
// records. A nil Faults ends the stream with the record's number and error.
type Faults func(o Origin, err error) error

// orFail is f, or the Faults that a nil one stands for.
func (f Faults) orFail() Faults {
	if f != nil {
		return f
	}
	return func(o Origin, err error) error { return fmt.Errorf("data: record %d: %w", o.Index, err) }
}

// Read makes an example of each origin, on up to workers goroutines.
func Read(ctx context.Context, order Seq[Origin], workers int, read Reader, faults Faults) Seq[Example] {
	return attempt(ctx, order, workers, Measured(ctx, StageRead, func(ctx context.Context, o Origin) (Example, error) {
		return read(ctx, o)
	}), faults.orFail())
}

// Decode decodes the inputs that are [Encoded], on up to workers goroutines.
// Others pass as they are.
func Decode(ctx context.Context, in Seq[Example], workers int, faults Faults) Seq[Example] {
	decoders := sync.Pool{New: func() any { return new(decoder) }}
	decode := Measured(ctx, StageDecode, func(_ context.Context, e Example) (Example, error) {
		v, ok := e.Input.(Picture)
		if !ok {
			return e.Input.(Encoded).Unpack(e)
		}
		d := decoders.Get().(*decoder)
		defer decoders.Put(d)
		p, err := d.decode(v)
		e.Input = p
		return e, err
	})
	return attempt(ctx, in, workers, func(ctx context.Context, e Example) (Example, error) {
		if _, ok := e.Input.(Encoded); !ok {
			return e, nil
		}
		return decode(ctx, e)
	}, faults.orFail())
}

// attempt is [Map] with a fault handler that is asked in order.
func attempt[In interface{ origin() Origin }](ctx context.Context, in Seq[In], workers int, f func(context.Context, In) (Example, error), faults Faults) Seq[Example] {
	type outcome struct {
		example Example
		err     error
	}
	outcomes := Map(ctx, in, workers, func(ctx context.Context, v In) (outcome, error) {
		e, err := f(ctx, v)
		e.Origin = v.origin()
		if ctx.Err() != nil {
			return outcome{}, ctx.Err()
		}
		return outcome{e, err}, nil
	})
	return func(yield func(Example, error) bool) {
		for o, err := range outcomes {
			if err == nil && o.err != nil {
				if err = faults(o.example.Origin, o.err); err == nil {
					continue
				}
			}
			if err != nil {
				yield(Example{}, err)
				return
			}
			if !yield(o.example, nil) {
				return
			}
		}
	}
}
