package synth_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/data/datatest"
	"github.com/reprise-ml/reprise/data/synth"
)

func open(t testing.TB, c synth.Config, base string) *synth.Source {
	t.Helper()
	s, err := c.Open(base)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func encoded(t testing.TB, s data.Source, i int) []byte {
	t.Helper()
	e, err := s.Read(context.Background(), i)
	if err != nil {
		t.Fatal(err)
	}
	return e.Input.(data.Picture).Encoded
}

func TestItIsASource(t *testing.T) {
	for _, c := range []struct {
		config synth.Config
		base   string
		len    int
	}{
		{synth.Config{}, "train", data.Endless},
		{synth.Config{Examples: 100}, "validation", 100},
		{synth.Config{Classes: 2, Size: 8, Quality: 1, Examples: 5, Seed: 1}, "test", 5},
		{synth.Config{Classes: 64, Size: 40, Quality: 100, Examples: 200}, "train", 200},
		{synth.Config{Classes: 3, Size: 512, Examples: 1}, "train", 1},
	} {
		t.Run(fmt.Sprintf("%+v of %s", c.config, c.base), func(t *testing.T) {
			datatest.TestSource(t, open(t, c.config, c.base), datatest.Want{Len: c.len})
		})
	}
}

func TestPicturesHaveTheSizeAndClassesOfTheConfig(t *testing.T) {
	for _, c := range []synth.Config{{Classes: 2, Size: 8}, {}, {Classes: 64, Size: 33}} {
		s := open(t, c, "train")
		p, err := data.Picture{Encoded: encoded(t, s, 0)}.Decode()
		if err != nil {
			t.Fatal(err)
		}
		classes, size := c.Classes, c.Size
		if classes == 0 {
			classes, size = 10, 32
		}
		if w, h := p.Bounds(); w != size || h != size || len(s.Classes()) != classes {
			t.Errorf("%+v: %d×%d pixels, %d classes", c, w, h, len(s.Classes()))
		}
	}
}

func TestSeedsAndPartsAndRecordsDiffer(t *testing.T) {
	seen := map[string]string{}
	for _, seed := range []uint64{0, 1} {
		for _, base := range synth.Bases() {
			s := open(t, synth.Config{Seed: seed}, base)
			for i := range 20 {
				at := fmt.Sprintf("record %d of %s of seed %d", i, base, seed)
				b := string(encoded(t, s, i))
				if other, ok := seen[b]; ok {
					t.Errorf("%s is %s", at, other)
				}
				seen[b] = at
			}
		}
	}
}

func TestTheNumberOfExamplesDoesNotChangeThem(t *testing.T) {
	a, b := open(t, synth.Config{}, "train"), open(t, synth.Config{Examples: 50}, "train")
	for i := range 50 {
		if !bytes.Equal(encoded(t, a, i), encoded(t, b, i)) {
			t.Fatalf("record %d differs", i)
		}
	}
}

func TestEveryRunOfExamplesHasEachClassOnceInNoFixedOrder(t *testing.T) {
	const classes = 7
	s := open(t, synth.Config{Classes: classes}, "train")
	orders := map[string]bool{}
	for block := range 20 {
		seen, order := [classes]bool{}, ""
		for i := range classes {
			y := s.Label(block*classes + i)
			seen[y] = true
			order += fmt.Sprint(y)
		}
		if seen != [classes]bool{true, true, true, true, true, true, true} {
			t.Errorf("block %d has the classes %s", block, order)
		}
		orders[order] = true
	}
	if len(orders) < 15 {
		t.Errorf("20 blocks have %d orders", len(orders))
	}
}

func TestAConfigOutOfRangeIsRefused(t *testing.T) {
	for _, c := range []struct {
		config synth.Config
		base   string
		says   string
	}{
		{synth.Config{}, "val", `the part is "val", want train, validation or test`},
		{synth.Config{Classes: 1}, "train", "classes is 1, want 2 to 64"},
		{synth.Config{Classes: 65}, "train", "classes is 65"},
		{synth.Config{Size: 7}, "train", "size is 7, want 8 to 512"},
		{synth.Config{Size: 513}, "train", "size is 513"},
		{synth.Config{Quality: 101}, "train", "quality is 101, want 1 to 100"},
		{synth.Config{Examples: -1}, "train", "examples is -1, want a number of them, or 0 for no end"},
	} {
		if _, err := c.config.Open(c.base); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v of %s: %v, want an error with %q", c.config, c.base, err, c.says)
		}
	}
}

func Example() {
	src, err := synth.Config{Classes: 4, Examples: 1000}.Open("train")
	if err != nil {
		panic(err)
	}
	fmt.Println(src.Len(), src.Classes())
	// Output: 1000 [disc-dots disc-stripes square-dots square-stripes]
}

func BenchmarkRead(b *testing.B) {
	for _, size := range []int{32, 64, 224} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := open(b, synth.Config{Size: size}, "train")
			bytes := 0
			for i := 0; b.Loop(); i++ {
				bytes += len(encoded(b, s, i))
			}
			b.ReportMetric(float64(bytes)/float64(b.N), "B/picture")
		})
	}
}
