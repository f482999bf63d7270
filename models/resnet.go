package models

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/reprise-ml/reprise/nn"
)

// ResNet is the residual network of He et al. (2015), section 4.1: images [rows, height, width, 3],
// made for 224 × 224 pixels and at least 32, to logits [rows, classes]. The depth is 18, 34 or 50;
// anything else is an error. As in torchvision, the stride of a bottleneck is on its 3×3 convolution,
// and a shortcut that changes its shape is a 1×1 convolution with a normalisation.
//
// For 1000 classes there are 11,689,512, 21,797,672 and 25,557,032 parameters. Names and shapes are
// torchvision's: conv1, bn1, layer1.0.conv1, …, layer2.0.downsample.0, layer2.0.downsample.1, …, fc.
// Weights begin as there: convolutions by He's rule over outputs, fc as every [nn.Linear].
func ResNet(depth, classes int) (nn.Model, error) {
	m := resNetImageNet{Classes: classes}
	switch depth {
	case 18:
		m.Blocks = [4]int{2, 2, 2, 2}
	case 34:
		m.Blocks = [4]int{3, 4, 6, 3}
	case 50:
		m.Blocks, m.Bottleneck = [4]int{3, 4, 6, 3}, true
	default:
		return nil, fmt.Errorf("models: a ResNet has depth 18, 34 or 50, not %d", depth)
	}
	if classes < 1 {
		return nil, fmt.Errorf("models: a ResNet for %d classes", classes)
	}
	return nn.Single(m), nil
}

type resNetImageNet struct {
	Blocks     [4]int // in each stage
	Bottleneck bool
	Classes    int
}

// Apply implements [nn.Layer].
func (m resNetImageNet) Apply(s *nn.Scope, x *gorgonia.Node) *gorgonia.Node {
	x = s.Apply("conv1", convolution(64, 7, 2), x)
	x = s.Apply("bn1", nn.BatchNorm{ReLU: true}, x)
	x = s.Apply("maxpool", nn.MaxPool{Kernel: 3, Stride: 2, Pad: 1}, x)
	for stage, width := range []int{64, 128, 256, 512} {
		for block := range m.Blocks[stage] {
			stride := 1
			if stage > 0 && block == 0 {
				stride = 2
			}
			var layer nn.Layer = plainBlock{width, stride}
			if m.Bottleneck {
				layer = bottleneck{width, stride}
			}
			x = s.Apply(fmt.Sprintf("layer%d.%d", stage+1, block), layer, x)
		}
	}
	x = s.Apply("avgpool", nn.GlobalAvgPool{}, x)
	return s.Apply("fc", nn.Linear{Out: m.Classes}, x)
}

// plainBlock is two 3×3 convolutions beside a shortcut that may have weights.
type plainBlock struct{ Width, Stride int }

// Apply implements [nn.Layer].
func (b plainBlock) Apply(s *nn.Scope, x *gorgonia.Node) *gorgonia.Node {
	y := s.Apply("conv1", convolution(b.Width, 3, b.Stride), x)
	y = s.Apply("bn1", nn.BatchNorm{ReLU: true}, y)
	y = s.Apply("conv2", convolution(b.Width, 3, 1), y)
	x = s.Apply("", downsample{b.Width, b.Stride}, x)
	return s.Apply("bn2", nn.BatchNorm{ReLU: true}.Plus(x), y)
}

// bottleneck is a 3×3 convolution of Width channels between two of 1×1, the last of which has four
// times as many, beside a shortcut that may have weights.
type bottleneck struct{ Width, Stride int }

// Apply implements [nn.Layer].
func (b bottleneck) Apply(s *nn.Scope, x *gorgonia.Node) *gorgonia.Node {
	y := s.Apply("conv1", convolution(b.Width, 1, 1), x)
	y = s.Apply("bn1", nn.BatchNorm{ReLU: true}, y)
	y = s.Apply("conv2", convolution(b.Width, 3, b.Stride), y)
	y = s.Apply("bn2", nn.BatchNorm{ReLU: true}, y)
	y = s.Apply("conv3", convolution(4*b.Width, 1, 1), y)
	x = s.Apply("", downsample{4 * b.Width, b.Stride}, x)
	return s.Apply("bn3", nn.BatchNorm{ReLU: true}.Plus(x), y)
}

// downsample brings a shortcut to the shape of the other branch: it is x itself where x has that
// shape, else a normalised 1×1 convolution.
type downsample struct{ Out, Stride int }

// Apply implements [nn.Layer].
func (d downsample) Apply(s *nn.Scope, x *gorgonia.Node) *gorgonia.Node {
	if d.Stride == 1 && x.Shape()[3] == d.Out {
		return x
	}
	return s.Apply("downsample", nn.Sequential{convolution(d.Out, 1, d.Stride), nn.BatchNorm{}}, x)
}

// convolution keeps the size of an image at stride 1; the kernel has an odd width.
func convolution(out, kernel, stride int) nn.Conv {
	return nn.Conv{Out: out, Kernel: kernel, Stride: stride, Pad: kernel / 2, Init: nn.He{FanOut: true}}
}
