package experiments

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/train"
)

// memory is the most that a run needs at once, in bytes, by what it is for.
type memory struct {
	held      Bytes // from the start on: the graphs with all activations, weights, gradients, the index of the data
	optimizer Bytes // its buffers, and the average of the weights
	shuffle   Bytes // the buffers of examples and of batches
	cache     Bytes // of decoded records
	batches   Bytes // formed and not trained on yet
	pictures  Bytes // being read, decoded and augmented
	kept      Bytes // the copy that a checkpoint is written from
	system    Bytes // program, stacks, books of the allocator
	spare     Bytes // garbage, until it is collected
}

// program is about what the code and the tables of the process take, which the
// memory limit of Go does not count.
const program = 12 << 20

// need predicts the memory of a run that is prepared, before its first step.
func (r *Run) need() memory {
	var now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&now)
	s, weights := r.Spec, Bytes(4*r.learner.Params.Count())
	buffers := buffersOf(s.Train.Optimizer.Value)
	if r.ema != nil {
		buffers++
	}
	m := memory{
		held:      Bytes(now.HeapAlloc),
		optimizer: Bytes(buffers) * weights,
		shuffle:   Bytes(s.Stages.Shuffle.Items)*exampleBytes(r.sample) + Bytes(max(s.Echo.ShuffleBatches-1, 0))*batchBytes(r.hollow),
		batches:   Bytes(s.Stages.Prefetch.Items+2) * batchBytes(r.hollow),
		system:    Bytes(now.Sys-now.HeapSys) + program,
	}
	if m.cache = s.Stages.Cache; r.data.Train.Len() != data.Endless {
		m.cache = min(m.cache, Bytes(r.data.Train.Len())*max(Bytes(3*r.raw.pixels), exampleBytes(r.sample)))
	}
	if s.Checkpoint.Keep > 0 {
		m.kept = Bytes(buffers+1) * weights
	}
	// A reader and a worker hold a few records more than there are of them; a
	// worker has the planes, which a sample a pixel and channel bounds, and a
	// decoder.
	const decoder = 1 << 20
	raw, decoded := Bytes(r.raw.encoded), Bytes(3*r.raw.pixels)
	m.pictures = Bytes(s.Stages.Readers+s.Stages.Workers+4)*raw + Bytes(s.Stages.Workers+2)*exampleBytes(r.sample)
	if decoded > 0 {
		m.pictures += Bytes(s.Stages.Workers) * (decoded + decoder)
		if s.sharesDecoded() {
			m.pictures += Bytes(s.Stages.Workers+2) * decoded
		}
	}
	m.spare = 8<<20 + m.live()/20
	return m
}

// live is what is in use at once.
func (m memory) live() Bytes {
	return m.held + m.optimizer + m.shuffle + m.cache + m.batches + m.pictures + m.kept
}

// total is the memory of the process.
func (m memory) total() Bytes { return m.live() + m.system + m.spare }

// String tells the parts that matter.
func (m memory) String() string {
	var parts []string
	for _, p := range []struct {
		name  string
		bytes Bytes
	}{
		{"model, activations and data", m.held}, {"optimizer", m.optimizer}, {"shuffle", m.shuffle}, {"cache", m.cache}, {"batches", m.batches},
		{"pictures under way", m.pictures}, {"checkpoint", m.kept}, {"program and garbage", m.system + m.spare},
	} {
		if 100*p.bytes >= m.total() {
			parts = append(parts, fmt.Sprintf("%s %v", p.name, p.bytes))
		}
	}
	return fmt.Sprintf("%v: %s", m.total(), strings.Join(parts, ", "))
}

// buffersOf is how many numbers an optimizer keeps for each weight, 2 where it
// does not tell.
func buffersOf(o Optimizer) int {
	if o, ok := o.(interface{ Buffers() int }); ok {
		return o.Buffers()
	}
	return 2
}

// limited bounds the memory of Go by what m predicts, and returns what lifts
// the bound again.
func (m memory) limited() (lift func()) {
	before := debug.SetMemoryLimit(int64(m.total() - program))
	return func() { debug.SetMemoryLimit(before) }
}

// widen, an observer, lifts the memory limit where more is in use than
// was predicted, since collecting garbage all the time would not help.
func widen(train.Progress, data.Batch) error {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	limit := debug.SetMemoryLimit(-1)
	if used := int64(live[0].Value.Uint64()); used > limit-limit/16 {
		debug.SetMemoryLimit(used + used/4)
	}
	return nil
}

// stored is the size of a record.
type stored struct {
	encoded int // bytes
	pixels  int // of a picture
}

// watch returns a reader that reads as read does, and notes in s the size of
// the first record that is good. It is not for several goroutines.
func (s *stored) watch(read data.Reader) data.Reader {
	return func(ctx context.Context, o data.Origin) (data.Example, error) {
		e, err := read(ctx, o)
		if err != nil || e.Input == nil || s.encoded > 0 {
			return e, err
		}
		size := stored{encoded: e.Input.Size()}
		if p, ok := e.Input.(data.Picture); ok {
			decoded, bad := p.Decode()
			if bad != nil {
				return e, nil // who decodes it will tell
			}
			w, h := decoded.Bounds()
			size.pixels = w * h
		}
		*s = size
		return e, nil
	}
}
