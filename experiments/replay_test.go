package experiments

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/echo"
)

// digits is a source whose pictures tell the record they are, of which some
// are damaged. It keeps the origins it was asked for.
type digits struct {
	records int
	damaged func(record int) bool
	streams []int // the records of each, where it is streams; those of one of a negative number end in damage
	cycle   int
	mu      sync.Mutex
	asked   []int64
}

func (d *digits) Len() int { return d.records }

func (d *digits) through(read data.Reader) data.Reader {
	return func(ctx context.Context, o data.Origin) (data.Example, error) {
		d.mu.Lock()
		d.asked = append(d.asked, o.Read)
		d.mu.Unlock()
		return read(ctx, o)
	}
}

func (d *digits) Read(_ context.Context, i int) (data.Example, error) {
	if d.damaged != nil && d.damaged(i) {
		return data.Example{}, errors.New("damaged")
	}
	p := data.Picture{Pix: make([]uint8, 4*4*3), Width: 4, Height: 4}
	for at := range p.Pix {
		p.Pix[at] = uint8(i*31 + at)
	}
	return data.Example{Input: p, Target: data.Class(i % 3)}, nil
}

// source is d, or the streams that it is.
func (d *digits) source() data.Source {
	if d.streams == nil {
		return d
	}
	return data.Stream{Shards: d, Cycle: d.cycle}
}

func (d *digits) Shards() int { return len(d.streams) }

// Open gives a damaged record of a stream as one that cannot be decoded.
func (d *digits) Open(ctx context.Context, shard int, from int64) data.Seq[data.Example] {
	return func(yield func(data.Example, error) bool) {
		for i := int(from); i < max(d.streams[shard], -d.streams[shard]); i++ {
			e, err := d.Read(ctx, 40*shard+i)
			if err != nil {
				e.Input = data.Picture{Encoded: []byte("damaged")}
			}
			if !yield(e, nil) {
				return
			}
		}
		if d.streams[shard] < 0 {
			yield(data.Example{}, errors.New("damaged"))
		}
	}
}

// first returns so many batches of a pipeline that starts at a Replay, and the
// reads of damaged records that were met.
func (d *digits) first(t require, s Spec, batches int, at Start) (out []data.Batch, skipped map[int64]struct{}) {
	skipped = map[int64]struct{}{}
	var mu sync.Mutex
	skip := func(o data.Origin, _ error) error {
		mu.Lock()
		defer mu.Unlock()
		skipped[o.Read] = struct{}{}
		return nil
	}
	for b, err := range s.Pipeline(context.Background(), d.source(), d.through, skip, at) {
		if err != nil {
			t.Fatal(err)
		}
		if out = append(out, b.Keep()); len(out) == batches {
			break
		}
	}
	return out, skipped
}

type require interface{ Fatal(...any) }

const replayed = `
data: {source: synth}
input: {size: 4, augment: [flip, {pad_crop: {pad: 1}}], resize: []}
model: {mlp: {hidden: [4]}}
stop: {max_steps: 1}
`

