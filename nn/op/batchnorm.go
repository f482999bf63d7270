package op

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/reprise-ml/reprise/internal/kernel"
)

// Statistics are the running statistics of a batch normalisation, shared by the training and the
// evaluation graph.
type Statistics struct {
	Mean, Var []float32 // [channels]
}

// NewStatistics starts with mean 0 and variance 1.
func NewStatistics(channels int) *Statistics {
	s := &Statistics{make([]float32, channels), make([]float32, channels)}
	for i := range s.Var {
		s.Var[i] = 1
	}
	return s
}

// BatchNormConfig says how a batch is normalised.
type BatchNormConfig struct {
	Train    bool    // normalise by the batch's own statistics; otherwise by the running ones
	Momentum float32 // weight of a batch in the running statistics; 0 means 0.1
	Epsilon  float32 // added to the variance; 0 means 1e-5
	Ghost    int     // rows that are normalised together, a divisor of the batch size; 0 means the whole batch
}

// BatchNorm normalises every channel of x, [N, H, W, C] or [N, C], to gamma·x̂ + beta, both [C].
//
// In training the statistics are those of the batch, or of every Ghost rows of it. Commit then moves
// the running statistics towards the batch's by Momentum, the variance in its unbiased form as in PyTorch; with ghost
// batches it moves once, towards their average. A run alone changes nothing in st, so a step that diverged leaves no
// trace. In evaluation the running statistics are read at every run.
func BatchNorm(p *Pool, x, gamma, beta *gorgonia.Node, st *Statistics, c BatchNormConfig) (*gorgonia.Node, error) {
	return newBatchNorm(p, normPlain, x, nil, gamma, beta, st, c)
}

// BatchNormReLU is the ReLU of BatchNorm, in one pass over x.
func BatchNormReLU(p *Pool, x, gamma, beta *gorgonia.Node, st *Statistics, c BatchNormConfig) (*gorgonia.Node, error) {
	return newBatchNorm(p, normReLU, x, nil, gamma, beta, st, c)
}

// BatchNormAddReLU is the ReLU of BatchNorm plus skip, a tensor of the shape of x, in one pass over both: the end of a
// residual block.
func BatchNormAddReLU(p *Pool, x, skip, gamma, beta *gorgonia.Node, st *Statistics, c BatchNormConfig) (*gorgonia.Node, error) {
	return newBatchNorm(p, normAddReLU, x, skip, gamma, beta, st, c)
}

// normForm is what a batch normalisation does besides.
type normForm int

const (
	normPlain normForm = iota
	normReLU
	normAddReLU
)

func (f normForm) String() string {
	return [...]string{"batchNorm", "batchNormReLU", "batchNormAddReLU"}[f]
}

