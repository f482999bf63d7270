package experiments

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/data/storage"
	"github.com/reprise-ml/reprise/echo"
	"github.com/reprise-ml/reprise/internal/kernel"
	"github.com/reprise-ml/reprise/nn/op"
	"github.com/reprise-ml/reprise/train"
)

// EchoBench measures the paper's equation 1 by wall clock: a small real model trains behind simulated storage, by every
// factor at every ratio R, and the time per fresh example is held against max(t_up, e·t_down). Everything is measured
// once a round, so that what else the machine does falls on all alike.
type EchoBench struct {
	Rounds  int           // at least 1
	Batches int           // batches of fresh data that a measurement lasts, at least 4
	Ratios  []float64     // R
	Factors []echo.Factor // numbers
	Threads int           // that compute a step
}

// Check reports what is out of range.
func (b EchoBench) Check() error {
	if b.Rounds < 1 || b.Rounds > 1000 || b.Batches < 4 || b.Batches > 10_000 || b.Threads < 1 || b.Threads > 1024 {
		return fmt.Errorf("bench echo: %d rounds, %d batches and %d threads, want 1 to 1000, 4 to 10000 and 1 to 1024", b.Rounds, b.Batches, b.Threads)
	}
	for _, r := range b.Ratios {
		if !(r >= 0.1 && r <= 100) {
			return fmt.Errorf("bench echo: R is %g, want 0.1 to 100", r)
		}
	}
	for _, f := range b.Factors {
		if err := f.Check(); err != nil || f == echo.Auto || f > 100 {
			return fmt.Errorf("bench echo: the factor is %v, want a number from 1 to 100", f)
		}
	}
	if len(b.Ratios)*len(b.Factors) == 0 {
		return fmt.Errorf("bench echo: no R or no factor")
	}
	return nil
}

// EchoTimes is what an EchoBench measured. Times are in milliseconds.
type EchoTimes struct {
	Rounds   int          `json:"rounds"`
	Cores    int          `json:"cores"`
	Threads  int          `json:"threads"`
	Kernel   string       `json:"kernel"`
	Model    string       `json:"model"`
	Batch    int          `json:"batch"`
	Step     MedianRange  `json:"step_ms"` // without echo, behind storage without a limit: t_down
	Cells    []EchoCell   `json:"cells"`
	Overhead *Overhead    `json:"overhead,omitempty"` // absent where there is no factor 5 with an R of 6 or more
	Memory   []EchoMemory `json:"memory,omitempty"`   // absent where the system does not tell
}

// EchoCell is a ratio and a factor.
type EchoCell struct {
	R         float64 `json:"r"`
	Factor    float64 `json:"factor"`
	Measured  float64 `json:"measured_ms"`  // per fresh example, median of the rounds
	Predicted float64 `json:"predicted_ms"` // likewise; with t_down as measured in the round, before the cells of this R
	Error     float64 `json:"error"`        // median over the rounds of measured / predicted − 1
	Least     float64 `json:"least_error"`
	Most      float64 `json:"most_error"`
}

// Overhead is the time per fresh example with echo over that without, where the step has time for all copies.
type Overhead struct {
	R      float64 `json:"r"`
	Factor float64 `json:"factor"`
	Share  float64 `json:"share"` // median over the rounds of the ratio − 1
	Least  float64 `json:"least"`
	Most   float64 `json:"most"`
}

// EchoMemory is the memory of the process while it trains with a factor.
type EchoMemory struct {
	Strategy echo.Strategy `json:"strategy"`
	Factor   float64       `json:"factor"`
	RSS      int64         `json:"peak_rss_bytes"` // most that was seen between steps
}

// Sizes of the model and its data in an EchoBench.
const (
	benchedDepth  = 8
	benchedBatch  = 32
	benchedBuffer = 4 * benchedBatch
	heldBuffer    = 16384 // examples, where memory is measured: 50 MB
)

// still is a source of pictures that are in memory, decoded, all of one size.
type still struct{ pictures []data.Picture }

func newStill() *still {
	r := rand.New(rand.NewPCG(1, 1))
	s := &still{make([]data.Picture, 256)}
	for i := range s.pictures {
		s.pictures[i] = data.Picture{Pix: make([]uint8, 32*32*3), Width: 32, Height: 32}
		for at := range s.pictures[i].Pix {
			s.pictures[i].Pix[at] = uint8(r.Uint32())
		}
	}
	return s
}

// Bases implements [Source].
func (s *still) Bases() ([]string, error) { return []string{"train", "validation"}, nil }

