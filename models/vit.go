package models

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"strings"

	"gorgonia.org/gorgonia"

	"github.com/reprise-ml/reprise/nn"
)

// ViT is the vision transformer of Dosovitskiy et al. (2020): images [rows, height, width, channels], whose sides Patch divides, to logits [rows, Classes]. The image
// is cut into patches; each becomes a token by a linear layer, gets a learned position, and goes through blocks with normalisation before each part. The number of
// positions is that of the images a graph is first built for.
//
// Names, shapes and first values are those of torchvision's VisionTransformer (0.13 and later): conv_proj, class_token, encoder.pos_embedding,
// encoder.layers.encoder_layer_0.ln_1, .self_attention.in_proj_weight, .self_attention.out_proj, .ln_2, .mlp.0, .mlp.3, encoder.ln, heads.head. Weights load also by
// torchvision's older names, .mlp.linear_1 and .mlp.linear_2, and by those of timm: patch_embed.proj, cls_token, pos_embed, blocks.0.norm1, .attn.qkv, …, norm, head. The weight of
// head begins as 0, as there.
type ViT struct {
	Layers      int
	Width       int
	Heads       int // divides Width
	FeedForward int // width within a block; 0 means 4·Width
	Patch       int // side of a patch in pixels
	Classes     int
	Pool        string  // what the logits are made of: class, the default, a token of its own; or mean, of all tokens
	Dropout     float64 // rate where torchvision's has one: of embeddings, of what attention adds, after GELU and after mlp.3
}

// ViTOf returns the vision transformer of a size, for images of 224 × 224 pixels in patches of 16: tiny (width 192), small (384) or base (768), all of 12
// layers with heads of 64. The base has 86,567,656 parameters for 1000 classes.
func ViTOf(size string, classes int) (ViT, error) {
	widths := map[string]int{"tiny": 192, "small": 384, "base": 768}
	w := widths[size]
	if w == 0 {
		return ViT{}, fmt.Errorf("models: a vision transformer of size %q, want tiny, small or base", size)
	}
	return ViT{Layers: 12, Width: w, Heads: w / 64, Patch: 16, Classes: classes}, nil
}

// Check says what is wrong with the fields.
func (v ViT) Check() error {
	for _, f := range []struct {
		name  string
		value int
	}{{"layers", v.Layers}, {"width", v.Width}, {"heads", v.Heads}, {"patch", v.Patch}, {"classes", v.Classes}, {"feed_forward", v.feedForward()}} {
		if f.value < 1 {
			return fmt.Errorf("models: a vision transformer with %s %d, want at least 1", f.name, f.value)
		}
	}
	if v.Width%v.Heads != 0 {
		return fmt.Errorf("models: a vision transformer of width %d does not divide into %d heads", v.Width, v.Heads)
	}
	if v.Pool != "" && v.Pool != "class" && v.Pool != "mean" {
		return fmt.Errorf("models: a vision transformer with pool %q, want class or mean", v.Pool)
	}
	if !(v.Dropout >= 0 && v.Dropout < 1) {
		return fmt.Errorf("models: a vision transformer with dropout %v, want 0 ≤ dropout < 1", v.Dropout)
	}
	return nil
}

func (v ViT) feedForward() int { return cmp.Or(v.FeedForward, 4*v.Width) }

// Model returns the model, or the error of Check.
func (v ViT) Model() (nn.Model, error) {
	if err := v.Check(); err != nil {
		return nil, err
	}
	return nn.Single(vit{v}), nil
}

type vit struct{ ViT }

// vitNorm is the normalisation of every vision transformer.
var vitNorm = nn.LayerNorm{Epsilon: 1e-6}

