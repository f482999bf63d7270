package experiments

import (
	"time"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/data/augment"
	"github.com/reprise-ml/reprise/data/storage"
	"github.com/reprise-ml/reprise/echo"
	"github.com/reprise-ml/reprise/optim"
)

// Spec is everything that decides the outcome of a run. It is written as
// YAML; [Registry.Load] reads it, and every field has the default that is
// given here.
type Spec struct {
	Name string `yaml:"name,omitempty"` // of the run directory; default: that of the file
	Seed uint64 `yaml:"seed"`           // of everything drawn at random but the splits; default 0

	Data     Data          `yaml:"data"`
	Input    Input         `yaml:"input,omitempty"` // of pictures; text has none
	Stages   StagesSpec    `yaml:"pipeline"`
	Echo     echo.Spec     `yaml:"echo"`
	Storage  StorageSpec   `yaml:"storage,omitempty"`
	Model    Choice[Model] `yaml:"model"`
	Train    TrainSpec     `yaml:"train"`
	Stop     Stop          `yaml:"stop"`
	Evaluate EvaluateSpec  `yaml:"evaluate"`
	Log      LogSpec       `yaml:"log"`

	Checkpoint CheckpointSpec `yaml:"checkpoint"`
}

// Data says which records are trained on and which judge.
type Data struct {
	Source     Choice[Source] `yaml:"source"`
	Train      string         `yaml:"train,omitempty"`      // default: train or all, without what validation takes
	Validation string         `yaml:"validation,omitempty"` // default: val where it exists, else the last tenth of train
	Test       string         `yaml:"test,omitempty"`       // used once, at the end; none, or default: test where it exists
	SplitSeed  uint64         `yaml:"split_seed"`           // of the permutation that splits are cut from; default 0
	Order      data.Ordering  `yaml:"order"`                // permuted (default) or sequential
	Draws      int            `yaml:"draws,omitempty"`      // permutations an epoch: of each, the first 1/Draws is read; default 1
	OnError    string         `yaml:"on_error"`             // fail (default) or skip: what a damaged record does
	MaxBad     int            `yaml:"max_bad"`              // distinct damaged records borne with skip; default 100
}

// Input says what a picture looks like to the model: Size × Size × 3.
type Input struct {
	Size int       `yaml:"size"`      // pixels; default 32
	Mean []float32 `yaml:"mean,flow"` // of each channel, on a scale of 0 to 1; default ImageNet's
	Std  []float32 `yaml:"std,flow"`
	Exif string    `yaml:"exif"` // orientation: ignore (default, as torchvision) or apply

	// Augment is applied to training pictures; default: a random resized crop
	// of Size and a flip. Resize is applied to all others; default: the
	// shorter side to Size, and the centre.
	Augment []Choice[data.Augmentation] `yaml:"augment"`

	// AugmentAfter follows Augment. It is right of an echo of augmented pictures, whose copies then differ in it; default: none.
	AugmentAfter []Choice[data.Augmentation] `yaml:"augment_after,omitempty"`

	Resize []Choice[data.Augmentation] `yaml:"resize"`

	Mix augment.Mix `yaml:"mix,omitempty"` // of the pictures of a training batch with one another; default: none
}

// StagesSpec sizes the stages.
type StagesSpec struct {
	Shuffle  Buffer `yaml:"shuffle"`         // of examples (10k) or memory (500MiB); default 4096
	Readers  int    `yaml:"readers"`         // reads under way at once; default 8
	Workers  int    `yaml:"workers"`         // of decoding and of augmenting; default: one a core
	Cache    Bytes  `yaml:"cache,omitempty"` // memory for decoded records (2GiB), but of streams: a further read of one costs nothing; default 0: none
	Prefetch Buffer `yaml:"prefetch"`        // finished batches (4) or memory (64MiB); default 64MiB, and 8 batches at most
}

// StorageSpec makes training reads as slow as another storage would.
type StorageSpec struct {
	Simulate      storage.Simulated `yaml:"simulate,omitempty"`
	UpstreamRatio float64           `yaml:"upstream_ratio,omitempty"` // R to simulate; measured once, it sets Simulate.Bandwidth
	Measured      float64           `yaml:"measured,omitempty"`       // the UpstreamRatio that Simulate.Bandwidth was set for; not for people
}

// TrainSpec is the step and what it learns with.
type TrainSpec struct {
	Init           Path              `yaml:"init,omitempty"` // safetensors file of the first weights; default: drawn
	Batch          int               `yaml:"batch"`          // rows of a step; default 128
	Accumulate     int               `yaml:"accumulate"`     // parts a batch is computed in; default 1
	Optimizer      Choice[Optimizer] `yaml:"optimizer"`      // default sgd, Nesterov momentum 0.9
	Rate           RateSpec          `yaml:"rate"`
	LabelSmoothing float64           `yaml:"label_smoothing,omitempty"` // 0 to 1; default 0
	ClipNorm       float64           `yaml:"clip_norm,omitempty"`       // bound of the gradient's global norm; default 0: none
	EMA            *optim.EMA        `yaml:"ema,omitempty"`             // average of the weights that is evaluated; default none
	ComputeThreads Threads           `yaml:"compute_threads"`           // of a step: a number, or auto (default), one a core
}

// RateSpec is the learning rate over time.
type RateSpec struct {
	Schedule string    `yaml:"schedule"`          // constant, linear, cosine, step or exponential; default constant
	Start    float64   `yaml:"start"`             // rate at the start, after the warm-up; default 0.1
	End      float64   `yaml:"end,omitempty"`     // rate at the horizon (linear, cosine, exponential); default 0, for exponential start/100
	Horizon  Span      `yaml:"horizon,omitempty"` // default: the budget of the run
	Warmup   Span      `yaml:"warmup,omitempty"`  // linear rise from 0 before it; default none
	At       []float64 `yaml:"at,flow"`           // step: shares of the horizon at which the rate falls; default 0.5, 0.75
	Factor   float64   `yaml:"factor,omitempty"`  // step: what it is multiplied by there; default 0.1
}

// Stop says when a run ends: at the target or at the first limit.
type Stop struct {
	Target    Target  `yaml:"target,omitempty"` // e.g. val_error<=0.09
	MaxFresh  int64   `yaml:"max_fresh,omitempty"`
	MaxSteps  int64   `yaml:"max_steps,omitempty"`
	MaxEpochs float64 `yaml:"max_epochs,omitempty"`
}

// EvaluateSpec says when the validation data is gone through.
type EvaluateSpec struct {
	Every Span `yaml:"every,omitempty"` // default 1 epoch, for a source without end 10,000 fresh
	Batch int  `yaml:"batch"`           // rows; default 250
}

// LogSpec says how often a line of training is logged.
type LogSpec struct {
	Every    Span          `yaml:"every"`    // default 50 steps
	Progress time.Duration `yaml:"progress"` // between lines of progress where there is no terminal; default 10s
}

// CheckpointSpec says how often what a run needs to be resumed is kept. It
// decides nothing of its outcome.
type CheckpointSpec struct {
	Every Span `yaml:"every"` // default 500 steps
	Keep  int  `yaml:"keep"`  // latest checkpoints that are kept; 0 makes none; default 2
}