// Open implements [Source].
func (s *still) Open(string) (data.Source, error) { return s, nil }

// Len implements [data.Source].
func (s *still) Len() int { return len(s.pictures) }

// Classes implements [data.Labelled].
func (s *still) Classes() []string { return strings.Split("0123456789", "") }

// Label implements [data.Labelled].
func (s *still) Label(i int) int { return i % 10 }

// Read implements [data.Source].
func (s *still) Read(_ context.Context, i int) (data.Example, error) {
	return data.Example{Input: s.pictures[i], Target: data.Class(s.Label(i))}, nil
}

// echoed is the training of an EchoBench.
type echoed struct {
	Run
	batches int
}

// prepareBench builds the model once, for all measurements.
func (b EchoBench) prepareBench(ctx context.Context, pool *op.Pool) (*echoed, error) {
	const text = "data: {source: synth}\ninput: {size: 32, augment: [{pad_crop: {pad: 4}}, flip], resize: []}\nmodel: {resnet_cifar: {}}\nstop: {max_steps: 1}\ntrain: {rate: {start: 0.001}}"
	s, err := DefaultRegistry().Parse("bench.yaml", text, fmt.Sprint("train.batch=", benchedBatch), fmt.Sprint("model.resnet_cifar.depth=", benchedDepth), fmt.Sprint("train.compute_threads=", b.Threads))
	if err != nil {
		return nil, err
	}
	s.Data.Source = Choice[Source]{"still", newStill()}
	s.Stages.Shuffle, s.Stages.Prefetch = Buffer{Items: benchedBuffer}, Buffer{Items: 2}
	run := &echoed{Run: Run{Spec: s}, batches: b.Batches}
	if err := run.open(ctx); err != nil {
		return nil, err
	}
	return run, run.prepare(pool)
}

// pace trains with an echo behind a storage that takes each seconds a read, and returns the seconds for a read and for
// a step. watch is called after every step, unless it is nil.
func (r *echoed) pace(ctx context.Context, e echo.Spec, each float64, watch func()) (fresh, step float64, err error) {
	s := r.Spec
	s.Echo = e.WithDefaults()
	if watch != nil {
		s.Stages.Shuffle.Items = heldBuffer
	}
	factor := float64(s.Echo.Factor)
	begin := int64(4 * factor)
	end := begin + int64(math.Ceil(float64(r.batches)*factor))
	if watch != nil { // equally long with every factor, as garbage adds up
		begin, end = 1, int64(4*r.batches)
	}
	var slow storage.Simulated
	if each > 0 {
		slow.Bandwidth = float64(32*32*3) / each
	}
	store, err := storage.New(slow)
	if err != nil {
		return 0, 0, err
	}
	var from train.Progress
	note := train.ObserverFunc(func(p train.Progress, _ data.Batch) error {
		if p.Steps == begin {
			from = p
		}
		if watch != nil {
			watch()
		}
		return nil
	})
	done := func(p train.Progress) bool { return p.Steps >= end }
	p, err := train.Run(ctx, train.Progress{}, r.learner, s.Pipeline(ctx, r.data.Train, store.Reader, nil, Start{}), done, note)
	if err != nil {
		return 0, 0, err
	}
	took := (p.Elapsed - from.Elapsed).Seconds()
	return took / float64(p.Reads-from.Reads), (p.Compute - from.Compute).Seconds() / float64(p.Steps-from.Steps), nil
}

