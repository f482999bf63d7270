package experiments

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/data/augment"
	"github.com/reprise-ml/reprise/train"
)

// What pictures become in an [InputBench].
const (
	TransformImageNet = "imagenet" // a random resized crop to 224×224 and a flip
	TransformCIFAR    = "cifar"    // cut at random to their own size, which must be one, after 4 pixels were added on each side, and a flip
)

// InputBench measures how fast the pictures of a data set become what a
// network is trained on: [Spec.Pipeline] from the files, which are read again
// and again, to normalised batches. No picture is kept decoded.
type InputBench struct {
	Path       string        // of the data set: see [Registry.Detect]
	Transform  string        // imagenet or cifar
	DecodeOnly bool          // read and decode whole pictures, and no more; Transform is of no account
	Workers    int           // that decode and augment, at most 4096
	Time       time.Duration // to measure for, all rounds together, after the buffers are full
}

// InputRates is what an [InputBench] found.
type InputRates struct {
	Data         string  `json:"data"`
	Transform    string  `json:"transform,omitempty"` // none of decoding alone
	Workers      int     `json:"workers"`
	Lenient      bool    `json:"lenient"` // the data set is marked as clean, and what is not needed of a file is not read
	Images       int     `json:"images"`
	PerSecond    float64 `json:"images_per_second"`         // of the clock, of the median round
	PerCPU       float64 `json:"images_per_cpu_second"`     // of user and system time of the process, of the median round
	LeastPerCPU  float64 `json:"images_per_cpu_second_min"` // of the slowest round
	BestPerCPU   float64 `json:"images_per_cpu_second_max"` // of the fastest
	AllocsPerOne float64 `json:"allocs_per_image"`
	BytesPerOne  float64 `json:"bytes_per_image"` // that are allocated
	PeakRSS      int64   `json:"peak_rss_bytes"`  // of the process; 0 where the system does not tell
}

// Check says what is wrong with b, before anything is read.
func (b InputBench) Check() error {
	switch {
	case b.Path == "":
		return fmt.Errorf("the path of the data is missing")
	case b.Transform != TransformImageNet && b.Transform != TransformCIFAR:
		return fmt.Errorf("the transform is %q%s", b.Transform, suggest(b.Transform, []string{TransformImageNet, TransformCIFAR}))
	case b.Workers < 1 || b.Workers > 4096:
		return fmt.Errorf("the workers are %d, want 1 to 4096", b.Workers)
	case b.Time <= 0:
		return fmt.Errorf("the time is %v, want more than 0", b.Time)
	}
	return nil
}

// spec is that of the pipeline to measure.
func (b InputBench) spec(source Choice[Source]) Spec {
	s := defaults()
	s.Data.Source = source
	s.Stages.Workers, s.Stages.Prefetch, s.Stages.Shuffle.Items = b.Workers, Buffer{Items: 1}, 512
	if b.Transform == TransformImageNet {
		s.Input.Size = 224
		s.Train.Batch = 64
	} else {
		s.Input.Augment = []Choice[data.Augmentation]{
			{"pad_crop", &augment.PadCrop{Pad: 4}},
			{"flip", &augment.Flip{}},
		}
	}
	return s.derived()
}

