package kernel

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// mapCase is a function of single elements with its reference in float64. The reference gets what the slices hold before.
type mapCase struct {
	name   string
	inputs int
	run    func(s [][]float32) // writes s[0], may write others
	want   func(v []float64) []float64
	exact  bool    // the bits of rounding the reference
	within float64 // else the largest error relative to what the reference is, or to slack
	slack  float64
}

var adam = Adam{0.9, 0.1, 0.999, 0.001, 0.99, 0.01, 0.3, 1e-8, 0.02}

func mapCases() []mapCase {
	rate, momentum, decay := float32(0.1), float32(0.9), float32(0.01)
	r, m, d := float64(rate), float64(momentum), float64(decay)
	normal := func(x float64) float64 { return (1 + math.Erf(x/math.Sqrt2)) / 2 }
	return []mapCase{
		{name: "add", inputs: 3, exact: true,
			run:  func(s [][]float32) { Add(s[0], s[1], s[2]) },
			want: func(v []float64) []float64 { return []float64{v[1] + v[2]} }},
		{name: "relu", inputs: 2, exact: true,
			run:  func(s [][]float32) { ReLU(s[0], s[1]) },
			want: func(v []float64) []float64 { return []float64{max(v[1], 0)} }},
		{name: "relu backward", inputs: 3, exact: true,
			run: func(s [][]float32) { ReLU(s[1], s[1]); ReLUBackward(s[0], s[1], s[2]) },
			want: func(v []float64) []float64 {
				if v[1] <= 0 {
					return []float64{0}
				}
				return []float64{v[2]}
			}},
		{name: "scale", inputs: 2, exact: true,
			run:  func(s [][]float32) { Scale(s[0], s[1], 0.5) },
			want: func(v []float64) []float64 { return []float64{0.5 * v[1]} }},
		{name: "exp", inputs: 2, within: 1.2e-7, slack: 1e-38,
			run:  func(s [][]float32) { Exp(s[0], s[1]) },
			want: func(v []float64) []float64 { return []float64{math.Exp(v[1])} }},
		{name: "gelu", inputs: 2, within: 4e-7, slack: 0.1,
			run:  func(s [][]float32) { GELU(s[0], s[1]) },
			want: func(v []float64) []float64 { return []float64{max(-40, v[1]) * normal(v[1])} }},
		{name: "gelu backward", inputs: 3, within: 1e-6, slack: 1,
			run: func(s [][]float32) { GELUBackward(s[0], s[1], s[2]) },
			want: func(v []float64) []float64 {
				x := max(-40, min(40, v[1]))
				return []float64{v[2] * (normal(x) + x*math.Exp(-x*x/2)/math.Sqrt(2*math.Pi))}
			}},
		{name: "sgd", inputs: 2, within: 3e-7, slack: 1,
			run:  func(s [][]float32) { SGD(s[0], s[1], rate, decay) },
			want: func(v []float64) []float64 { return []float64{v[0] - r*(v[1]+d*v[0])} }},
		{name: "momentum", inputs: 3, within: 3e-7, slack: 10,
			run: func(s [][]float32) { Momentum(s[0], s[1], s[2], rate, momentum, decay) },
			want: func(v []float64) []float64 {
				b := m*v[2] + v[1] + d*v[0]
				return []float64{v[0] - r*b, v[1], b}
			}},
		{name: "nesterov", inputs: 3, within: 3e-7, slack: 10,
			run: func(s [][]float32) { Nesterov(s[0], s[1], s[2], rate, momentum, decay) },
			want: func(v []float64) []float64 {
				g := v[1] + d*v[0]
				b := m*v[2] + g
				return []float64{v[0] - r*(g+m*b), v[1], b}
			}},
		{name: "adam", inputs: 4, within: 3e-7, slack: 10,
			run: func(s [][]float32) {
				for i, v := range s[3] {
					s[3][i] = v * v
				}
				adam.Step(s[0], s[1], s[2], s[3])
			},
			want: func(v []float64) []float64 {
				u := func(f float32) float64 { return float64(f) }
				g := v[1] + u(adam.Couple)*v[0]
				m := u(adam.Beta1)*v[2] + u(adam.Rest1)*g
				q := u(adam.Beta2)*float64(float32(v[3]*v[3])) + u(adam.Rest2)*g*g
				return []float64{u(adam.Shrink)*v[0] - u(adam.Size)*m/(math.Sqrt(q)/u(adam.Root)+u(adam.Epsilon)), v[1], m, q}
			}},
	}
}

func (c mapCase) inputsOf(n int, scale float32) [][]float32 {
	s := make([][]float32, c.inputs)
	for i := range s {
		s[i] = random(n+1, uint64(i)+1)
		for j := range s[i] {
			s[i][j] *= scale
		}
	}
	return s
}

