package augment

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"
)

// golden is what testdata/golden.py writes.
type golden struct {
	Pictures           map[string][]uint8
	Size               [2]int
	RandAugment        map[string]goldenScale
	TrivialAugmentWide map[string]goldenScale
	Cases              []struct {
		Op            string
		Magnitude     float64
		Width, Height int
		From          string
		Want          []uint8
	}
}

type goldenScale struct {
	Values []float64
	Signed bool
}

func readGolden(t *testing.T) (g golden) {
	t.Helper()
	b, err := os.ReadFile("testdata/golden.json")
	if err == nil {
		err = json.Unmarshal(b, &g)
	}
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestOperationsGiveTorchvisionsPixels(t *testing.T) {
	g, tried := readGolden(t), map[string]bool{}
	for _, c := range g.Cases {
		ops := operations()
		i := slices.IndexFunc(ops[:], func(o operation) bool { return o.name == c.Op })
		if i < 0 {
			t.Fatalf("there is no operation %s", c.Op)
		}
		got := make([]uint8, 3*c.Width*c.Height)
		ops[i].apply(got, g.Pictures[c.From], c.Width, c.Height, c.Magnitude, Color{9, 8, 7})
		wrong := 0
		for j, v := range got {
			if v != c.Want[j] {
				wrong++
			}
		}
		if wrong > 0 {
			t.Errorf("%s by %v of the %s picture: %d of %d values differ", c.Op, c.Magnitude, c.From, wrong, len(got))
		}
		tried[c.Op] = true
	}
	if len(tried) != kinds {
		t.Errorf("%d operations were tried, there are %d", len(tried), kinds)
	}
}

func TestMagnitudesAreTorchvisions(t *testing.T) {
	g := readGolden(t)
	w, h := float64(g.Size[0]), float64(g.Size[1])
	for _, space := range []struct {
		name string
		got  [kinds]scale
		want map[string]goldenScale
	}{
		{"RandAugment", randAugmentScales(w, h), g.RandAugment},
		{"TrivialAugmentWide", trivialAugmentScales(), g.TrivialAugmentWide},
	} {
		for i, o := range operations() {
			want, got := space.want[o.name], space.got[i]
			if got.signed != want.Signed {
				t.Errorf("%s of %s: signed is %v", o.name, space.name, got.signed)
			}
			for bin := range bins {
				v := want.Values[bin%len(want.Values)]
				// The magnitude itself may differ in the last bit of a float32,
				// but not what is made of it by rounding.
				if x := got.at(bin); math.Abs(x-v) > 1e-6*math.Abs(v) || math.Trunc(x) != math.Trunc(v) {
					t.Errorf("magnitude %d of %s of %s is %v, want %v", bin, o.name, space.name, x, v)
				}
			}
		}
	}
}