func TestAReplayedPipelineGoesOnBitForBit(t *testing.T) {
	base, mixed := parse(t, replayed), parse(t, replayed, mixing, "input.mix.classes=3")
	split := parse(t, replayed, "input.augment=[{pad_crop: {pad: 1}}]", "input.augment_after=[flip]")
	rapid.Check(t, func(t *rapid.T) {
		s := base
		s.Seed = rapid.Uint64Range(0, 1000).Draw(t, "seed")
		s.Echo = echo.Spec{
			Strategy: rapid.SampledFrom(echo.Strategies()).Draw(t, "strategy"),
			Factor:   echo.Factor(rapid.SampledFrom([]float64{1, 1.25, 2, 2.5, 5, float64(echo.Auto)}).Draw(t, "factor")),
		}
		if s.Echo.Factor == echo.Auto {
			s.Echo.Max = rapid.IntRange(1, 5).Draw(t, "max")
		}
		if preset := rapid.SampledFrom(append(echo.Presets(), "", "", "")).Draw(t, "preset"); preset != "" {
			s.Echo = echo.Spec{Preset: preset, Factor: echo.Factor(rapid.IntRange(1, 5).Draw(t, "times"))}.WithDefaults()
			if err := s.Echo.Check(); err != nil {
				t.Fatal(err)
			}
		}
		if rapid.Bool().Draw(t, "split") {
			s.Input = split.Input
		}
		if rapid.Bool().Draw(t, "cached") {
			s.Stages.Cache = Bytes(rapid.IntRange(1, 2000).Draw(t, "cache"))
		}
		if s.Echo.Strategy == echo.Batch && s.Echo.Preset == "" {
			s.Echo.ShuffleBatches = rapid.IntRange(0, 5).Draw(t, "shuffle_batches")
		}
		if rapid.Bool().Draw(t, "mixed") {
			s.Input.Mix = mixed.Input.Mix
			s.Input.Mix.Redraw = rapid.Bool().Draw(t, "redraw")
		}
		s.Stages.Shuffle.Items = rapid.SampledFrom([]int{0, 1, 2, 7, 40}).Draw(t, "shuffle")
		s.Stages.Prefetch = Buffer{Items: rapid.IntRange(0, 3).Draw(t, "prefetch")}
		s.Stages.Readers = rapid.IntRange(1, 4).Draw(t, "readers")
		s.Stages.Workers = rapid.IntRange(1, 4).Draw(t, "workers")
		s.Train.Batch = rapid.IntRange(1, 8).Draw(t, "batch")
		s = s.preset()
		s.Data.Order = rapid.SampledFrom([]data.Ordering{data.Permuted, data.Sequential}).Draw(t, "order")
		records := rapid.SampledFrom([]int{data.Endless, 5, 33}).Draw(t, "records")
		src := &digits{records: records}
		if rapid.Bool().Draw(t, "damaged") {
			src.damaged = func(record int) bool { return record%4 == 1 }
		}
		if rapid.Bool().Draw(t, "streams") {
			src.streams = append(rapid.SliceOfN(rapid.IntRange(-9, 9), 0, 6).Draw(t, "lengths"), rapid.IntRange(1, 30).Draw(t, "length"))
			src.cycle = rapid.IntRange(0, 4).Draw(t, "cycle")
			if s.Echo.Factor == echo.Auto && s.Echo.Strategy == echo.Read {
				src.damaged = nil // such a factor counts records that only decoding finds to be damaged, and a replay does not
			}
		}
		const more = 12
		k := rapid.IntRange(0, 30).Draw(t, "k")
		var schedule echo.Schedule
		var ends data.Endings
		want, skipped := src.first(t, s, k+more, Start{Replay: data.Replay{Ends: &ends}, Record: &schedule})
		choices := schedule.Choices()

		src.asked = nil
		s.Stages.Readers, s.Stages.Workers, s.Stages.Prefetch.Items = s.Stages.Workers, s.Stages.Readers, 2
		at, err := s.Replay(context.Background(), src.source(), int64(k), skipped, choices, ends.List())
		if err != nil {
			t.Fatal(err)
		}
		got, _ := src.first(t, s, more, Start{Replay: at, Choices: choices})
		again, before := at.Ends.List(), ends.List()
		if n := min(len(again), len(before)); !slices.Equal(again[:n], before[:n]) {
			t.Fatalf("the streams end at %v, want %v", again, before)
		}
		if !reflect.DeepEqual(got, want[k:]) {
			t.Fatalf("from batch %d on, the origins are\n%v, want\n%v", k, origins(got), origins(want[k:]))
		}
		if k > 0 && at.Reads < want[k-1].Reads {
			t.Fatalf("the replay has %d reads, batch %d had %d", at.Reads, k, want[k-1].Reads)
		}
		made := 0
		for _, r := range src.asked {
			if r >= at.Reads {
				continue
			}
			if _, held := at.Held[r]; !held {
				t.Fatalf("read %d of %d is made again, and is not held", r, at.Reads)
			}
			made++
		}
		if made != len(at.Held) && s.Stages.Cache == 0 {
			t.Fatalf("%d reads are made again, %d are held", made, len(at.Held))
		}
	})
}

