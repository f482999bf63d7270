package experiments

import (
	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/data/augment"
	"github.com/reprise-ml/reprise/models"
	"github.com/reprise-ml/reprise/nn"
	"github.com/reprise-ml/reprise/optim"
	"github.com/reprise-ml/reprise/train"
)

// Registry knows what a Spec may name. Each entry makes a pointer to a struct
// whose fields are its settings in YAML; add your own to a [DefaultRegistry].
type Registry struct {
	Sources       map[string]func() Source
	Augmentations map[string]func() data.Augmentation
	Models        map[string]func() Model
	Optimizers    map[string]func() Optimizer
}

// Optimizer is an optimizer with settings that can be checked, and a state
// that a checkpoint keeps.
type Optimizer interface {
	train.Optimizer
	Check() error
	State() []optim.Vector
	SetState(state []optim.Vector) error
}

// Model is a model with its settings, before it is known what the data is
// like. Build returns an error where the model is not for such data.
type Model interface {
	Build(of Shape) (nn.Model, error)
}

// Benched is a Model that says what data and which optimizer its step is
// measured with, where that is not pictures of 32 × 32 in 10 classes and SGD
// with Nesterov momentum 0.9 and weight decay 1e-4. A nil Optimizer means that
// one.
type Benched interface {
	Bench() (Shape, Optimizer)
}

// DefaultRegistry returns what the command line knows.
func DefaultRegistry() Registry {
	return Registry{
		Sources: map[string]func() Source{
			"synth":  func() Source { return new(Synth) },
			"folder": func() Source { return new(Folder) },
			"shards": func() Source { return new(Shards) },
			"cifar":  func() Source { return new(Cifar) },
			"idx":    func() Source { return new(Idx) },
			"text":   func() Source { return newText() },
		},
		Augmentations: map[string]func() data.Augmentation{
			"pad_crop":            func() data.Augmentation { return new(augment.PadCrop) },
			"random_resized_crop": func() data.Augmentation { return new(augment.RandomResizedCrop) },
			"flip":                func() data.Augmentation { return new(augment.Flip) },
			"color_jitter":        func() data.Augmentation { return new(augment.ColorJitter) },
			"cutout":              func() data.Augmentation { return new(augment.Cutout) },
			"random_erasing":      func() data.Augmentation { return new(augment.RandomErasing) },
			"rand_augment":        func() data.Augmentation { return new(augment.RandAugment) },
			"trivial_augment":     func() data.Augmentation { return new(augment.TrivialAugment) },
			"resize":              func() data.Augmentation { return new(augment.Resize) },
			"center_crop":         func() data.Augmentation { return new(augment.CenterCrop) },
		},
		Models: map[string]func() Model{
			"mlp":          func() Model { return new(MLP) },
			"resnet_cifar": func() Model { return new(ResNetCIFAR) },
			"resnet":       func() Model { return new(ResNet) },
			"transformer":  func() Model { return newTransformer() },
			"vit":          func() Model { return newViT() },
		},
		Optimizers: map[string]func() Optimizer{
			"sgd":   func() Optimizer { return new(optim.SGD) },
			"adam":  func() Optimizer { return new(optim.Adam) },
			"adamw": func() Optimizer { return new(optim.AdamW) },
		},
	}
}

// MLP is models.MLP in a Spec.
type MLP struct {
	Hidden []int `yaml:"hidden,flow"` // units of each hidden layer
}

// Build implements [Model].
func (m *MLP) Build(of Shape) (nn.Model, error) {
	if err := of.wantPictures(); err != nil {
		return nil, err
	}
	return models.MLP(m.Hidden, of.Classes), nil
}

// ResNetCIFAR is models.ResNetCIFAR in a Spec.
type ResNetCIFAR struct {
	Depth int `yaml:"depth"` // 6n+2, from 8 to 110
}

// Build implements [Model].
func (m *ResNetCIFAR) Build(of Shape) (nn.Model, error) {
	if err := of.wantPictures(); err != nil {
		return nil, err
	}
	return models.ResNetCIFAR(m.Depth, of.Classes)
}

// ResNet is models.ResNet in a Spec.
type ResNet struct {
	Depth int `yaml:"depth"` // 18, 34 or 50
}

// Build implements [Model].
func (m *ResNet) Build(of Shape) (nn.Model, error) {
	if err := of.wantPictures(); err != nil {
		return nil, err
	}
	return models.ResNet(m.Depth, of.Classes)
}

// Bench implements [Benched]: pictures like those of ImageNet.
func (m *ResNet) Bench() (Shape, Optimizer) { return Shape{Size: 224, Classes: 1000}, nil }
