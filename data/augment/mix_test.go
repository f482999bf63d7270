package augment

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/reprise-ml/reprise/data"
)

// classed is a batch of rows of w×h pixels of one channel, of which row i
// holds i everywhere and has the class i.
func classed(rows, w, h int) data.Batch {
	b := data.Batch{
		Inputs:  []data.Array{{Shape: []int{rows, h, w, 1}, F32: make([]float32, rows*w*h)}},
		Targets: []data.Array{{Shape: []int{rows}, I32: make([]int32, rows)}},
		Origins: make([]data.Origin, rows),
	}
	for i := range b.Inputs[0].F32 {
		b.Inputs[0].F32[i] = float32(i / (w * h))
	}
	for i := range rows {
		b.Targets[0].I32[i] = int32(i)
	}
	return b
}

func TestMixedLabelsAreTheSharesOfThePixels(t *testing.T) {
	const rows, w, h = 6, 8, 5
	for _, m := range []Mix{
		{Mixup: &Mixup{Alpha: 0.4}, Classes: rows},
		{Cutmix: &Cutmix{}, Classes: rows},
		{Mixup: &Mixup{}, Cutmix: &Cutmix{}, Probability: 0.7, Switch: 0.3, Classes: rows},
	} {
		in := classed(rows, w, h)
		before := slices.Clone(in.Inputs[0].F32)
		for seed := range uint64(200) {
			out, err := m.Batch(in, rand.New(rand.NewPCG(seed, 0)))
			if err != nil {
				t.Fatal(err)
			}
			for i := range rows {
				label := out.Targets[0].F32[i*rows:][:rows]
				mean, want, sum := 0.0, 0.0, 0.0
				for _, v := range out.Inputs[0].F32[i*w*h:][:w*h] {
					mean += float64(v) / (w * h)
				}
				for class, share := range label {
					want += float64(class) * float64(share)
					sum += float64(share)
					if share < 0 {
						t.Fatalf("a share is %v", share)
					}
				}
				if math.Abs(mean-want) > 1e-5 || math.Abs(sum-1) > 1e-6 {
					t.Fatalf("%+v, row %d: the pixels are %v and the label %v", m, i, mean, label)
				}
			}
		}
		if !slices.Equal(before, in.Inputs[0].F32) {
			t.Errorf("%+v wrote to what it was given", m)
		}
	}
}

func TestCutmixPastesOneRectangleOfTheSameRowEverywhere(t *testing.T) {
	const rows, w, h = 4, 9, 7
	in := classed(rows, w, h)
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 0))
		out, err := Mix{Cutmix: &Cutmix{}, Classes: rows}.Batch(in, r)
		if err != nil {
			t.Fatal(err)
		}
		again := rand.New(rand.NewPCG(seed, 0))
		again.Float64()
		again.Float64()
		partner := again.Perm(rows)
		part := Cutmix{}.part(w, h, again)
		for i, v := range out.Inputs[0].F32 {
			row, y, x := i/(w*h), i/w%h, i%w
			want := row
			if part.Min.X <= x && x < part.Max.X && part.Min.Y <= y && y < part.Max.Y {
				want = partner[row]
			}
			if v != float32(want) {
				t.Fatalf("seed %d: row %d has %v at (%d, %d), want %d: %v of %d", seed, row, v, x, y, want, part, partner[row])
			}
		}
	}
}

func TestTheRectangleOfCutmixCoversOneLessLambdaAwayFromTheBorder(t *testing.T) {
	const n, side = 20_000, 400
	r := rand.New(rand.NewPCG(2, 0))
	whole, sum := 0, 0.0
	for range n {
		p := Cutmix{}.part(side, side, r)
		if p.Min.X > 0 && p.Min.Y > 0 && p.Max.X < side && p.Max.Y < side {
			whole++
			if d := p.Dx() - p.Dy(); d != 0 {
				t.Fatalf("%v is not of the shape of the picture", p)
			}
		}
		sum += float64(p.Dx()*p.Dy()) / side / side
	}
	// Of a side s = √(1−λ), λ uniform, what is left of it in the picture is
	// s − s²/4 in the mean; its square, for two independent places, integrated
	// over the density 2s: ∫ 2s (s − s²/4)² ds = 1/2 − 1/5 + 1/48.
	if want := 1./2 - 1./5 + 1./48; math.Abs(sum/n-want) > 0.01 {
		t.Errorf("the rectangle covers %.4f in the mean, want %.4f", sum/n, want)
	}
	if whole == 0 {
		t.Error("no rectangle is whole")
	}
}