// Run measures.
func (b InputBench) Run(ctx context.Context, r Registry) (InputRates, error) {
	if err := b.Check(); err != nil {
		return InputRates{}, err
	}
	source, err := r.Detect(b.Path)
	if err != nil {
		return InputRates{}, err
	}
	parts, err := wholeParts(source)
	if err != nil {
		return InputRates{}, err
	}
	src := parts[0].Source // the largest part
	for _, p := range parts {
		if p.Source.Len() > src.Len() {
			src = p.Source
		}
	}
	if src.Len() < 1 {
		return InputRates{}, fmt.Errorf("experiments: %s has no records", b.Path)
	}
	verified, err := markOf(source)
	if err != nil {
		return InputRates{}, err
	}
	s := b.spec(source)
	rates := InputRates{Data: b.Path, Transform: b.Transform, Workers: b.Workers, Lenient: verified != nil && !b.DecodeOnly}
	through := func(read data.Reader) data.Reader { return verified.sound(src, read) }
	var made data.Seq[int] // numbers of images
	warm := 2 * src.Len()
	if b.DecodeOnly {
		rates.Transform = ""
		made = counted(s.decodeOnly(ctx, src), func(data.Example) int { return 1 })
		warm = min(warm, 64)
	} else {
		made = counted(s.Pipeline(ctx, src, through, failing(src), Start{}), func(b data.Batch) int { b.Release(); return len(b.Origins) })
		warm = 2 * s.Train.Batch
	}
	return rates, rates.measure(made, warm, b.Time)
}

// decodeOnly reads and decodes the records of src.
func (s Spec) decodeOnly(ctx context.Context, src data.Source) data.Seq[data.Example] {
	return data.Scoped(ctx, func(ctx context.Context) data.Seq[data.Example] {
		examples := s.read(ctx, src, nil, failing(src), data.Replay{})
		return data.Decode(ctx, examples, s.Stages.Workers, failing(src))
	})
}

func counted[T any](in data.Seq[T], count func(T) int) data.Seq[int] {
	return func(yield func(int, error) bool) {
		for v, err := range in {
			if err != nil {
				yield(0, err)
				return
			}
			if !yield(count(v), nil) {
				return
			}
		}
	}
}

// measure takes images until warm of them have come, and then for a time.
func (r *InputRates) measure(made data.Seq[int], warm int, length time.Duration) error {
	const rounds = 5
	var before, after runtime.MemStats
	var start time.Time
	var cpu time.Duration
	var perSecond, perCPU []float64
	images := 0
	for n, err := range made {
		if err != nil {
			return err
		}
		if images += n; len(perSecond) == 0 && start.IsZero() {
			if images < warm {
				continue
			}
			images = 0
			runtime.GC()
			runtime.ReadMemStats(&before)
			start, cpu = time.Now(), train.CPUTime()
			continue
		}
		elapsed := time.Since(start)
		if elapsed < length/rounds {
			continue
		}
		used := train.CPUTime() - cpu
		perSecond = append(perSecond, float64(images)/elapsed.Seconds())
		if used > 0 {
			perCPU = append(perCPU, float64(images)/used.Seconds())
		}
		r.Images += images
		images = 0
		if len(perSecond) == rounds {
			break
		}
		start, cpu = time.Now(), train.CPUTime()
	}
	runtime.ReadMemStats(&after)
	r.AllocsPerOne = float64(after.Mallocs-before.Mallocs) / float64(r.Images)
	r.BytesPerOne = float64(after.TotalAlloc-before.TotalAlloc) / float64(r.Images)
	r.PerSecond = median(perSecond)
	if len(perCPU) == rounds {
		used := medianRange(perCPU)
		r.LeastPerCPU, r.PerCPU, r.BestPerCPU = used.Least, used.Median, used.Most
	}
	r.PeakRSS = peakRSS()
	return nil
}

// Write writes r for people.
func (r InputRates) Write(w io.Writer) error {
	what := "reading and decoding"
	if r.Transform != "" {
		what = "from the file to batches for " + r.Transform
	}
	if r.Lenient {
		what += ", of files that were verified"
	}
	_, err := fmt.Fprintf(w, `%s: %s, workers %d
  images/s      %.0f by the clock
  images/cpu-s  %.0f median, %.0f least, %.0f best
  memory        %.3g allocations and %v an image, %v at the peak
`, r.Data, what, r.Workers, r.PerSecond, r.PerCPU, r.LeastPerCPU, r.BestPerCPU, r.AllocsPerOne, Bytes(r.BytesPerOne), Bytes(r.PeakRSS))
	return err
}