func TestElementwiseKernelsAgreeWithTheReferenceAtAnyLength(t *testing.T) {
	everyPath(t, func(t *testing.T) {
		for _, c := range mapCases() {
			for _, n := range []int{0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 100, 127, 129, chunk - 1, chunk + 5} {
				got, before := c.inputsOf(n, 3), c.inputsOf(n, 3)
				cut := make([][]float32, len(got))
				for i := range got {
					cut[i] = got[i][:n]
				}
				c.run(cut)
				for i := range n {
					v := make([]float64, len(got))
					for j := range v {
						v[j] = float64(before[j][i])
					}
					for j, w := range c.want(v) {
						g := float64(got[j][i])
						if bad := !(math.Abs(g-w) <= c.within*max(math.Abs(w), c.slack)); c.exact && g != float64(float32(w)) || !c.exact && bad {
							t.Fatalf("%s of %d: output %d, element %d is %v, want %v", c.name, n, j, i, g, w)
						}
					}
				}
				for j := range got {
					if got[j][n] != before[j][n] {
						t.Fatalf("%s of %d wrote past the end", c.name, n)
					}
				}
			}
		}
	})
}

func TestOptimizerStepsHaveTheSameBitsOnEveryPath(t *testing.T) {
	for _, c := range mapCases() {
		if c.name != "sgd" && c.name != "momentum" && c.name != "nesterov" && c.name != "adam" {
			continue
		}
		var want [][]float32
		for _, p := range Paths() {
			usePath(t, p)
			s := c.inputsOf(103, 1)
			c.run(s)
			for i := range want {
				checkSameBits(t, c.name, s[i], want[i])
			}
			if p == Generic {
				want = s
			}
		}
	}
}

func TestElementwiseKernelsTreatSpecialValuesAlike(t *testing.T) {
	inf := float32(math.Inf(1))
	special := []float32{nan, inf, -inf, 0, float32(math.Copysign(0, -1)), 1e-45, -1e-45, 1e-40, math.MaxFloat32, -math.MaxFloat32, 88, 89, 88.7228, -87, -103, -104, -200, 200, 1e20, -1e20}
	everyPath(t, func(t *testing.T) {
		for _, c := range mapCases() {
			for _, v := range special {
				size := math.Abs(float64(v))
				switch {
				case c.name == "adam" && !(size < 1e19), c.name == "nesterov" && size > 1e38 && size < math.Inf(1):
					continue // there the formula is NaN, or a square or sum overflows in float32
				}
				s := make([][]float32, c.inputs)
				before := make([]float64, c.inputs)
				for i := range s {
					s[i] = []float32{1, 1, 1, 1, 1}
					before[i] = 1
				}
				in := min(1, c.inputs-1)
				s[in][3], before[in] = v, float64(v)
				c.run(s)
				want := c.want(before)[0]
				g := float64(s[0][3])
				if w := float32(want); g != float64(w) && !(g != g && w != w) && !(math.Abs(g-want) <= 4e-7*math.Abs(want)+1e-35) {
					t.Errorf("%s of %v is %v, want %v", c.name, v, g, want)
				}
			}
		}
	})
}

func TestExpIsAccurateEverywhere(t *testing.T) {
	everyPath(t, func(t *testing.T) {
		var x []float32
		for v := -88.0; v < 88.8; v += 1.0 / 1024 {
			x = append(x, float32(v))
		}
		y := make([]float32, len(x))
		Exp(y, x)
		var worst float64
		for i, v := range x {
			want := math.Exp(float64(v))
			if want > math.MaxFloat32 {
				continue
			}
			worst = max(worst, math.Abs(float64(y[i])-want)/max(want, 1.2e-38))
		}
		if worst > 1e-7 {
			t.Errorf("largest relative error %.3g", worst)
		}
		Exp(y[:4], []float32{nan, float32(math.Inf(1)), float32(math.Inf(-1)), 0})
		if y[0] == y[0] || !math.IsInf(float64(y[1]), 1) || y[2] != 0 || y[3] != 1 {
			t.Errorf("exp of NaN, ∞, -∞, 0 is %v", y[:4])
		}
	})
}

func TestBiasAgreesWithTheReferenceForAnyShape(t *testing.T) {
	everyPath(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			rows, ch := rapid.IntRange(1, 40).Draw(t, "rows"), rapid.IntRange(1, 150).Draw(t, "channels")
			x, b := random(rows*ch, 1), random(ch, 2)
			y := garbage(len(x))
			AddBias(y, x, b)
			for i := range x {
				x[i] += b[i%ch]
			}
			checkSameBits(t, "sum", y, x)
		})
		x, b := random(3*chunk/5*5, 1), random(5, 2)
		y := garbage(len(x))
		AddBias(y, x, b)
		for i := range x {
			x[i] += b[i%5]
		}
		checkSameBits(t, "sum of several chunks", y, x)
	})
}