func newBatchNorm(p *Pool, form normForm, x, skip, gamma, beta *gorgonia.Node, st *Statistics, c BatchNormConfig) (*gorgonia.Node, error) {
	if x == nil || (x.Dims() != 2 && x.Dims() != 4) {
		return nil, fmt.Errorf("op: %v: x has shape %v, want (N, C) or (N, H, W, C)", form, shapeOf(x))
	}
	xs := x.Shape()
	ch := xs[len(xs)-1]
	if err := checkFloat(form.String(), "x", x, xs...); err != nil {
		return nil, err
	}
	if err := checkFloat(form.String(), "gamma", gamma, ch); err != nil {
		return nil, err
	}
	if err := checkFloat(form.String(), "beta", beta, ch); err != nil {
		return nil, err
	}
	if form == normAddReLU {
		if err := checkFloat(form.String(), "skip", skip, xs...); err != nil {
			return nil, err
		}
	}
	if st == nil || len(st.Mean) != ch || len(st.Var) != ch {
		return nil, fmt.Errorf("op: %v: running statistics do not have %d channels", form, ch)
	}
	if c.Momentum == 0 {
		c.Momentum = 0.1
	}
	if c.Epsilon == 0 {
		c.Epsilon = 1e-5
	}
	if !(c.Momentum > 0 && c.Momentum <= 1) || !(c.Epsilon > 0) {
		return nil, fmt.Errorf("op: %v: momentum %v and epsilon %v, want 0 < momentum ≤ 1 and epsilon > 0", form, c.Momentum, c.Epsilon)
	}
	s := kernel.NormShape{Groups: 1, Rows: xs.TotalSize() / ch, Channels: ch}
	if c.Train && c.Ghost != 0 {
		if c.Ghost < 1 || xs[0]%c.Ghost != 0 {
			return nil, fmt.Errorf("op: %v: ghost batches of %d rows do not divide a batch of %d", form, c.Ghost, xs[0])
		}
		s.Groups = xs[0] / c.Ghost
		s.Rows /= s.Groups
	}
	if c.Train && s.Rows < 2 {
		return nil, fmt.Errorf("op: %v: x has shape %v: training needs more than one value a channel", form, xs)
	}
	name := form.String()
	if !c.Train {
		name += "Eval"
	}
	in := gorgonia.Nodes{x, gamma, beta}
	if form == normAddReLU {
		in = append(in, skip)
	}
	b, err := newBase(p, name, xs, in...)
	if err != nil {
		return nil, err
	}
	norm := batchNorm{base: b, form: form, kernel: kernel.NewBatchNorm(p, s), stats: st, config: c}
	if !c.Train {
		return gorgonia.ApplyOp(&norm, in...)
	}
	train := &batchNormTrain{batchNorm: norm, groups: s.Groups, rows: s.Rows}
	if o, ok := x.Op().(summer); ok && s.Groups == 1 {
		train.sums = o.Gather(p)
	}
	return gorgonia.ApplyOp(train, in...)
}

// summer is an operation that can sum its output by channel while it computes it: a convolution.
type summer interface {
	// Gather makes every run leave such sums, in memory of the operation's own until the next run. It returns nil where the operation
	// does not, such as with another pool than p.
	Gather(p *Pool) *kernel.Sums
}

func shapeOf(n *gorgonia.Node) tensor.Shape {
	if n == nil {
		return nil
	}
	return n.Shape()
}

type batchNorm struct {
	base
	form   normForm
	kernel *kernel.BatchNorm
	stats  *Statistics
	config BatchNormConfig
}

func (b *batchNorm) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	b.kernel.Fixed(b.stats.Mean, b.stats.Var, b.config.Epsilon)
	b.normalise(in)
	return b.out, nil
}

func (b *batchNorm) normalise(in []gorgonia.Value) {
	y, x, gamma, beta := b.output(), b.arg(in, 0), b.arg(in, 1), b.arg(in, 2)
	switch b.form {
	case normPlain:
		b.kernel.Normalise(y, x, gamma, beta)
	case normReLU:
		b.kernel.NormaliseReLU(y, x, gamma, beta)
	case normAddReLU:
		b.kernel.NormaliseAddReLU(y, x, b.arg(in, 3), gamma, beta)
	}
}

func (b *batchNorm) DiffWRT(n int) []bool { return every(n) }

type batchNormTrain struct {
	batchNorm
	groups, rows int
	sums         *kernel.Sums // of x by the operation that made it; nil: x is read for them
	pending      bool         // a run has left statistics that Commit has not published
}

func (b *batchNormTrain) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	if b.sums != nil {
		b.kernel.StatisticsFrom(b.sums, b.config.Epsilon)
	} else {
		b.kernel.Statistics(b.arg(in, 0), b.config.Epsilon)
	}
	b.normalise(in)
	b.pending = true
	return b.out, nil
}

// Commit moves the running statistics towards those of the last run.
func (b *batchNormTrain) Commit() {
	if !b.pending {
		return
	}
	b.pending = false
	unbiased := float64(b.rows) / float64(b.rows-1) / float64(b.groups)
	ch := len(b.stats.Mean)
	m := float64(b.config.Momentum)
	for c := range ch {
		var mean, variance float64
		for i := c; i < len(b.kernel.Mean); i += ch {
			mean += float64(b.kernel.Mean[i])
			variance += float64(b.kernel.Variance[i])
		}
		b.stats.Mean[c] = float32((1-m)*float64(b.stats.Mean[c]) + m*mean/float64(b.groups))
		b.stats.Var[c] = float32((1-m)*float64(b.stats.Var[c]) + m*variance*unbiased)
	}
}
