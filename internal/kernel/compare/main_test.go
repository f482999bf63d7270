package main

import (
	"strings"
	"testing"
)

func TestTheTableHasMediansAndBestsOverTheRounds(t *testing.T) {
	c := comparison{rounds: 3, batch: 128, threads: 2, seconds: 5, peak: 100, rows: []row{{
		depth:  20,
		theirs: []measurement{{Peer: "PyTorch 1", Median: 100, Best: 190}, {Median: 200, Best: 210}, {Median: 150, Best: 160}},
		ours:   []measurement{{Kernel: "avx512", Median: 300, Best: 310, GFLOPS: 30}, {Median: 200, Best: 420, GFLOPS: 20}, {Median: 330, Best: 340, GFLOPS: 33}},
	}}}
	var b strings.Builder
	c.write(&b)
	for _, part := range []string{
		"median and best of 3 rounds of 5 s in turns: batch 128, 2 threads", "Peer: PyTorch 1. Our kernels: avx512.",
		"| ResNet-20 | 150 | 210 | 300 | 420 | 2.00x | 2.00x | 30.0 | 15 % |\n",
	} {
		if !strings.Contains(b.String(), part) {
			t.Errorf("%q is not in\n%s", part, b.String())
		}
	}
}

func TestAnEvenNumberOfRoundsHasTheMeanOfTheMiddleTwo(t *testing.T) {
	all := []measurement{{Median: 1}, {Median: 8}, {Median: 2}, {Median: 4}}
	if got := middle(all, func(m measurement) float64 { return m.Median }); got != 3 {
		t.Errorf("got %v, want 3", got)
	}
}
