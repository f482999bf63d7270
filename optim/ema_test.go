package optim

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestEMAAgreesWithItsFormula(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := EMA{Decay: rapid.Float64Range(0, 0.9999).Draw(t, "decay"), Warmup: rapid.Bool().Draw(t, "warmup")}
		weight, mean := []float32{0, 0}, []float32{0}
		values := []Vector{{"w", weight}, {"bn1.running_mean", mean}}
		var want [3]float64
		for n := range rapid.IntRange(1, 20).Draw(t, "updates") {
			d := e.Decay
			if d == 0 {
				d = 0.999
			}
			if e.Warmup {
				d = min(d, (1+float64(n))/(10+float64(n)))
			}
			if n == 0 {
				d = 0
			}
			for i, p := range []*float32{&weight[0], &weight[1], &mean[0]} {
				*p = rapid.Float32Range(-1, 1).Draw(t, "value")
				want[i] = d*want[i] + (1-d)*float64(*p)
			}
			if err := e.Update(values); err != nil {
				t.Fatal(err)
			}
		}
		before := append(slices.Clone(weight), mean...)
		if err := e.Swap(values); err != nil {
			t.Fatal(err)
		}
		for i, got := range append(slices.Clone(weight), mean...) {
			if math.Abs(float64(got)-want[i]) > 1e-5 {
				t.Fatalf("average %d is %g, want %g", i, got, want[i])
			}
		}
		if err := e.Swap(values); err != nil {
			t.Fatal(err)
		}
		if after := append(slices.Clone(weight), mean...); !slices.Equal(before, after) {
			t.Fatalf("swapped twice, %v became %v", before, after)
		}
	})
}

func TestAResumedEMAGivesTheSameBits(t *testing.T) {
	for stop := range 4 {
		a, b := []float32{0, 0}, []float32{0}
		values := []Vector{{"a", a}, {"b", b}}
		straight, resumed := &EMA{Decay: 0.9, Warmup: true}, &EMA{Decay: 0.9, Warmup: true}
		for i := range 6 {
			if i == stop {
				state := straight.State()
				slices.Reverse(state)
				if err := resumed.SetState(state); err != nil {
					t.Fatal(err)
				}
				if got := resumed.State(); len(got) != len(state) {
					t.Errorf("state of %d vectors, want %d", len(got), len(state))
				}
			}
			a[0], a[1], b[0] = float32(i), float32(i*i), float32(-i)
			if err := straight.Update(values); err != nil {
				t.Fatal(err)
			}
			if i >= stop {
				if err := resumed.Update(values); err != nil {
					t.Fatal(err)
				}
			}
		}
		got, want := resumed.State(), straight.State()
		for i := range want {
			if got[i].Name != want[i].Name || !slices.Equal(got[i].Data, want[i].Data) {
				t.Errorf("stopped at %d: %v, want %v", stop, got[i], want[i])
			}
		}
	}
}

func TestEMARefuses(t *testing.T) {
	a, b := Vector{"a", []float32{1, 2}}, Vector{"b", []float32{3}}
	averaged := func() *EMA {
		e := &EMA{}
		if err := e.Update([]Vector{a, b}); err != nil {
			t.Fatal(err)
		}
		return e
	}
	restored := func(state ...Vector) *EMA {
		e := &EMA{}
		if err := e.SetState(append(state, countVector("updates", 2))); err != nil {
			t.Fatal(err)
		}
		return e
	}
	swapped := averaged()
	if err := swapped.Swap([]Vector{a, b}); err != nil {
		t.Fatal(err)
	}
	average := func(v Vector) Vector { return Vector{"average." + v.Name, v.Data} }
	for _, c := range []struct {
		want string
		err  error
	}{
		{"swapped before the first update", (&EMA{}).Swap([]Vector{a})},
		{"updated while the averages are swapped in", swapped.Update([]Vector{a, b})},
		{`"a" is given twice`, (&EMA{}).Update([]Vector{a, a})},
		{"EMA of 1 vectors, at first there were 2", averaged().Update([]Vector{a})},
		{"vector 0 is b of 1 elements, at first it was a of 2", averaged().Swap([]Vector{b, a})},
		{`state has no "average.b"`, restored(average(a)).Update([]Vector{a, b})},
		{`state has no "average.a"`, restored().Update([]Vector{a, b})},
		{`state has "average.b", which is not expected`, restored(average(a), average(b)).Swap([]Vector{a})},
		{`state has 1 elements of "average.a", expected 2`, restored(Vector{"average.a", []float32{1}}).Update([]Vector{a})},
		{`"average.a" is given twice`, (&EMA{}).SetState([]Vector{average(a), average(a)})},
		{`state has no "updates"`, (&EMA{}).SetState(nil)},
	} {
		if c.err == nil || !strings.HasPrefix(c.err.Error(), "optim: EMA") || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("got %v, want %q", c.err, c.want)
		}
	}
}

func TestTheStateOfASwappedEMAIsABug(t *testing.T) {
	values := []Vector{{"a", []float32{1}}}
	e := &EMA{}
	if err := e.Update(values); err != nil {
		t.Fatal(err)
	}
	if err := e.Swap(values); err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]func(){"State": func() { e.State() }, "SetState": func() { _ = e.SetState(nil) }} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s did not panic", name)
				}
			}()
			f()
		}()
	}
}

func TestEMADoesNotAllocateInSteadyState(t *testing.T) {
	values := []Vector{{"a", make([]float32, 1000)}, {"b", make([]float32, 3)}}
	e := &EMA{Warmup: true}
	if n := testing.AllocsPerRun(20, func() {
		if e.Update(values) != nil || e.Swap(values) != nil || e.Swap(values) != nil {
			t.Fatal("an error")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