// Run measures. progress is told of every round; nil drops it.
func (b EchoBench) Run(ctx context.Context, progress func(string)) (EchoTimes, error) {
	t := EchoTimes{Rounds: b.Rounds, Cores: runtime.GOMAXPROCS(0), Threads: b.Threads, Kernel: kernel.ActivePath().String(), Model: fmt.Sprintf("resnet_cifar(depth %d)", benchedDepth), Batch: benchedBatch}
	if err := b.Check(); err != nil {
		return t, err
	}
	if progress == nil {
		progress = func(string) {}
	}
	pool := op.NewPool(b.Threads)
	defer pool.Close()
	run, err := b.prepareBench(ctx, pool)
	if err != nil {
		return t, err
	}
	if _, _, err := run.pace(ctx, echo.Spec{}, 0, nil); err != nil { // to warm up
		return t, err
	}
	_, calibrated, err := run.pace(ctx, echo.Spec{}, 0, nil)
	if err != nil {
		return t, err
	}
	type key struct{ r, f float64 }
	measured, predicted := map[key][]float64{}, map[key][]float64{}
	var steps []float64
	for n := range b.Rounds {
		progress(fmt.Sprintf("round %d of %d", n+1, b.Rounds))
		for _, ratio := range b.Ratios {
			up := ratio * calibrated
			_, down, err := run.pace(ctx, echo.Spec{}, 0, nil)
			if err != nil {
				return t, err
			}
			steps = append(steps, 1000*down)
			for _, factor := range b.Factors {
				e := echo.Spec{Strategy: echo.Example, Factor: factor}
				fresh, _, err := run.pace(ctx, e, up/benchedBatch, nil)
				if err != nil {
					return t, err
				}
				k := key{ratio, float64(factor)}
				measured[k] = append(measured[k], 1000*fresh)
				predicted[k] = append(predicted[k], 1000*max(up, k.f*down)/benchedBatch)
			}
		}
	}
	t.Step = medianRange(steps)
	for _, ratio := range b.Ratios {
		for _, factor := range b.Factors {
			k := key{ratio, float64(factor)}
			errs := ratios(measured[k], predicted[k])
			t.Cells = append(t.Cells, EchoCell{k.r, k.f, median(measured[k]), median(predicted[k]), median(errs), slices.Min(errs), slices.Max(errs)})
		}
		with, without := measured[key{ratio, 5}], measured[key{ratio, 1}]
		if t.Overhead == nil && ratio >= 6 && with != nil && without != nil {
			over := ratios(with, without)
			t.Overhead = &Overhead{ratio, 5, median(over), slices.Min(over), slices.Max(over)}
		}
	}
	progress("memory")
	t.Memory, err = b.memory(ctx, run)
	return t, err
}

// memory measures the memory of the process with every factor, each with a shuffle buffer of a size that shows.
func (b EchoBench) memory(ctx context.Context, run *echoed) ([]EchoMemory, error) {
	var list []EchoMemory
	for _, strategy := range []echo.Strategy{echo.Example, echo.Augmentation} {
		for _, factor := range b.Factors {
			debug.FreeOSMemory()
			most := int64(0)
			if _, _, err := run.pace(ctx, echo.Spec{Strategy: strategy, Factor: factor}, 0, func() { most = max(most, residentSize()) }); err != nil {
				return nil, err
			}
			if most > 0 {
				list = append(list, EchoMemory{strategy, float64(factor), most})
			}
		}
	}
	return list, nil
}

// ratios are those of two lists, less 1.
func ratios(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = a[i]/b[i] - 1
	}
	return out
}

// Write writes t for people, at most 80 columns wide.
func (t EchoTimes) Write(w io.Writer) error {
	b := &strings.Builder{}
	fmt.Fprintf(b, "%s, batch %d, %d of %d cores compute (%s); medians of %d rounds.\nA step takes %.2f ms (%.2f to %.2f).\n\n", t.Model, t.Batch, t.Threads, t.Cores, t.Kernel, t.Rounds, t.Step.Median, t.Step.Least, t.Step.Most)
	grid := [][]string{{"R", "factor", "ms per fresh example", "predicted", "error", "least", "most"}}
	percent := func(v float64) string { return fmt.Sprintf("%+.1f %%", 100*v) }
	worst := 0.
	for _, c := range t.Cells {
		grid = append(grid, []string{fmt.Sprintf("%g", c.R), fmt.Sprintf("%g", c.Factor), fmt.Sprintf("%.4f", c.Measured), fmt.Sprintf("%.4f", c.Predicted), percent(c.Error), percent(c.Least), percent(c.Most)})
		worst = max(worst, math.Abs(c.Error))
	}
	align(b, grid)
	fmt.Fprintf(b, "\npredicted: max(t_up, factor × t_down). The largest error is %.1f %%.\n", 100*worst)
	if o := t.Overhead; o != nil {
		fmt.Fprintf(b, "A fresh example at factor %g and R %g takes %s more than without echo\n(%s to %s).\n", o.Factor, o.R, percent(o.Share), percent(o.Least), percent(o.Most))
	}
	if len(t.Memory) > 0 {
		grid := [][]string{{"strategy", "factor", "peak RSS"}}
		for _, m := range t.Memory {
			grid = append(grid, []string{string(m.Strategy), fmt.Sprintf("%g", m.Factor), Bytes(m.RSS).String()})
		}
		fmt.Fprintf(b, "\nMemory, with a shuffle buffer of %s examples:\n\n", number(heldBuffer))
		align(b, grid)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
