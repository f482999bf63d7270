package experiments

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/data/storage"
	"github.com/reprise-ml/reprise/echo"
	"github.com/reprise-ml/reprise/optim"
)

// What a damaged record does: Data.OnError.
const (
	OnErrorFail = "fail"
	OnErrorSkip = "skip"
)

// defaults returns a Spec with what its fields are where a file does not
// mention them, as far as that does not depend on other fields.
func defaults() Spec {
	return Spec{
		Data: Data{Order: data.Permuted, OnError: OnErrorFail, MaxBad: 100},
		Input: Input{
			Size: 32,
			Mean: []float32{0.485, 0.456, 0.406},
			Std:  []float32{0.229, 0.224, 0.225},
			Exif: ExifIgnore,
		},
		Stages: StagesSpec{
			Shuffle: Buffer{Items: 4096}, Prefetch: Buffer{Memory: 64 << 20},
			Readers: 8, Workers: runtime.GOMAXPROCS(0),
		},
		Train: TrainSpec{
			Batch: 128, Accumulate: 1,
			Optimizer: Choice[Optimizer]{"sgd", &optim.SGD{Momentum: 0.9, Nesterov: true}},
			Rate:      RateSpec{Schedule: "constant", Start: 0.1, Factor: 0.1, At: []float64{0.5, 0.75}},
		},
		Evaluate: EvaluateSpec{Batch: 250},
		Log:      LogSpec{Every: Span{50, Steps}, Progress: 10 * time.Second},

		Checkpoint: CheckpointSpec{Every: Span{500, Steps}, Keep: 2},
	}
}

// derived fills what is not set and depends on what is.
func (s Spec) derived() Spec {
	set(&s.Name, "run")
	if _, ok := s.textual(); !ok {
		s.Input = s.Input.derived()
	} else if s.Input.isDefault() {
		s.Input = Input{} // of pictures, of which text has none
	}
	s.Echo = s.Echo.WithDefaults()
	s = s.preset()
	if rate := &s.Train.Rate; rate.Schedule == "exponential" {
		set(&rate.End, rate.Start/100)
	}
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
	within := func(key string, value, least, most int) {
		if value < least || value > most {
			bad(key, "is %d, want %d to %d", value, least, most)
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
	if _, ok := s.textual(); !ok {
		errs = append(errs, s.Input.problems()...)
	} else if !s.Input.none() {
		bad("input", "is about pictures, and data.source is text; want it left out")
	}
	if c, ok := s.Data.Source.Value.(interface{ Check() error }); ok {
		check("data.source."+s.Data.Source.Name, c.Check())
	}
	check("echo", s.Echo.Check())
	errs = append(errs, s.presetProblems()...)
	atLeast("data.draws", s.Data.Draws, 0)
	if s.Data.Draws > 1 && s.Data.Order == data.Sequential {
		bad("data.draws", "is %d, and data.order sequential: most records would never be read; want permuted", s.Data.Draws)
	}
	if err := s.echoesNothing(); err != nil {
		bad("echo.strategy", "%v", err)
	}
	if r := s.Storage.UpstreamRatio; r < 0 {
		bad("storage.upstream_ratio", "is %g, want more than 0", r)
	}
	_, err := storage.New(s.Storage.Simulate)
	check("storage.simulate", err)
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
	if o := s.Train.Optimizer; o.IsZero() {
		bad("train.optimizer", "is missing; examples: adam, {sgd: {momentum: 0.9}}")
	} else {
		check("train.optimizer."+o.Name, o.Value.Check())
	}
	if s.Train.EMA != nil {
		check("train.ema", s.Train.EMA.Check())
	}
	errs = append(errs, s.Train.Rate.problems()...)
	within("train.batch", s.Train.Batch, 1, mostRows)
	within("checkpoint.keep", s.Checkpoint.Keep, 0, 1000)
	within("evaluate.batch", s.Evaluate.Batch, 1, mostRows)
	within("pipeline.readers", s.Stages.Readers, 1, 4096)
	within("pipeline.workers", s.Stages.Workers, 1, 4096)
	within("pipeline.prefetch", s.Stages.Prefetch.Items, 0, 1024)
	if strings.ContainsAny(s.Name, "/\\\x00") || strings.HasPrefix(s.Name, ".") {
		bad("name", "is %q, want the name of a directory", s.Name)
	}
	if s.Stop.MaxEpochs > 1e9 {
		bad("stop.max_epochs", "is %g, want at most 1e9", s.Stop.MaxEpochs)
	}
	if s.Stop.MaxFresh < 0 || s.Stop.MaxSteps < 0 || s.Stop.MaxEpochs < 0 {
		bad("stop", "a limit is negative")
	}
	if s.Stop.MaxFresh == 0 && s.Stop.MaxSteps == 0 && s.Stop.MaxEpochs == 0 {
		bad("stop", "has no limit; want max_fresh, max_steps or max_epochs")
	}
	return errs
}

// echoesNothing says why the strategy would not be one of its own: without an
// augmentation, its copies would be those of example.
func (s Spec) echoesNothing() error {
	if s.Echo.Strategy == echo.Augmentation && len(s.Input.Augment) == 0 {
		return fmt.Errorf("augmentation is the same as example where nothing is augmented; want example")
	}
	return nil
}