// Apply implements [nn.Layer].
func (m vit) Apply(s *nn.Scope, x *gorgonia.Node) *gorgonia.Node {
	shape := x.Shape()
	if len(shape) != 4 || shape[1]%m.Patch != 0 || shape[2]%m.Patch != 0 {
		s.Fail(fmt.Errorf("the input has shape %v, want [rows, height, width, channels] in patches of %d", shape, m.Patch))
		return x
	}
	s.Alias(vitName)
	fan := float64(m.Patch * m.Patch * shape[3])
	x = s.Apply("conv_proj", nn.Conv{Out: m.Width, Kernel: m.Patch, Stride: m.Patch, Bias: true, Init: nn.Normal{Deviation: math.Sqrt(1 / fan)}}, x)
	if m.Pool == "mean" {
		x = s.Apply("tokens", nn.Tokens{}, x)
	} else {
		x = s.Apply("", nn.ClassToken{}, x)
	}
	x = s.Apply("encoder", nn.ImagePositions{}, x)
	x = s.Apply("encoder.dropout", nn.Dropout{Rate: m.Dropout}, x)
	for i := range m.Layers {
		x = s.Apply(fmt.Sprintf("encoder.layers.encoder_layer_%d", i), vitBlock(m), x)
	}
	x = s.Apply("encoder.ln", vitNorm, x)
	if m.Pool == "mean" {
		x = s.Apply("pool", nn.GlobalAvgPool{}, x)
	} else {
		x = s.Apply("pool", nn.FirstToken{}, x)
	}
	return s.Apply("heads.head", nn.Linear{Out: m.Classes, Init: nn.Zeros, BiasInit: nn.Zeros}, x)
}

type vitBlock struct{ ViT }

// Apply implements [nn.Layer].
func (b vitBlock) Apply(s *nn.Scope, x *gorgonia.Node) *gorgonia.Node {
	y := s.Apply("ln_1", vitNorm, x)
	y = s.Apply("self_attention", nn.MultiHeadAttention{Heads: b.Heads}, y)
	x = s.Add(s.Apply("dropout", nn.Dropout{Rate: b.Dropout}, y), x)
	y = s.Apply("ln_2", vitNorm, x)
	tiny := nn.Normal{Deviation: 1e-6}
	y = s.Apply("mlp.0", nn.Linear{Out: b.feedForward(), Init: nn.Glorot{}, BiasInit: tiny}, y)
	down := nn.Linear{Out: b.Width, Init: nn.Glorot{}, BiasInit: tiny, GELU: b.Dropout == 0}
	if !down.GELU {
		y = s.Apply("mlp.2", nn.Dropout{Rate: b.Dropout}, s.Apply("mlp.1", nn.GELU{}, y))
	}
	y = s.Apply("mlp.4", nn.Dropout{Rate: b.Dropout}, s.Apply("mlp.3", down, y))
	return s.Add(y, x)
}

// vitName is the name here of a weight of timm's vision transformer or of an older torchvision's.
func vitName(name string) string {
	block := regexp.MustCompile(`^blocks\.(\d+)\.(.*)$`)
	if parts := block.FindStringSubmatch(name); parts != nil {
		inner := strings.NewReplacer("norm1.", "ln_1.", "norm2.", "ln_2.", "attn.qkv.", "self_attention.in_proj_", "attn.proj.", "self_attention.out_proj.",
			"mlp.fc1.", "mlp.0.", "mlp.fc2.", "mlp.3.").Replace(parts[2])
		return "encoder.layers.encoder_layer_" + parts[1] + "." + inner
	}
	for _, a := range [][2]string{{"patch_embed.proj.", "conv_proj."}, {"cls_token", "class_token"}, {"pos_embed", "encoder.pos_embedding"}, {"norm.", "encoder.ln."}, {"head.", "heads.head."}} {
		if rest, ok := strings.CutPrefix(name, a[0]); ok {
			return a[1] + rest
		}
	}
	return strings.NewReplacer(".mlp.linear_1.", ".mlp.0.", ".mlp.linear_2.", ".mlp.3.").Replace(name)
}
