package experiments

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/reprise-ml/reprise/models"
	"github.com/reprise-ml/reprise/nn"
	"github.com/reprise-ml/reprise/optim"
)

// Transformer is models.Transformer in a Spec: a language model.
type Transformer struct {
	Layers      int     `yaml:"layers"`            // default 4
	Width       int     `yaml:"width"`             // default 256
	Heads       int     `yaml:"heads"`             // default 4
	FeedForward int     `yaml:"feed_forward"`      // units of the hidden layer of a block; default 4 times the width
	Context     int     `yaml:"context,omitempty"` // most tokens it looks at; default that of the data, and not less
	Vocab       int     `yaml:"vocab,omitempty"`   // default that of the data, and no other
	Norm        string  `yaml:"norm"`              // pre (default) or post: before a block's parts, or after
	Positions   string  `yaml:"positions"`         // learned (default) or sinusoidal
	Activation  string  `yaml:"activation"`        // gelu (default) or relu
	Dropout     float64 `yaml:"dropout"`           // 0 up to 1; default 0
	Tied        bool    `yaml:"tied"`              // the output layer has the weights of the embedding; default false
}

func newTransformer() *Transformer {
	return &Transformer{Layers: 4, Width: 256, Heads: 4, Norm: "pre", Positions: "learned", Activation: "gelu"}
}

// Build implements [Model].
func (m *Transformer) Build(of Shape) (nn.Model, error) {
	t, err := m.model(of)
	if err != nil {
		return nil, err
	}
	return t.Model()
}

// model is m for such data.
func (m *Transformer) model(of Shape) (t models.Transformer, err error) {
	if err := of.wantText(); err != nil {
		return t, err
	}
	if m.Vocab != 0 && m.Vocab != of.Classes {
		return t, fmt.Errorf("vocab: is %d, and the vocabulary of the data has %d tokens", m.Vocab, of.Classes)
	}
	if m.Context != 0 && m.Context < of.Context {
		return t, fmt.Errorf("context: is %d, less than the %d tokens of an example of the data", m.Context, of.Context)
	}
	t = models.Transformer{
		Layers: m.Layers, Width: m.Width, Heads: m.Heads, FeedForward: m.FeedForward,
		Context: cmp.Or(m.Context, of.Context), Vocabulary: of.Classes,
		Norm: m.Norm, Positions: m.Positions, Activation: m.Activation, Dropout: m.Dropout, Tied: m.Tied,
	}
	return t, t.Check()
}

// Generator implements [Speaker].
func (m *Transformer) Generator(of Shape, p *nn.Params, c nn.Config) (*models.Generator, error) {
	t, err := m.model(of)
	if err != nil {
		return nil, err
	}
	return t.Generator(p, 1, c)
}

// Bench implements [Benched]: rows of the context, 128 where it is not set, of
// 8192 tokens where vocab is not, and AdamW at 1e-3.
func (m *Transformer) Bench() (Shape, Optimizer) {
	return Shape{Classes: cmp.Or(m.Vocab, 8192), Context: cmp.Or(m.Context, 128)}, benchAdamW()
}

// ViT is models.ViT in a Spec: a vision transformer, of a size that has a name
// or of these layers, width and heads.
type ViT struct {
	Size        string  `yaml:"size,omitempty"`         // tiny, small or base
	Layers      int     `yaml:"layers,omitempty"`       // 12 of every size
	Width       int     `yaml:"width,omitempty"`        // 192, 384 or 768
	Heads       int     `yaml:"heads,omitempty"`        // 3, 6 or 12
	FeedForward int     `yaml:"feed_forward,omitempty"` // units of the hidden layer of a block; default 4 times the width
	Patch       int     `yaml:"patch"`                  // pixels; default 16
	Pool        string  `yaml:"pool"`                   // class (default): a token of its own; or mean, of all
	Dropout     float64 `yaml:"dropout"`                // 0 up to 1; default 0
}

func newViT() *ViT { return &ViT{Patch: 16, Pool: "class"} }

// Build implements [Model].
func (m *ViT) Build(of Shape) (nn.Model, error) {
	if err := of.wantPictures(); err != nil {
		return nil, err
	}
	v, err := m.model(of)
	if err != nil {
		return nil, err
	}
	if of.Size%v.Patch != 0 {
		return nil, fmt.Errorf("patch: is %d, which does not divide the pictures of %d pixels", v.Patch, of.Size)
	}
	return v.Model()
}

func (m *ViT) model(of Shape) (v models.ViT, err error) {
	switch explicit := m.Layers != 0 || m.Width != 0 || m.Heads != 0; {
	case m.Size != "" && explicit:
		return v, fmt.Errorf("size: is %s, which sets layers, width and heads; want either", m.Size)
	case m.Size != "":
		if v, err = models.ViTOf(m.Size, of.Classes); err != nil {
			return v, fmt.Errorf("size: is %q%s", m.Size, suggest(m.Size, []string{"tiny", "small", "base"}))
		}
	case !explicit:
		return v, errors.New("size: is missing; want tiny, small or base, or layers, width and heads")
	default:
		v = models.ViT{Layers: m.Layers, Width: m.Width, Heads: m.Heads, Classes: of.Classes}
	}
	v.FeedForward, v.Patch, v.Pool, v.Dropout = m.FeedForward, m.Patch, m.Pool, m.Dropout
	return v, v.Check()
}

// Bench implements [Benched]: pictures like those of ImageNet, or for small
// patches like those of CIFAR-10, and AdamW at 1e-3.
func (m *ViT) Bench() (Shape, Optimizer) {
	of := Shape{Size: 224, Classes: 1000}
	if m.Patch <= 8 {
		of = Shape{Size: 32, Classes: 10}
	}
	return of, benchAdamW()
}

// benchAdamW has PyTorch's defaults; its rate is 1e-3 where no schedule sets
// another.
func benchAdamW() Optimizer { return &optim.AdamW{WeightDecay: 0.01} }