func origins(batches []data.Batch) (out [][]data.Origin) {
	for _, b := range batches {
		out = append(out, b.Origins)
	}
	return out
}

func TestAReplayHoldsWhatIsStillUsedAndNoMore(t *testing.T) {
	for _, c := range []struct {
		strategy    echo.Strategy
		factor      echo.Factor
		shuffle     int
		k           int64
		reads, held int
	}{
		{echo.None, 1, 1, 3, 12, 0},         // nothing waits anywhere
		{echo.None, 1, 9, 3, 20, 8},         // the newest leaves a buffer of 9 before it is full
		{echo.Example, 2, 1, 3, 6, 0},       // three batches of two reads, each used twice
		{echo.Example, 3, 1, 1, 2, 1},       // the second read has two more copies to come
		{echo.Batch, 2, 1, 3, 8, 4},         // the second batch has one more use
		{echo.Batch, 2, 1, 4, 8, 0},         // and then none
		{echo.Augmentation, 4, 1, 5, 5, 0},  // a read a batch
		{echo.Augmentation, 1, 1, 5, 20, 0}, // as none
	} {
		s := parse(t, replayed, "data.order=sequential", "train.batch=4")
		s.Echo = echo.Spec{Strategy: c.strategy, Factor: c.factor}
		s.Stages.Shuffle.Items = c.shuffle
		at, err := s.Replay(t.Context(), &digits{records: data.Endless}, c.k, nil, nil, nil)
		if err != nil || at.Reads != int64(c.reads) || len(at.Held) != c.held {
			t.Errorf("%v ×%g, buffer %d, batch %d: %d reads, %d held (%v), want %d and %d", c.strategy, float64(c.factor), c.shuffle, c.k, at.Reads, len(at.Held), err, c.reads, c.held)
		}
	}
}

func TestAHeldRecordThatIsDamagedWhenItIsReadAgainEndsThePipeline(t *testing.T) {
	s := parse(t, replayed, "pipeline.shuffle=8", "train.batch=4")
	src := &digits{records: 33}
	at, err := s.Replay(t.Context(), src, 3, nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	src.damaged = func(int) bool { return true }
	for _, err = range s.Pipeline(t.Context(), src, nil, func(data.Origin, error) error { return nil }, Start{Replay: at}) {
		break
	}
	if err == nil || !strings.Contains(err.Error(), "was good before the run was resumed: damaged") {
		t.Errorf("the error is %v", err)
	}
}

func TestAReplayEndsWithItsContext(t *testing.T) {
	s := parse(t, replayed)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Replay(ctx, &digits{records: 33}, 1e9, nil, nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

// BenchmarkReplay replays the reads of an epoch of ImageNet, at the paper's
// buffer and batch.
func BenchmarkReplay(b *testing.B) {
	for _, factor := range []echo.Factor{2, 2.5} {
		s := parse(b, replayed, "train.batch=1024")
		s.Echo = echo.Spec{Strategy: echo.Example, Factor: factor}
		s.Stages.Shuffle.Items = 100_000
		const records = 1_281_167
		steps := int64(records * float64(factor) / 1024)
		b.Run(string(echo.Example)+" ×"+number(float64(factor)), func(b *testing.B) {
			reads := int64(0)
			for b.Loop() {
				at, err := s.Replay(b.Context(), &digits{records: records}, steps, nil, nil, nil)
				if err != nil {
					b.Fatal(err)
				}
				reads += at.Reads
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(reads), "ns/read")
		})
	}
}
