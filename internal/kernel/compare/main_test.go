package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheTableHasMediansAndBestsOverTheRounds(t *testing.T) {
	c := comparison{rounds: 3, batch: 128, threads: 2, seconds: 5, peak: 100, rows: []row{{
		name:   "ResNet-20",
		theirs: []measurement{{Peer: "PyTorch 1", Median: 100, Best: 190}, {Median: 200, Best: 210}, {Median: 150, Best: 160}},
		ours:   []measurement{{Kernel: "avx512", Median: 300, Best: 310, GFLOPS: 30}, {Median: 200, Best: 420, GFLOPS: 20}, {Median: 330, Best: 340, GFLOPS: 33}},
	}}}
	var b strings.Builder
	c.write(&b)
	for _, part := range []string{
		"Examples per second in training, median and best of 3 rounds of 5 s in turns: batch 128, 2 threads", "Peer: PyTorch 1. Our kernels: avx512.",
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

func TestLanguageModelsAreTimedBesideTheirPeer(t *testing.T) {
	c := comparison{rounds: 1, batch: 16, threads: 2}
	if err := c.choose("8", "4,256,4,128,8192;1,16,2,8,256", "peer.py"); err != nil || len(c.rows) != 2 {
		t.Fatalf("rows %+v, error %v", c.rows, err)
	}
	r := c.rows[0]
	if want := "transformer:layers=4,width=256,heads=4,context=128,vocab=8192"; r.model != want {
		t.Errorf("the model is %s, want %s", r.model, want)
	}
	if got := strings.Join(r.peer, " "); got != "peer.py 4 256 4 128 8192 16 2" {
		t.Errorf("the peer is run as %s", got)
	}
	script := filepath.Join(t.TempDir(), "peer")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho '{\"peer\": \"P\", \"tokens_per_second\": 7, \"tokens_per_second_best\": 9}'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := c.measure(&r.theirs, script); err != nil || r.theirs[0].Median != 7 || r.theirs[0].Best != 9 {
		t.Errorf("measured %+v, error %v", r.theirs, err)
	}
	c.unit = ""
	if err := c.measure(&r.theirs, script); err == nil || !strings.Contains(err.Error(), "no examples per second") {
		t.Errorf("a peer that counts tokens where examples are wanted: error %v", err)
	}
}

func TestWrongChoicesAreRefused(t *testing.T) {
	for want, c := range map[string]struct {
		rounds                       int
		depths, transformers, script string
	}{
		"-rounds":           {0, "8", "", ""},
		"-depths":           {1, "8,x", "", ""},
		"-transformer-peer": {1, "8", "4,256,4,128,8192", ""},
		"has \"4,256\"":     {1, "8", "4,256", "peer.py"},
	} {
		one := comparison{rounds: c.rounds}
		if err := one.choose(c.depths, c.transformers, c.script); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want one with %s", c, err, want)
		}
	}
}
