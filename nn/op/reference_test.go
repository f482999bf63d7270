package op_test

import "math"

// The references are written from the definitions in float64, without regard to speed.

func refConv(xs, ws [4]int, stride, pad, groups int) func(in [][]float64) []float64 {
	return func(in [][]float64) []float64 {
		x, w := in[0], in[1]
		oh, ow := (xs[1]+2*pad-ws[0])/stride+1, (xs[2]+2*pad-ws[1])/stride+1
		y := make([]float64, xs[0]*oh*ow*ws[3])
		for n := range xs[0] {
			for oy := range oh {
				for ox := range ow {
					for o := range ws[3] {
						var sum float64
						for r := range ws[0] {
							for c := range ws[1] {
								iy, ix := oy*stride+r-pad, ox*stride+c-pad
								if iy < 0 || iy >= xs[1] || ix < 0 || ix >= xs[2] {
									continue
								}
								for i := range ws[2] {
									sum += x[((n*xs[1]+iy)*xs[2]+ix)*xs[3]+o/(ws[3]/groups)*ws[2]+i] * w[((r*ws[1]+c)*ws[2]+i)*ws[3]+o]
								}
							}
						}
						y[((n*oh+oy)*ow+ox)*ws[3]+o] = sum
					}
				}
			}
		}
		return y
	}
}

func refLinear(n, i, o int) func(in [][]float64) []float64 {
	return func(in [][]float64) []float64 {
		y := make([]float64, n*o)
		for r := range n {
			for c := range o {
				for k := range i {
					y[r*o+c] += in[0][r*i+k] * in[1][c*i+k]
				}
				if len(in) == 3 {
					y[r*o+c] += in[2][c]
				}
			}
		}
		return y
	}
}

// refBatchNorm normalises groups of rows with their own statistics, or with the given ones.
func refBatchNorm(groups, rows, ch int, mean, variance []float64) func(in [][]float64) []float64 {
	return func(in [][]float64) []float64 {
		x := in[0]
		y := make([]float64, len(x))
		for g := range groups {
			for c := range ch {
				var m, v float64
				if mean != nil {
					m, v = mean[c], variance[c]
				} else {
					for r := range rows {
						m += x[(g*rows+r)*ch+c] / float64(rows)
					}
					for r := range rows {
						d := x[(g*rows+r)*ch+c] - m
						v += d * d / float64(rows)
					}
				}
				for r := range rows {
					i := (g*rows+r)*ch + c
					y[i] = (x[i]-m)/math.Sqrt(v+1e-5)*in[1][c] + in[2][c]
				}
			}
		}
		return y
	}
}

func refReLU(in [][]float64) []float64 {
	y := make([]float64, len(in[0]))
	for i, v := range in[0] {
		y[i] = math.Max(v, 0)
	}
	return y
}

func refAdd(in [][]float64) []float64 {
	y := make([]float64, len(in[0]))
	for i := range y {
		y[i] = in[0][i] + in[1][i%len(in[1])]
	}
	return y
}

func refGlobalAvgPool(n, pixels, ch int) func(in [][]float64) []float64 {
	return func(in [][]float64) []float64 {
		y := make([]float64, n*ch)
		for i, v := range in[0] {
			y[i/(pixels*ch)*ch+i%ch] += v / float64(pixels)
		}
		return y
	}
}

func refMaxPool(xs [4]int, kernel, stride, pad int) func(in [][]float64) []float64 {
	return func(in [][]float64) []float64 {
		oh, ow := (xs[1]+2*pad-kernel)/stride+1, (xs[2]+2*pad-kernel)/stride+1
		var y []float64
		for n := range xs[0] {
			for oy := range oh {
				for ox := range ow {
					for c := range xs[3] {
						best := math.Inf(-1)
						for r := range kernel {
							for k := range kernel {
								iy, ix := oy*stride+r-pad, ox*stride+k-pad
								if iy >= 0 && iy < xs[1] && ix >= 0 && ix < xs[2] {
									best = math.Max(best, in[0][((n*xs[1]+iy)*xs[2]+ix)*xs[3]+c])
								}
							}
						}
						y = append(y, best)
					}
				}
			}
		}
		return y
	}
}

func refShortcut(xs [4]int, stride, out int) func(in [][]float64) []float64 {
	return func(in [][]float64) []float64 {
		lo := (out - xs[3]) / 2
		var y []float64
		for n := range xs[0] {
			for iy := 0; iy < xs[1]; iy += stride {
				for ix := 0; ix < xs[2]; ix += stride {
					for o := range out {
						v := 0.0
						if c := o - lo; c >= 0 && c < xs[3] {
							v = in[0][((n*xs[1]+iy)*xs[2]+ix)*xs[3]+c]
						}
						y = append(y, v)
					}
				}
			}
		}
		return y
	}
}

func refSame(in [][]float64) []float64 { return append([]float64(nil), in[0]...) }

// refCrossEntropy has the target distributions and the weights fixed.
func refCrossEntropy(classes int, target, weights []float64, smoothing float64) func(in [][]float64) []float64 {
	return func(in [][]float64) []float64 {
		var sum, total float64
		for n, w := range weights {
			if w == 0 {
				continue
			}
			x := in[0][n*classes : (n+1)*classes]
			var z float64
			for _, v := range x {
				z += math.Exp(v)
			}
			total += w
			for k, v := range x {
				t := (1-smoothing)*target[n*classes+k] + smoothing/float64(classes)
				sum -= w * t * (v - math.Log(z))
			}
		}
		if total == 0 {
			return []float64{0}
		}
		return []float64{sum / total}
	}
}
