package models

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/reprise-ml/reprise/nn"
)

// ResNetCIFAR is the residual network for small images of He et al. (2015), section 4.2: images
// [rows, 32, 32, 3] to logits [rows, classes]. The depth counts layers with weights: 6n + 2, from 8
// to 110; anything else is an error. Shortcuts have no weights (option A).
//
// ResNet-20 has 269,722 parameters for 10 classes, of which 0.27M is the figure of the paper.
// Names are as in torchvision: conv1, bn1, layer1.0.conv1, …, layer3.2.bn2, fc.
func ResNetCIFAR(depth, classes int) (nn.Model, error) {
	if depth < 8 || depth > 110 || (depth-2)%6 != 0 {
		return nil, fmt.Errorf("models: a ResNet for CIFAR has depth 6n+2 from 8 to 110 (8, 14, 20, …, 110), not %d", depth)
	}
	if classes < 1 {
		return nil, fmt.Errorf("models: a ResNet for %d classes", classes)
	}
	return nn.Single(resNetCIFAR{Blocks: (depth - 2) / 6, Classes: classes}), nil
}

type resNetCIFAR struct {
	Blocks  int // in each of three stages
	Classes int
}

// Apply implements [nn.Layer].
func (m resNetCIFAR) Apply(s *nn.Scope, x *gorgonia.Node) *gorgonia.Node {
	x = s.Apply("conv1", conv3x3(16, 1), x)
	x = s.Apply("bn1", nn.BatchNorm{ReLU: true}, x)
	for stage, width := range []int{16, 32, 64} {
		for block := range m.Blocks {
			stride := 1
			if stage > 0 && block == 0 {
				stride = 2
			}
			name := fmt.Sprintf("layer%d.%d", stage+1, block)
			x = s.Apply(name, basicBlock{width, stride}, x)
		}
	}
	x = s.Apply("avgpool", nn.GlobalAvgPool{}, x)
	return s.Apply("fc", nn.Linear{Out: m.Classes}, x)
}

// basicBlock is two 3×3 convolutions beside a shortcut.
type basicBlock struct{ Width, Stride int }

// Apply implements [nn.Layer].
func (b basicBlock) Apply(s *nn.Scope, x *gorgonia.Node) *gorgonia.Node {
	y := s.Apply("conv1", conv3x3(b.Width, b.Stride), x)
	y = s.Apply("bn1", nn.BatchNorm{ReLU: true}, y)
	y = s.Apply("conv2", conv3x3(b.Width, 1), y)
	x = s.Apply("shortcut", nn.Shortcut{Out: b.Width, Stride: b.Stride}, x)
	return s.Apply("bn2", nn.BatchNorm{ReLU: true}.Plus(x), y)
}

func conv3x3(width, stride int) nn.Conv {
	return nn.Conv{Out: width, Kernel: 3, Stride: stride, Pad: 1, Init: nn.He{FanOut: true}}
}