func TestColumnSumsAgreeWithTheReferenceForAnyShape(t *testing.T) {
	everyPath(t, func(t *testing.T) {
		for _, s := range [][2]int{{1, 1}, {7, 3}, {40, 16}, {5, 64}, {33, 65}, {9, 150}, {5000, 7}, {2, chunk + 5}} {
			x, got, want := random(s[0]*s[1], 1), make([]float64, s[1]), make([]float64, s[1])
			for i, v := range x {
				want[i%s[1]] += float64(v)
			}
			got[0] = 3 // what is there does not count
			ColumnSums(got, x)
			for i, w := range want {
				if math.Abs(got[i]-w) > 1e-10*float64(s[0]) {
					t.Fatalf("sum %d of %v is %v, want %v", i, s, got[i], w)
				}
			}
		}
	})
}

func TestSumsOfSquaresAgreeWithTheReferenceAtAnyLength(t *testing.T) {
	everyPath(t, func(t *testing.T) {
		for _, n := range []int{0, 1, 3, 7, 15, 16, 17, 63, 64, 65, 127, 200, chunk - 1, chunk + 77, 5*chunk + 3} {
			for _, scale := range []float32{1, 1e30, 1e-30} { // a square is beyond float32
				x := random(n+1, 1)[:n]
				var want float64
				for i := range x {
					x[i] *= scale
					want += float64(x[i]) * float64(x[i])
				}
				if got := SumOfSquares(x); !(math.Abs(got-want) <= 1e-13*want) {
					t.Errorf("%d numbers about %g: %v, want %v", n, scale, got, want)
				}
			}
		}
		for _, at := range []int{0, 20, 80, 98} {
			x := random(99, 1)
			x[at] = float32(math.Inf(-1))
			if got := SumOfSquares(x); !math.IsInf(got, 1) {
				t.Errorf("the sum with -∞ at %d is %v", at, got)
			}
			x[at] = nan
			if got := SumOfSquares(x); !math.IsNaN(got) {
				t.Errorf("the sum with NaN at %d is %v", at, got)
			}
		}
	})
}

func TestPixelsHaveTheSameBitsOnEveryPath(t *testing.T) {
	for _, ch := range []int{1, 2, 3, 4, 5} {
		for _, n := range []int{0, 1, 15, 16, 17, 47, 48, 100, chunk} {
			x := make([]uint8, n*ch)
			for i := range x {
				x[i] = uint8(i * 7)
			}
			scale, shift := random(ch, 1), random(ch, 2)
			want := make([]float32, len(x))
			for i, v := range x {
				product := scale[i%ch] * float32(v)
				want[i] = product + shift[i%ch]
			}
			for _, p := range Paths() {
				usePath(t, p)
				y := garbage(len(x))
				Pixels(y, x, scale, shift)
				checkSameBits(t, fmt.Sprintf("%d pixels of %d on %v", n, ch, p), y, want)
			}
		}
	}
}

func TestPassesDoNotAllocate(t *testing.T) {
	pool := NewPool(2)
	defer pool.Close()
	everyPath(t, func(t *testing.T) {
		norm, sums := NewBatchNorm(pool, NormShape{2, 100, 15}), make([]float64, 10)
		x, y, z, bytes := random(3000, 1), random(3000, 2), random(3000, 3), make([]uint8, 3000)
		if n := testing.AllocsPerRun(5, func() {
			Add(y, x, z)
			norm.Statistics(x, 1e-5)
			norm.NormaliseReLU(y, x, x[:15], x[:15])
			norm.BackwardReLU(y, y[:15], y[15:30], x, x[:15], x[:15], z, false)
			norm.NormaliseAddReLU(y, x, z, x[:15], x[:15])
			norm.BackwardSkip(y, z[:15], z[15:30], x, x[:15], y, z, false)
			norm.BackwardInput(y, x, z)
			ColumnSums(sums, x)
			SumOfSquares(x)
			ReLU(y, x)
			ReLUBackward(y, x, z)
			Scale(y, x, 2)
			AddBias(y, x, z[:10])
			Exp(y, x)
			GELU(y, x)
			GELUBackward(y, x, z)
			Softmax(y, x)
			_, logSum := CrossEntropy(x, nil, 3, 0.1)
			CrossEntropyBackward(y, x, logSum, nil, 3, 0.1, 1)
			Pixels(y, bytes, x[:3], z[:3])
			SGD(y, x, 0, 0)
			Momentum(y, x, z, 0, 0, 0)
			Nesterov(y, x, z, 0, 0, 0)
			adam.Step(y, x, z, z)
		}); n != 0 {
			t.Errorf("%v allocations a run", n)
		}
	})
}
