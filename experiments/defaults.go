package experiments

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/data/augment"
	"github.com/reprise-ml/reprise/data/storage"
	"github.com/reprise-ml/reprise/optim"
)

// What a damaged record does: Data.OnError.
const (
	OnErrorFail = "fail"
	OnErrorSkip = "skip"
)

// WithDefaults fills what is not set and does not depend on the data.
func (s Spec) WithDefaults() Spec {
	set(&s.Name, "run")
	set(&s.Data.Order, data.Permuted)
	set(&s.Data.OnError, OnErrorFail)
	set(&s.Data.MaxBad, 100)

	set(&s.Input.Size, 32)
	setSlice(&s.Input.Mean, []float32{0.485, 0.456, 0.406})
	setSlice(&s.Input.Std, []float32{0.229, 0.224, 0.225})
	setSlice(&s.Input.Augment, []Choice[data.Augmentation]{
		{"random_resized_crop", &augment.RandomResizedCrop{Size: s.Input.Size}},
		{"flip", &augment.Flip{}},
	})
	setSlice(&s.Input.Resize, []Choice[data.Augmentation]{
		{"resize", &augment.Resize{Size: s.Input.Size}},
		{"center_crop", &augment.CenterCrop{Size: s.Input.Size}},
	})

	set(&s.Stages.Shuffle, Buffer{Items: 4096})
	set(&s.Stages.Readers, 8)
	set(&s.Stages.Workers, runtime.GOMAXPROCS(0))
	set(&s.Stages.Prefetch, Buffer{Memory: 64 << 20})
	s.Echo = s.Echo.WithDefaults()

	set(&s.Train.Batch, 128)
	set(&s.Train.Accumulate, 1)
	if s.Train.Optimizer.IsZero() {
		s.Train.Optimizer = Choice[Optimizer]{"sgd", &optim.SGD{Momentum: 0.9, Nesterov: true}}
	}
	rate := &s.Train.Rate
	set(&rate.Schedule, "constant")
	set(&rate.Start, 0.1)
	switch rate.Schedule {
	case "exponential":
		set(&rate.End, rate.Start/100)
	case "step":
		setSlice(&rate.At, []float64{0.5, 0.75})
		set(&rate.Factor, 0.1)
	}

	set(&s.Evaluate.Batch, s.Train.Batch)
	set(&s.Log.Every, Span{50, Steps})
	set(&s.Log.Progress, 10*time.Second)
	return s
}

func set[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func setSlice[T any](field *[]T, value []T) {
	if *field == nil {
		*field = value
	}
}

// problems lists what is out of range in s, each with its key.
func (s Spec) problems() []error {
	var errs []error
	bad := func(key, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s: %s", key, fmt.Sprintf(format, args...)))
	}
	atLeast := func(key string, value, least int) {
		if value < least {
			bad(key, "is %d, want at least %d", value, least)
		}
	}
	oneOf := func(key, value string, known ...string) {
		if !slices.Contains(known, value) {
			bad(key, "is %q%s", value, suggest(value, known))
		}
	}
	check := func(key string, err error) {
		if err != nil {
			_, text, _ := strings.Cut(err.Error(), ": ") // without the package: the key says more
			bad(key, "%s", text)
		}
	}
	if s.Data.Source.IsZero() {
		bad("data.source", "is missing; examples: synth, {folder: {path: photos}}")
	}
	if s.Model.IsZero() {
		bad("model", "is missing; examples: {mlp: {hidden: [64]}}, {resnet_cifar: {depth: 8}}")
	}
	for _, split := range []struct{ key, text string }{{"data.train", s.Data.Train}, {"data.validation", s.Data.Validation}, {"data.test", s.Data.Test}} {
		if split.text != "" {
			_, err := data.ParseSlice(split.text)
			check(split.key, err)
		}
	}
	oneOf("data.order", string(s.Data.Order), string(data.Permuted), string(data.Sequential))
	oneOf("data.on_error", s.Data.OnError, OnErrorFail, OnErrorSkip)
	atLeast("data.max_bad", s.Data.MaxBad, 0)
	atLeast("input.size", s.Input.Size, 1)
	for _, v := range []struct {
		key    string
		values []float32
	}{{"input.mean", s.Input.Mean}, {"input.std", s.Input.Std}} {
		if len(v.values) != 3 {
			bad(v.key, "has %d values, want 3, one a channel", len(v.values))
		}
	}
	if slices.Contains(s.Input.Std, 0) {
		bad("input.std", "holds 0, by which nothing can be divided")
	}
	for _, v := range []struct {
		key  string
		list []Choice[data.Augmentation]
	}{{"input.augment", s.Input.Augment}, {"input.resize", s.Input.Resize}} {
		for i, a := range v.list {
			if c, ok := a.Value.(interface{ Check() error }); ok {
				check(fmt.Sprintf("%s[%d].%s", v.key, i, a.Name), c.Check())
			}
		}
	}
	atLeast("pipeline.readers", s.Stages.Readers, 1)
	atLeast("pipeline.workers", s.Stages.Workers, 1)
	check("echo", s.Echo.Check())
	if err := s.echoesNothing(); err != nil {
		bad("echo.strategy", "%v", err)
	}
	if r := s.Storage.UpstreamRatio; r < 0 {
		bad("storage.upstream_ratio", "is %g, want more than 0", r)
	}
	_, err := storage.New(s.Storage.Simulate)
	check("storage.simulate", err)
	atLeast("train.batch", s.Train.Batch, 1)
	atLeast("train.accumulate", s.Train.Accumulate, 1)
	if a := s.Train.Accumulate; a > 1 && s.Train.Batch%a != 0 {
		bad("train.accumulate", "is %d, which does not divide the batch of %d", a, s.Train.Batch)
	}
	if v := s.Train.LabelSmoothing; v < 0 || v >= 1 {
		bad("train.label_smoothing", "is %g, want 0 up to 1", v)
	}
	if v := s.Train.ClipNorm; v < 0 {
		bad("train.clip_norm", "is %g, want 0 (none) or more", v)
	}
	check("train.optimizer."+s.Train.Optimizer.Name, s.Train.Optimizer.Value.Check())
	if s.Train.EMA != nil {
		check("train.ema", s.Train.EMA.Check())
	}
	errs = append(errs, s.Train.Rate.problems()...)
	if s.Stop.MaxFresh < 0 || s.Stop.MaxSteps < 0 || s.Stop.MaxEpochs < 0 {
		bad("stop", "a limit is negative")
	}
	if s.Stop.MaxFresh == 0 && s.Stop.MaxSteps == 0 && s.Stop.MaxEpochs == 0 {
		bad("stop", "has no limit; want max_fresh, max_steps or max_epochs")
	}
	atLeast("evaluate.batch", s.Evaluate.Batch, 1)
	return errs
}

// echoesNothing says why the strategy would not be one of its own: without an
// augmentation, its copies would be those of example.
func (s Spec) echoesNothing() error {
	if s.Echo.Strategy == "augmentation" && len(s.Input.Augment) == 0 {
		return fmt.Errorf("augmentation is the same as example where nothing is augmented; want example")
	}
	return nil
}
