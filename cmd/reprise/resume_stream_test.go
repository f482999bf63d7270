//go:build unix

package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// streaming is a run on streams of text, several passes long.
const streaming = `
data: {source: {text: {path: corpus, context: 8, stream: true, cycle: 2}}, on_error: skip}
pipeline: {shuffle: 12, prefetch: 2}
storage: {simulate: {latency: 1ms, jitter: 1ms}}
model: {transformer: {layers: 1, width: 2, heads: 1}}
train: {batch: 4, optimizer: adam, rate: {start: 0.003, schedule: cosine}}
stop: {max_steps: 60}
evaluate: {every: 40 fresh, batch: 4}
log: {every: 1 steps}
checkpoint: {every: 4 steps}
`

// streams writes a set of text to dir: two plain files, and a packed one that ends too soon.
func streams(t *testing.T, dir string) {
	t.Helper()
	write := func(name string, lines int, made func([]byte) []byte) {
		var b bytes.Buffer
		for i := range lines {
			fmt.Fprintf(&b, "%s %d\n", name, i*i)
		}
		path := filepath.Join(dir, "corpus", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, made(b.Bytes()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	plain := func(b []byte) []byte { return b }
	write("train/a", 13, plain)
	write("train/b", 29, plain)
	write("train/c.gz", 21, func(b []byte) []byte {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		z.Write(b)
		z.Close()
		return packed.Bytes()[:packed.Len()-9] // without its end
	})
	write("valid/x", 8, plain)
}

func TestARunOnStreamsThatIsKilledAtAnyMomentEndsAsIfItWereNot(t *testing.T) {
	kills := 8
	if testing.Short() {
		kills = 3
	}
	for i, args := range [][]string{
		{"--strategy", "none"},
		{"--strategy", "example", "--factor", "2.5", "--set", "data.source.text.layout=packed"},
		{"--strategy", "batch", "--factor", "2", "--set", "data.source.text.layout=chunks"},
	} {
		t.Run(args[1], func(t *testing.T) {
			t.Parallel()
			v := &victim{t: t, dir: t.TempDir(), args: args, r: rand.New(rand.NewPCG(uint64(i), 1))}
			if err := os.WriteFile(filepath.Join(v.dir, "run.yaml"), []byte(streaming), 0o644); err != nil {
				t.Fatal(err)
			}
			streams(t, v.dir)
			if _, stderr, code := reprise(t, v.dir, append([]string{"train", "run.yaml", "-q", "--out", "whole"}, args...)...); code != 0 {
				t.Fatal(stderr)
			}
			if len(read(t, filepath.Join(v.dir, "whole"), "errors.jsonl")) == 0 {
				t.Error("no damage was met")
			}
			for v.kills < kills {
				moment := after(time.Duration(20+v.r.IntN(100)) * time.Millisecond)
				if v.kills%2 == 0 {
					moment = v.during
				}
				v.kill(1+v.r.IntN(6), moment)
				v.again()
			}
			v.finish()
		})
	}
}
