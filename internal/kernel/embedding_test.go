package kernel

import (
	"fmt"
	"testing"
)

func TestEmbeddingGathersRowsAndAddsTheirGradients(t *testing.T) {
	everyPath(t, func(t *testing.T) {
		const width = 67
		table := random(5*width, 1)
		ids := []int32{4, 0, 0, 3, 4, 4}
		dy, y, dtable := random(len(ids)*width, 2), garbage(len(ids)*width), random(5*width, 3)
		want := append([]float32(nil), dtable...)
		e := NewEmbedding(nil, len(ids), width)
		e.Gather(y, table, ids)
		e.ScatterAdd(dtable, dy, ids)
		for i, id := range ids {
			checkSameBits(t, "row", y[i*width:(i+1)*width], table[int(id)*width:int(id+1)*width])
			for c := range width {
				want[int(id)*width+c] += dy[i*width+c]
			}
		}
		checkSameBits(t, "gradient", dtable, want)
	})
}

func TestEmbeddingGivesTheSameBitsForAnyPoolAndDoesNotAllocate(t *testing.T) {
	const n, vocabulary, width = 300, 20, 130
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = int32(i * i % vocabulary)
	}
	table, dy := random(vocabulary*width, 1), random(n*width, 2)
	all := func(p *Pool) []float32 {
		y, dtable := garbage(n*width), make([]float32, vocabulary*width)
		e := NewEmbedding(p, n, width)
		run := func() {
			e.Gather(y, table, ids)
			clear(dtable)
			e.ScatterAdd(dtable, dy, ids)
		}
		if n := testing.AllocsPerRun(10, run); n != 0 {
			t.Errorf("%v allocations a run", n)
		}
		return append(y, dtable...)
	}
	want := all(nil)
	for _, threads := range []int{1, 2, 8} {
		p := NewPool(threads)
		checkSameBits(t, "results", all(p), want)
		p.Close()
	}
}

func TestARowThatTheTableDoesNotHaveIsABug(t *testing.T) {
	for _, id := range []int32{-1, 5} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("row %d of 5 was taken", id)
				}
			}()
			NewEmbedding(nil, 1, 3).Gather(make([]float32, 3), make([]float32, 15), []int32{id})
		}()
	}
}

func BenchmarkEmbedding(b *testing.B) {
	const n, vocabulary, width = 2048, 8192, 256
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = int32(Mix(uint64(i)) % vocabulary)
	}
	table, dy := random(vocabulary*width, 1), random(n*width, 2)
	p := NewPool(0)
	defer p.Close()
	e := NewEmbedding(p, n, width)
	for name, run := range map[string]func(){
		"gather":  func() { e.Gather(dy, table, ids) },
		"scatter": func() { e.ScatterAdd(table, dy, ids) },
	} {
		b.Run(fmt.Sprintf("%s/%dx%d", name, n, width), func(b *testing.B) {
			b.SetBytes(4 * n * width)
			for b.Loop() {
				run()
			}
		})
	}
}
