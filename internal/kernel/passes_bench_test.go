package kernel

import "testing"

// BenchmarkPasses reports the bytes that each pass reads and writes a second, on every path: arrays of 1 MiB.
func BenchmarkPasses(b *testing.B) {
	const n, ch = 1 << 18, 16
	x, y, dy, z := random(n, 1), random(n, 2), random(n, 3), random(n, 4)
	v := make([]float32, n)
	relu := make([]float32, n)
	ReLU(relu, x)
	bytes := make([]uint8, n)
	columns := make([]float64, ch)
	gamma, beta, dgamma, dbeta := random(512, 5), random(512, 6), random(512, 7), random(512, 8)
	small := Adam{Beta1: 0.9, Rest1: 0.1, Beta2: 0.999, Rest2: 0.001, Shrink: 1, Root: 1, Epsilon: 1e-8, Size: 1e-9}
	for _, path := range Paths() {
		usePath(b, path)
		norm := NewBatchNorm(nil, NormShape{1, n / ch, ch})
		layer := NewLayerNorm(nil, n/512, 512)
		layer.Forward(y, x, gamma, beta, 1e-5)
		norm.Statistics(x, 1e-5)
		g := gamma[:ch]
		for _, c := range []struct {
			name    string
			streams float64 // of four bytes an element
			run     func()
		}{
			{"add", 3, func() { Add(y, x, dy) }},
			{"bias", 2, func() { AddBias(y, x, g) }},
			{"relu", 2, func() { ReLU(y, x) }},
			{"reluBackward", 3, func() { ReLUBackward(y, relu, dy) }},
			{"sumOfSquares", 1, func() { SumOfSquares(x) }},
			{"scale", 2, func() { Scale(y, x, 0.5) }},
			{"normStatistics", 1, func() { norm.Statistics(x, 1e-5) }},
			{"norm", 2, func() { norm.Normalise(y, x, g, beta[:ch]) }},
			{"normReLU", 2, func() { norm.NormaliseReLU(y, x, g, beta[:ch]) }},
			{"normAddReLU", 3, func() { norm.NormaliseAddReLU(y, x, dy, g, beta[:ch]) }},
			{"normBackward", 5, func() { norm.Backward(y, dgamma[:ch], dbeta[:ch], x, g, dy, false) }},
			{"normBackwardReLU", 5, func() { norm.BackwardReLU(y, dgamma[:ch], dbeta[:ch], x, g, beta[:ch], dy, false) }},
			{"normBackwardInput", 3, func() { norm.BackwardInput(y, x, dy) }},
			{"columnSums", 1, func() { ColumnSums(columns, x) }},
			{"normBackwardSkip", 4, func() { norm.BackwardSkip(y, dgamma[:ch], dbeta[:ch], x, g, relu, dy, false) }},
			{"softmaxRows1024", 2, func() {
				for i := 0; i < n; i += 1024 {
					Softmax(y[i:i+1024], x[i:i+1024])
				}
			}},
			{"softmaxRows10", 2, func() {
				for i := 0; i+10 <= n; i += 10 {
					Softmax(y[i:i+10], x[i:i+10])
				}
			}},
			{"crossEntropy1024", 1, func() {
				for i := 0; i < n; i += 1024 {
					CrossEntropy(x[i:i+1024], nil, 3, 0.1)
				}
			}},
			{"crossEntropyBackward1024", 2, func() {
				for i := 0; i < n; i += 1024 {
					CrossEntropyBackward(y[i:i+1024], x[i:i+1024], 8, nil, 3, 0.1, 1)
				}
			}},
			{"exp", 2, func() { Exp(y, x) }},
			{"gelu", 2, func() { GELU(y, x) }},
			{"geluBackward", 3, func() { GELUBackward(y, x, dy) }},
			{"layerNorm", 2, func() { layer.Forward(y, x, gamma, beta, 1e-5) }},
			{"layerNormBackward", 3, func() { layer.Backward(y, dgamma, dbeta, x, gamma, dy) }},
			{"pixels", 1.25, func() { Pixels(y, bytes, gamma[:3], beta[:3]) }},
			{"sgd", 3, func() { SGD(z, x, 1e-9, 0) }},
			{"momentum", 5, func() { Momentum(z, x, y, 1e-9, 0.9, 0) }},
			{"nesterov", 5, func() { Nesterov(z, x, y, 1e-9, 0.9, 0) }},
			{"adam", 7, func() { small.Step(z, x, y, v) }},
		} {
			b.Run(c.name+"/"+path.String(), func(b *testing.B) {
				b.SetBytes(int64(4 * c.streams * n))
				for b.Loop() {
					c.run()
				}
				b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/n, "ns/elt")
			})
		}
	}
}
