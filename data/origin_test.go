package data_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-ml/reprise/data"
)

// draws are the first values of a generator.
func draws(r *rand.Rand) (out [4]uint64) {
	for i := range out {
		out[i] = r.Uint64()
	}
	return out
}

func TestAnOriginsGeneratorDependsOnSeedReadAndCopyAlone(t *testing.T) {
	seen := map[[4]uint64]bool{}
	n := 0
	// Neighbours, and values that differ in high bits alone.
	for _, seed := range []uint64{0, 1, 2, 3, 1 << 63} {
		for _, read := range []int64{0, 1, 2, 3, 1000, 1 << 40} {
			for _, again := range []int{0, 1, 2, 3, 1023, 1024, 1 << 20} {
				got := draws(data.Origin{Read: read, Copy: again}.Rand(seed))
				for _, index := range []int{1, -1, 7, 1 << 40} {
					if draws(data.Origin{Index: index, Read: read, Copy: again}.Rand(seed)) != got {
						t.Fatalf("the index %d changes what is drawn", index)
					}
				}
				seen[got] = true
				n++
			}
		}
	}
	if len(seen) != n {
		t.Errorf("%d of %d generators draw what another draws", n-len(seen), n)
	}
}

// TestDrawsOfNeighboursAreUniformAndIndependent looks at the first values
// drawn for origins that differ by one in a single place, as they do in a
// pipeline.
func TestDrawsOfNeighboursAreUniformAndIndependent(t *testing.T) {
	const n = 40_000
	for name, rand := range map[string]func(i int) *rand.Rand{
		"seeds":           func(i int) *rand.Rand { return data.Origin{Read: 5}.Rand(uint64(i)) },
		"reads":           func(i int) *rand.Rand { return data.Origin{Read: int64(i)}.Rand(1) },
		"copies":          func(i int) *rand.Rand { return data.Origin{Read: 5, Copy: i}.Rand(1) },
		"reads, 2 a read": func(i int) *rand.Rand { return data.Origin{Read: int64(i / 2), Copy: i % 2}.Rand(1) },
	} {
		const bins = 64
		first := make([]int, bins)
		pairs := make([]int, 16*16) // of neighbours
		within := make([]int, 16*16)
		ones := make([]int, 64)
		last := -1
		for i := range n {
			r := rand(i)
			bits := r.Uint64()
			for b := range ones {
				ones[b] += int(bits >> b & 1)
			}
			first[bits>>58]++
			now := int(bits >> 60)
			if last >= 0 {
				pairs[16*last+now]++
			}
			last = now
			within[16*now+int(16*r.Float64())]++
		}
		for what, counts := range map[string][]int{"first draws": first, "first draws of neighbours": pairs, "first and second draws": within} {
			if tooUneven(counts) {
				t.Errorf("%s: %s are uneven: %v", name, what, counts)
			}
		}
		for b, c := range ones {
			if math.Abs(float64(c)-n/2) > 5*math.Sqrt(n)/2 {
				t.Errorf("%s: bit %d is set in %d of %d first draws", name, b, c, n)
			}
		}
	}
}

func TestEchoNumbersEveryUseOfARead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		places := rapid.IntRange(1, 5).Draw(t, "places")
		o := data.Origin{Index: rapid.Int().Draw(t, "index"), Read: rapid.Int64().Draw(t, "read")}
		copy := func(label string) (n []int) {
			return rapid.SliceOfN(rapid.IntRange(0, 1023), places, places).Draw(t, label)
		}
		a, b := copy("a"), copy("b")
		numbered := func(ns []int) data.Origin {
			p := o
			for _, n := range ns {
				p = p.Echo(n)
			}
			return p
		}
		if numbered(a).Copy == numbered(b).Copy != slices.Equal(a, b) {
			t.Fatalf("copies %v and %v have the numbers %d and %d", a, b, numbered(a).Copy, numbered(b).Copy)
		}
		if fresh := slices.Max(a) == 0; numbered(a).Fresh() != fresh {
			t.Fatalf("copy %v is fresh: %v", a, !fresh)
		}
		if p := numbered(a); p.Index != o.Index || p.Read != o.Read {
			t.Fatalf("the copy of %+v is %+v", o, p)
		}
	})
}

func TestNestedCopiesAreNumberedInBase1024(t *testing.T) {
	o := data.Origin{Index: 3, Read: 9}
	for _, test := range []struct {
		echoes []int
		want   int
	}{
		{[]int{0}, 0}, {[]int{1}, 1}, {[]int{1023}, 1023},
		{[]int{0, 0}, 0}, {[]int{0, 5}, 5}, {[]int{5, 0}, 5120}, {[]int{1, 1}, 1025},
		{[]int{2, 0, 7}, 2<<20 + 7},
	} {
		p := o
		for _, n := range test.echoes {
			p = p.Echo(n)
		}
		if p != (data.Origin{Index: 3, Read: 9, Copy: test.want}) {
			t.Errorf("echoes %v make %+v, want Copy %d", test.echoes, p, test.want)
		}
	}
}
