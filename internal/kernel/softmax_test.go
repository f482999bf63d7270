package kernel

import (
	"math"
	"testing"
)

func TestSoftmaxAgreesWithTheReferenceAtAnyLength(t *testing.T) {
	everyPath(t, func(t *testing.T) {
		for _, n := range []int{1, 2, 5, 7, 8, 9, 10, 16, 17, 33, 100, 1000, chunk + 3} {
			x, p := random(n, 3), garbage(n)
			var sum float64
			for i := range x {
				x[i] = x[i]*4 - 20
				sum += math.Exp(float64(x[i]))
			}
			if logSum := Softmax(p, x); math.Abs(logSum-math.Log(sum)) > 3e-7 {
				t.Fatalf("log sum of %d is %v, want %v", n, logSum, math.Log(sum))
			}
			for i, v := range x {
				if want := math.Exp(float64(v)) / sum; !(math.Abs(float64(p[i])-want) <= 5e-7*want) {
					t.Fatalf("probability %d of %d is %v, want %v", i, n, p[i], want)
				}
			}
		}
		for _, v := range []float32{nan, float32(math.Inf(1))} {
			x, p := random(21, 1), garbage(21)
			x[18] = v
			if logSum := Softmax(p, x); !math.IsNaN(logSum) && !math.IsInf(logSum, 1) {
				t.Errorf("log sum with %v is %v", v, logSum)
			}
			if p[18] == p[18] {
				t.Errorf("the probability of %v is %v", v, p[18])
			}
		}
		x, p := []float32{float32(math.Inf(-1)), 1, 1}, garbage(3)
		Softmax(p, x)
		checkSameBits(t, "softmax with -∞", p, []float32{0, 0.5, 0.5})
	})
}

func TestCrossEntropyAndItsGradientInPlaceAgreeWithTheReference(t *testing.T) {
	everyPath(t, func(t *testing.T) {
		for _, n := range []int{1, 2, 3, 10, 31, 32, 33, 40, 1000, chunk + 3} {
			for _, soft := range []bool{false, true} {
				const smoothing, scale = 0.1, 0.25
				x, target, label := random(n, 5), random(n, 6), n/2
				if !soft {
					clear(target)
					target[label] = 1
				}
				var sum, mass, wantLoss float64
				for _, v := range x {
					sum += math.Exp(float64(v))
				}
				smooth := func(k int) float64 { return (1-smoothing)*float64(target[k]) + smoothing/float64(n) }
				for k, v := range x {
					mass += smooth(k)
					wantLoss += smooth(k) * (math.Log(sum) - float64(v))
				}
				want := make([]float64, n)
				for k, v := range x {
					want[k] = scale * (math.Exp(float64(v))/sum*mass - smooth(k))
				}
				given := target
				if !soft {
					given = nil
				}
				loss, logSum := CrossEntropy(x, given, label, smoothing)
				if math.Abs(loss-wantLoss) > 2e-6*float64(n) || math.Abs(logSum-math.Log(sum)) > 3e-7 {
					t.Fatalf("cross-entropy of %d is %v and log sum %v, want %v and %v", n, loss, logSum, wantLoss, math.Log(sum))
				}
				CrossEntropyBackward(x, x, logSum, given, label, smoothing, scale)
				checkWithin(t, "gradient", x, want, 2e-6*(1+math.Abs(mass)))
			}
		}
		for _, v := range []float32{nan, float32(math.Inf(1))} {
			for _, n := range []int{5, 40} {
				x := random(n, 1)
				x[3] = v
				if logSum := LogSumExp(x); !math.IsNaN(logSum) && !math.IsInf(logSum, 1) {
					t.Errorf("log sum with %v is %v", v, logSum)
				}
			}
		}
	})
}
