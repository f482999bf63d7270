package kernel

import (
	"math"
	"testing"
)

var nan = float32(math.NaN())

func TestReLUAndItsGradientKeepNaN(t *testing.T) {
	x := []float32{-1, 0, 2, float32(math.Copysign(0, -1)), nan, float32(math.Inf(-1)), float32(math.Inf(1))}
	y, dx := garbage(len(x)), garbage(len(x))
	ReLU(y, x)
	ReLUBackward(dx, y, []float32{1, 2, 3, 4, 5, 6, 7})
	inf := float32(math.Inf(1))
	for i, want := range []float32{0, 0, 2, 0, nan, 0, inf} {
		if y[i] != want && !(y[i] != y[i] && want != want) {
			t.Errorf("relu of %v is %v", x[i], y[i])
		}
	}
	checkSameBits(t, "gradient", dx, []float32{0, 0, 3, 0, 5, 0, 7})
}

func TestAddAndBiasWorkInPlace(t *testing.T) {
	a := []float32{1, 2, 3, 4}
	Add(a, a, []float32{10, 20, 30, 40})
	checkSameBits(t, "sum", a, []float32{11, 22, 33, 44})
	AddBias(a, a, []float32{1, -1})
	checkSameBits(t, "bias", a, []float32{12, 21, 34, 43})
	sums := []float64{7, 7}
	ColumnSums(sums, a)
	if sums[0] != 46 || sums[1] != 64 {
		t.Errorf("column sums %v", sums)
	}
}

func TestGlobalAvgPoolIsTheMeanOfEveryChannel(t *testing.T) {
	y, dx := garbage(3), garbage(6)
	GlobalAvgPool(y, []float32{1, 2, 3, 5, 6, 7})
	checkSameBits(t, "mean", y, []float32{3, 4, 5})
	GlobalAvgPoolBackward(dx, []float32{2, 4, 6})
	checkSameBits(t, "gradient", dx, []float32{1, 2, 3, 1, 2, 3})
}

func TestMaxPoolTakesTheFirstOfEqualsAndNaN(t *testing.T) {
	s := PoolShape{H: 2, W: 3, Channels: 1, Kernel: 2, Stride: 1}
	y, from, dx := garbage(2), make([]int32, 2), garbage(6)
	MaxPool(y, from, []float32{-3, -1, -1, -2, -1, -5}, s)
	checkSameBits(t, "maximum", y, []float32{-1, -1})
	if from[0] != 1 || from[1] != 1 {
		t.Errorf("maxima from %v, want the first", from)
	}
	MaxPoolBackward(dx, []float32{2, 3}, from)
	checkSameBits(t, "gradient", dx, []float32{0, 5, 0, 0, 0, 0})
	MaxPool(y, from, []float32{nan, 1, 2, 3, 4, nan}, s)
	if y[0] == y[0] || y[1] == y[1] {
		t.Errorf("maxima with NaN are %v", y)
	}
}

func TestSoftmaxSumsToOneWithoutOverflow(t *testing.T) {
	for _, x := range [][]float32{{1, 2, 3}, {1e30, 0, -1e30}, {-1000, -1001}, {0}} {
		p := garbage(len(x))
		logSum := Softmax(p, x)
		var sum float64
		for i, v := range p {
			sum += float64(v)
			if want := math.Exp(float64(x[i]) - logSum); math.Abs(want-float64(v)) > 1e-6 {
				t.Errorf("softmax of %v is %v", x, p)
			}
		}
		if math.Abs(sum-1) > 1e-6 {
			t.Errorf("softmax of %v sums to %v", x, sum)
		}
	}
}

func TestClassesAndOneHotTargetsGiveTheSameCrossEntropy(t *testing.T) {
	x := random(9, 1)
	hot := make([]float32, 9)
	hot[4] = 1
	for _, smoothing := range []float32{0, 0.1, 1} {
		a, b := garbage(9), garbage(9)
		l1, logSum := CrossEntropy(x, nil, 4, smoothing)
		l2, _ := CrossEntropy(x, hot, 0, smoothing)
		if math.Abs(l1-l2) > 1e-9 {
			t.Errorf("smoothing %v: losses %v and %v", smoothing, l1, l2)
		}
		CrossEntropyBackward(a, x, logSum, nil, 4, smoothing, 2)
		CrossEntropyBackward(b, x, logSum, hot, 0, smoothing, 2)
		want := make([]float64, 9)
		for i, v := range a {
			want[i] = float64(v)
		}
		checkClose(t, "gradient", b, want, 1e-6)
	}
}

func TestDropoutMaskIsAFunctionOfKeyAndElement(t *testing.T) {
	whole, parts := make([]uint64, 9), make([]uint64, 9)
	DropoutMask(whole, 0, 9, 77, 0.4)
	DropoutMask(parts, 5, 9, 77, 0.4)
	DropoutMask(parts, 0, 5, 77, 0.4)
	for i := range whole {
		if whole[i] != parts[i] {
			t.Errorf("word %d differs when drawn in parts", i)
		}
	}
	y := garbage(3)
	Dropout(y, []float32{1, nan, -2}, []uint64{0b101}, 1.5)
	checkSameBits(t, "dropout", y, []float32{1.5, 0, -3})
	DropoutMask(parts, 0, 9, 77, 0)
	for _, w := range parts {
		if w != math.MaxUint64 {
			t.Error("rate 0 dropped something")
		}
	}
}

func TestShortcutAndItsGradientAreEachOthersTranspose(t *testing.T) {
	for _, s := range []ShortcutShape{{5, 4, 3, 6, 2}, {4, 4, 2, 5, 1}, {3, 3, 2, 2, 3}} {
		x, dy := random(s.H*s.W*s.In, 1), random(s.OutH()*s.OutW()*s.Out, 2)
		y, dx := garbage(len(dy)), garbage(len(x))
		Shortcut(y, x, s)
		ShortcutBackward(dx, dy, s)
		var a, b float64
		for i := range y {
			a += float64(y[i]) * float64(dy[i])
		}
		for i := range x {
			b += float64(x[i]) * float64(dx[i])
		}
		if math.Abs(a-b) > 1e-5 {
			t.Errorf("%+v: ⟨Sx, dy⟩ = %v, ⟨x, Sᵀdy⟩ = %v", s, a, b)
		}
	}
}