func TestBetaHasItsDistribution(t *testing.T) {
	const n = 40_000
	for _, a := range []float64{0.002, 0.2, 0.5, 1, 2, 8} {
		r := rand.New(rand.NewPCG(3, 0))
		draws, mean, square := make([]float64, n), 0.0, 0.0
		for i := range draws {
			v := beta(a, r)
			if !(0 <= v && v <= 1) {
				t.Fatalf("Beta(%v, %v) gives %v", a, a, v)
			}
			draws[i] = v
			mean += v / n
			square += (v - 0.5) * (v - 0.5) / n
		}
		if want := 1 / (4 * (2*a + 1)); math.Abs(mean-0.5) > 0.01 || math.Abs(square-want) > 0.03*want {
			t.Errorf("Beta(%v, %v) has the mean %.4f and the variance %.4f, want %.4f", a, a, mean, square, want)
		}
		cdf := map[float64]func(x float64) float64{ // those with a closed form
			0.5: func(x float64) float64 { return 2 / math.Pi * math.Asin(math.Sqrt(x)) },
			1:   func(x float64) float64 { return x },
			2:   func(x float64) float64 { return x * x * (3 - 2*x) },
		}[a]
		if cdf == nil {
			continue
		}
		slices.Sort(draws)
		far := 0.0
		for i, v := range draws {
			far = max(far, math.Abs(cdf(v)-(float64(i)+0.5)/n))
		}
		if far > 2/math.Sqrt(n) { // Kolmogorov and Smirnov: with probability 0.0007
			t.Errorf("Beta(%v, %v) is %.4f from its distribution", a, a, far)
		}
	}
}

func TestProbabilityAndSwitchAreTheSharesOfBatches(t *testing.T) {
	const n = 4000
	m := Mix{Mixup: &Mixup{}, Cutmix: &Cutmix{}, Probability: 0.6, Switch: 0.25, Classes: 8}
	r, in := rand.New(rand.NewPCG(4, 0)), classed(8, 16, 16)
	same, pasted := 0, 0
	for range n {
		out, err := m.Batch(in, r)
		if err != nil {
			t.Fatal(err)
		}
		whole := true
		for _, v := range out.Inputs[0].F32 {
			whole = whole && v == float32(int(v))
		}
		switch {
		case &out.Inputs[0].F32[0] == &in.Inputs[0].F32[0]:
			same++
		case whole:
			pasted++
		}
	}
	if math.Abs(float64(same)/n-0.4) > 0.04 || math.Abs(float64(pasted)/n-0.15) > 0.03 {
		t.Errorf("of %d batches %d are not mixed and %d by cutmix", n, same, pasted)
	}
}

func TestWhatCannotBeMixedIsRefused(t *testing.T) {
	good := classed(2, 3, 3)
	soft, weighed := good, good
	soft.Targets = []data.Array{{Shape: []int{2, 2}, F32: make([]float32, 4)}}
	weighed.Weights = data.Array{Shape: []int{2}, F32: []float32{1, 0}}
	flat := good
	flat.Inputs = []data.Array{{Shape: []int{2, 9}, F32: good.Inputs[0].F32}}
	for want, b := range map[string]data.Batch{
		"the batch has no pictures": {Targets: good.Targets},
		"the batch has no classes":  soft,
		"have weights":              weighed,
		"have the shape [2 9]":      flat,
		"row 2 is of class 2":       classed(3, 3, 3),
	} {
		if _, err := (Mix{Cutmix: &Cutmix{}, Classes: 2}).Batch(b, rand.New(rand.NewPCG(1, 0))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want %s", err, want)
		}
	}
	for want, m := range map[string]Mix{
		"neither mixup nor cutmix": {Redraw: true},
		"probability is 2":         {Mixup: &Mixup{}, Probability: 2},
		"switch is -1":             {Mixup: &Mixup{}, Switch: -1},
		"switch is given":          {Mixup: &Mixup{}, Switch: 0.5},
		"mixup.alpha is -1":        {Mixup: &Mixup{Alpha: -1}},
		"cutmix.alpha is NaN":      {Cutmix: &Cutmix{Alpha: math.NaN()}},
		"classes is -1":            {Cutmix: &Cutmix{}, Classes: -1},
	} {
		if err := m.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error is %v, want %s", m, err, want)
		}
	}
	if err := (Mix{}).Check(); err != nil {
		t.Error(err)
	}
}

// A batch of two rows, half of which are of each class.
func ExampleMix() {
	b := data.Batch{
		Inputs:  []data.Array{{Shape: []int{2, 1, 1, 1}, F32: []float32{0, 1}}},
		Targets: []data.Array{{Shape: []int{2}, I32: []int32{0, 1}}},
		Origins: make([]data.Origin, 2),
	}
	mixed, err := Mix{Mixup: &Mixup{Alpha: 1}, Classes: 2}.Batch(b, b.Rand(3))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("row 1 is %.2f, and its label %.2f\n", mixed.Inputs[0].F32[1], mixed.Targets[0].F32[2:])
	// Output: row 1 is 0.43, and its label [0.57 0.43]
}
