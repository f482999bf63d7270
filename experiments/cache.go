package experiments

import (
	"context"
	"fmt"
	"sync"

	"github.com/reprise-ml/reprise/data"
)

// cached returns read, or, with pipeline.cache, read with a memory: what it has made is decoded and kept, up to so many
// bytes, and a further read of the same record costs nothing. Nothing that is kept is let go of: in an order that
// takes every record once an epoch, each is as likely to be wanted next as any other.
func (s Spec) cached(read data.Reader) data.Reader {
	most := int64(s.Stages.Cache)
	if most == 0 {
		return read
	}
	var (
		mu   sync.Mutex
		kept = map[int]data.Example{}
		held int64
	)
	return func(ctx context.Context, o data.Origin) (data.Example, error) {
		mu.Lock()
		e, ok := kept[o.Index]
		mu.Unlock()
		if ok {
			return e, nil
		}
		e, err := read(ctx, o)
		if v, ok := e.Input.(data.Encoded); ok && err == nil {
			e, err = v.Unpack(e)
		}
		if err != nil {
			return e, err
		}
		mu.Lock()
		defer mu.Unlock()
		if size := int64(exampleBytes(e)); held+size <= most {
			if _, twice := kept[o.Index]; !twice {
				kept[o.Index] = e
				held += size
			}
		}
		return e, nil
	}
}

// decodedBytes is about the memory of all training data, decoded. A source without end reads no record twice.
func (s Spec) decodedBytes(ctx context.Context, src data.Source) (Bytes, error) {
	n := src.Len()
	if n == data.Endless {
		return 0, fmt.Errorf("the training data has no end, so that no record is read twice")
	}
	e, err := s.firstGood(ctx, src, data.FromSource(src), nil)
	return Bytes(n) * exampleBytes(e), err
}
