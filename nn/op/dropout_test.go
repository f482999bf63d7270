package op_test

import (
	"math"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/reprise-ml/reprise/nn/op"
)

func dropoutCase(r *op.Ticker, rate float32) opCase {
	return opCase{inputs: []tensor.Shape{{100, 301}}, build: func(p *op.Pool, in gorgonia.Nodes) (*gorgonia.Node, error) {
		return op.Dropout(p, in[0], rate, 1, r)
	}}
}

func ones(n int) [][]float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = 1
	}
	return [][]float64{x}
}

func TestDropoutKeepsTheMeanAndItsGradientTheMask(t *testing.T) {
	const rate = 0.3
	r := newRun(t, dropoutCase(&op.Ticker{Seed: 3}, rate), nil, ones(30100))
	r.run(t)
	y, dx := values(r.out), values(r.grads[0])
	kept := 0
	for i, v := range y {
		if v != 0 {
			kept++
			if math.Abs(float64(v)-1/(1-rate)) > 1e-6 {
				t.Fatalf("a kept 1 became %v", v)
			}
		}
		want := r.weigh.weights[i] * v // y is the scaled mask itself
		if math.Abs(float64(dx[i]-want)) > 1e-6 {
			t.Fatalf("gradient %d is %v, want %v", i, dx[i], want)
		}
	}
	n := float64(len(y))
	if d := math.Abs(float64(kept)-n*(1-rate)) / math.Sqrt(n*rate*(1-rate)); d > 4 {
		t.Errorf("%d of %v kept at rate %v: %.1f standard deviations off", kept, n, rate, d)
	}
}

func TestDropoutMaskDependsOnSeedAndTickAlone(t *testing.T) {
	ticker := &op.Ticker{Seed: 3, Tick: 5}
	r := newRun(t, dropoutCase(ticker, 0.5), nil, ones(30100))
	at := func(seed, tick uint64) []float32 {
		ticker.Seed, ticker.Tick = seed, tick
		r.run(t)
		return append([]float32(nil), values(r.out)...)
	}
	first := at(3, 5)
	agree := func(y []float32) (n int) {
		for i := range y {
			if y[i] == first[i] {
				n++
			}
		}
		return n
	}
	for _, other := range [][]float32{at(3, 6), at(4, 5)} {
		if n := agree(other); n < 14500 || n > 15600 {
			t.Errorf("masks of different keys agree in %d of 30100 places", n)
		}
	}
	checkSameBits(t, "the first key again", at(3, 5), first)
}

func TestDropoutsOfOneGraphHaveDifferentMasks(t *testing.T) {
	c := dropoutCase(nil, 0)
	c.build = func(p *op.Pool, in gorgonia.Nodes) (*gorgonia.Node, error) {
		ticker := &op.Ticker{}
		a := gorgonia.Must(op.Dropout(p, in[0], 0.5, 1, ticker))
		return op.Dropout(p, a, 0.5, 2, ticker)
	}
	r := newRun(t, c, nil, ones(30100))
	r.run(t)
	kept := 0
	for _, v := range values(r.out) {
		if v != 0 {
			kept++
		}
	}
	if kept < 7000 || kept > 8050 {
		t.Errorf("%d of 30100 pass two masks of rate 1/2, want about a quarter", kept)
	}
}

func TestDropoutOfRateZeroIsItsInput(t *testing.T) {
	x := fixed(gorgonia.NewGraph(), "x", tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(2, 3)))
	if n := gorgonia.Must(op.Dropout(nil, x, 0, 1, &op.Ticker{})); n != x {
		t.Errorf("got %v", n)
	}
}
