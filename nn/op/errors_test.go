package op_test

import (
	"fmt"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/reprise-ml/reprise/nn/op"
)

func TestConstructorsNameExpectedAndFoundShapes(t *testing.T) {
	g := gorgonia.NewGraph()
	n := func(shape ...int) *gorgonia.Node {
		return gorgonia.NewTensor(g, tensor.Float32, len(shape), gorgonia.WithShape(shape...), gorgonia.WithName(fmt.Sprint(shape)))
	}
	ints := gorgonia.NewTensor(g, tensor.Int32, 1, gorgonia.WithShape(2), gorgonia.WithName("ints"))
	foreign := gorgonia.NewTensor(gorgonia.NewGraph(), tensor.Float32, 2, gorgonia.WithShape(2, 3), gorgonia.WithName("foreign"))
	image, rows := n(2, 8, 8, 3), n(2, 3)
	conv := func(w *gorgonia.Node, c op.ConvConfig) error { _, err := op.Conv(nil, image, w, c); return err }
	norm := func(x, gamma *gorgonia.Node, st *op.Statistics, c op.BatchNormConfig) error {
		_, err := op.BatchNorm(nil, x, gamma, n(3), st, c)
		return err
	}
	loss := func(target, weights *gorgonia.Node, smoothing float32) error {
		_, err := op.SoftmaxCrossEntropy(nil, rows, target, weights, smoothing)
		return err
	}
	second := func(_ *gorgonia.Node, err error) error { return err }
	for _, c := range []struct {
		err  error
		want string
	}{
		{second(op.Conv(nil, rows, n(3, 3, 3, 4), op.ConvConfig{})), "op: conv: x has shape (2, 3), want (any, any, any, any)"},
		{conv(n(3, 3, 4, 5), op.ConvConfig{}), "op: conv: w has shape (3, 3, 4, 5), want (any, any, 3, any)"},
		{conv(nil, op.ConvConfig{}), "op: conv: w is nil"},
		{conv(n(9, 3, 3, 5), op.ConvConfig{}), "a 9x3 kernel does not fit into a 8x8 image padded by 0"},
		{conv(n(3, 3, 3, 5), op.ConvConfig{Stride: -1}), "stride -1, want at least 1"},
		{conv(n(3, 3, 3, 5), op.ConvConfig{Groups: 3}), "op: conv: w has shape (3, 3, 3, 5), want (any, any, 1, any)"},
		{conv(n(3, 3, 1, 5), op.ConvConfig{Groups: 3}), "3 to 5 channels cannot have 3 groups"},
		{conv(n(3, 3, 3, 5), op.ConvConfig{Groups: 2}), "op: conv: 2 groups do not divide 3 channels of x"},
		{conv(n(3, 3, 3, 5), op.ConvConfig{Groups: -1}), "op: conv: -1 groups do not divide 3 channels of x"},
		{conv(n(3, 3, 3, 5), op.ConvConfig{Pad: -1}), "padding -1, want at least 0"},
		{second(op.Linear(nil, rows, n(4, 5), nil)), "op: linear: w has shape (4, 5), want (any, 3)"},
		{second(op.Linear(nil, rows, n(4, 3), n(3))), "op: linear: b has shape (3), want (4)"},
		{second(op.Linear(nil, image, n(4, 8), nil)), "op: linear: w has shape (4, 8), want (any, 3)"},
		{second(op.Linear(nil, rows, foreign, nil)), "belong to different graphs"},
		{norm(n(2, 3, 4), n(3), op.NewStatistics(3), op.BatchNormConfig{}), "op: batchNorm: x has shape (2, 3, 4), want (N, C) or (N, H, W, C)"},
		{second(op.BatchNormReLU(nil, rows, n(2), n(3), op.NewStatistics(3), op.BatchNormConfig{})), "op: batchNormReLU: gamma has shape (2), want (3)"},
		{second(op.BatchNormAddReLU(nil, rows, n(3, 3), n(3), n(3), op.NewStatistics(3), op.BatchNormConfig{})), "op: batchNormAddReLU: skip has shape (3, 3), want (2, 3)"},
		{norm(rows, n(2), op.NewStatistics(3), op.BatchNormConfig{}), "op: batchNorm: gamma has shape (2), want (3)"},
		{norm(rows, n(3), op.NewStatistics(2), op.BatchNormConfig{}), "running statistics do not have 3 channels"},
		{norm(rows, n(3), nil, op.BatchNormConfig{}), "running statistics do not have 3 channels"},
		{norm(rows, n(3), op.NewStatistics(3), op.BatchNormConfig{Train: true, Ghost: 4}), "ghost batches of 4 rows do not divide a batch of 2"},
		{norm(rows, n(3), op.NewStatistics(3), op.BatchNormConfig{Train: true, Ghost: 1}), "training needs more than one value a channel"},
		{norm(rows, n(3), op.NewStatistics(3), op.BatchNormConfig{Momentum: 2}), "momentum 2"},
		{second(op.ReLU(nil, nil)), "op: relu: x has shape ()"},
		{second(op.ReLU(nil, ints)), "op: relu: x has type int32, want float32"},
		{second(op.Add(nil, image, rows)), "op: add: b has shape (2, 3), want (2, 8, 8, 3)"},
		{second(op.Bias(nil, image, n(2))), "op: bias: b has shape (2), want (3)"},
		{second(op.GlobalAvgPool(nil, rows)), "op: globalAvgPool: x has shape (2, 3), want (N, H, W, C) or (N, T, C)"},
		{second(op.MaxPool(nil, image, op.PoolConfig{})), "op: maxPool: kernel 0"},
		{second(op.MaxPool(nil, image, op.PoolConfig{Kernel: 3, Pad: 2})), "padding of at most half the kernel"},
		{second(op.MaxPool(nil, image, op.PoolConfig{Kernel: 9})), "op: maxPool: x has shape (2, 8, 8, 3), want at least 9 by 9 pixels"},
		{second(op.Shortcut(nil, image, 2, 2)), "at least 3 channels"},
		{second(op.Shortcut(nil, image, 0, 3)), "stride of at least 1"},
		{second(op.Flatten(nil, nil)), "op: flatten: x has shape ()"},
		{second(op.LayerNorm(nil, rows, n(2), n(3), 1)), "op: layerNorm: gamma has shape (2), want (3)"},
		{second(op.LayerNorm(nil, rows, n(3), n(4), 1)), "op: layerNorm: beta has shape (4), want (3)"},
		{second(op.LayerNorm(nil, rows, n(3), n(3), 0)), "op: layerNorm: epsilon 0"},
		{second(op.GELU(nil, ints)), "op: gelu: x has type int32, want float32"},
		{second(op.Embedding(nil, rows, rows)), "op: embedding: ids is float32 (2, 3), want int32"},
		{second(op.Embedding(nil, image, ints)), "op: embedding: table has shape (2, 8, 8, 3), want (any, any)"},
		{second(op.Position(nil, rows, rows, nil)), "op: position: x has shape (2, 3), want (any, any, any)"},
		{second(op.Position(nil, n(2, 5, 3), n(4, 3), nil)), "op: position: the table has 4 rows for 5 positions"},
		{second(op.Position(nil, n(2, 5, 3), n(2, 5, 3), nil)), "op: position: table has shape (2, 5, 3), want (1, any, 3)"},
		{second(op.ClassToken(nil, rows, n(3))), "op: classToken: x has shape (2, 3), want at least three dimensions"},
		{second(op.ClassToken(nil, image, n(2))), "op: classToken: token has shape (2), want 3 floats"},
		{second(op.FirstToken(nil, rows)), "op: firstToken: x has shape (2, 3), want (any, any, any)"},
		{second(op.Tokens(nil, rows)), "op: tokens: x has shape (2, 3), want at least three dimensions"},
		{second(op.Attention(nil, n(2, 5, 12), 3, true)), "op: attention: qkv has shape (2, 5, 12), want a multiple of 3·3 floats for 3 heads"},
		{second(op.Attention(nil, rows, 1, true)), "op: attention: qkv has shape (2, 3), want (any, any, any)"},
		{second(op.CachedAttention(nil, n(2, 2, 12), 2, 4, new(int))), "for a context of 4, want one position"},
		{second(op.SoftmaxCrossEntropy(nil, image, ints, rows, 0)), "op: softmaxCrossEntropy: logits has shape (2, 8, 8, 3), want (N, K) or (N, T, K)"},
		{second(op.SoftmaxCrossEntropy(nil, n(2, 5, 3), ints, rows, 0)), "op: softmaxCrossEntropy: target is int32 (2), want int32 (2, 5) or float32 (2, 5, 3)"},
		{second(op.SoftmaxCrossEntropy(nil, n(2, 5, 3), n(2, 5, 3), rows, 0)), "op: softmaxCrossEntropy: weights has shape (2, 3), want (2, 5)"},
		{second(op.Dropout(nil, rows, 1, 1, &op.Ticker{})), "op: dropout: rate 1, want 0 ≤ rate < 1"},
		{second(op.Dropout(nil, rows, 0.5, 1, nil)), "op: dropout: no ticker"},
		{loss(n(2), n(2), 0), "op: softmaxCrossEntropy: target is float32 (2), want int32 (2) or float32 (2, 3)"},
		{loss(nil, n(2), 0), "target is nil"},
		{loss(ints, n(3), 0), "op: softmaxCrossEntropy: weights has shape (3), want (2)"},
		{loss(ints, n(2), 1.5), "label smoothing 1.5, want 0 to 1"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("error %v, want %q", c.err, c.want)
		}
	}
}
