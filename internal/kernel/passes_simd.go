//go:build amd64 && !purego

package kernel

import "unsafe"

// call runs a kernel once. The calls are spelt out because a call through a variable would move p to the heap.
func (p *pass) call(path Path, k passKernel) {
	a := (*byte)(unsafe.Pointer(p))
	switch path {
	case AVX512:
		switch k {
		case kAdd:
			passAddAVX512(a)
		case kReLU:
			passReLUAVX512(a)
		case kReLUBackward:
			passReLUBackwardAVX512(a)
		case kScale:
			passScaleAVX512(a)
		case kExp:
			passExpAVX512(a)
		case kGELU:
			passGELUAVX512(a)
		case kGELUBackward:
			passGELUBackwardAVX512(a)
		case kMax:
			passMaxAVX512(a)
		case kExpSum:
			passExpSumAVX512(a)
		case kExpTotal:
			passExpTotalAVX512(a)
		case kSoftmaxBackward:
			passSoftmaxBackwardAVX512(a)
		case kFinite:
			passFiniteAVX512(a)
		case kMoments:
			passMomentsAVX512(a)
		case kNormalise:
			passNormaliseAVX512(a)
		case kNormaliseSums:
			passNormaliseSumsAVX512(a)
		case kNormaliseBackward:
			passNormaliseBackwardAVX512(a)
		case kNormaliseWeights:
			passNormaliseWeightsAVX512(a)
		case kSGD:
			passSGDAVX512(a)
		case kMomentum:
			passMomentumAVX512(a)
		case kNesterov:
			passNesterovAVX512(a)
		case kAdam:
			passAdamAVX512(a)
		case kBias:
			passBiasAVX512(a)
		case kBiasMasked:
			passBiasMaskedAVX512(a)
		case kStatistics:
			passStatisticsAVX512(a)
		case kStatisticsMasked:
			passStatisticsMaskedAVX512(a)
		case kColumnSums:
			passColumnSumsAVX512(a)
		case kColumnSumsMasked:
			passColumnSumsMaskedAVX512(a)
		case kNorm:
			passNormAVX512(a)
		case kNormMasked:
			passNormMaskedAVX512(a)
		case kNormReLU:
			passNormReLUAVX512(a)
		case kNormReLUMasked:
			passNormReLUMaskedAVX512(a)
		case kNormAddReLU:
			passNormAddReLUAVX512(a)
		case kNormAddReLUMasked:
			passNormAddReLUMaskedAVX512(a)
		case kNormSums:
			passNormSumsAVX512(a)
		case kNormSumsMasked:
			passNormSumsMaskedAVX512(a)
		case kNormReLUSums:
			passNormReLUSumsAVX512(a)
		case kNormReLUSumsMasked:
			passNormReLUSumsMaskedAVX512(a)
		case kNormAddReLUSums:
			passNormAddReLUSumsAVX512(a)
		case kNormAddReLUSumsMasked:
			passNormAddReLUSumsMaskedAVX512(a)
		case kNormBackward:
			passNormBackwardAVX512(a)
		case kNormBackwardMasked:
			passNormBackwardMaskedAVX512(a)
		case kNormReLUBackward:
			passNormReLUBackwardAVX512(a)
		case kNormReLUBackwardMasked:
			passNormReLUBackwardMaskedAVX512(a)
		case kPixels:
			passPixelsAVX512(a)
		}
	case AVX2:
		switch k {
		case kAdd:
			passAddAVX2(a)
		case kReLU:
			passReLUAVX2(a)
		case kReLUBackward:
			passReLUBackwardAVX2(a)
		case kScale:
			passScaleAVX2(a)
		case kExp:
			passExpAVX2(a)
		case kGELU:
			passGELUAVX2(a)
		case kGELUBackward:
			passGELUBackwardAVX2(a)
		case kMax:
			passMaxAVX2(a)
		case kExpSum:
			passExpSumAVX2(a)
		case kExpTotal:
			passExpTotalAVX2(a)
		case kSoftmaxBackward:
			passSoftmaxBackwardAVX2(a)
		case kFinite:
			passFiniteAVX2(a)
		case kMoments:
			passMomentsAVX2(a)
		case kNormalise:
			passNormaliseAVX2(a)
		case kNormaliseSums:
			passNormaliseSumsAVX2(a)
		case kNormaliseBackward:
			passNormaliseBackwardAVX2(a)
		case kNormaliseWeights:
			passNormaliseWeightsAVX2(a)
		case kSGD:
			passSGDAVX2(a)
		case kMomentum:
			passMomentumAVX2(a)
		case kNesterov:
			passNesterovAVX2(a)
		case kAdam:
			passAdamAVX2(a)
		case kBias:
			passBiasAVX2(a)
		case kBiasMasked:
			passBiasMaskedAVX2(a)
		case kStatistics:
			passStatisticsAVX2(a)
		case kStatisticsMasked:
			passStatisticsMaskedAVX2(a)
		case kColumnSums:
			passColumnSumsAVX2(a)
		case kColumnSumsMasked:
			passColumnSumsMaskedAVX2(a)
		case kNorm:
			passNormAVX2(a)
		case kNormMasked:
			passNormMaskedAVX2(a)
		case kNormReLU:
			passNormReLUAVX2(a)
		case kNormReLUMasked:
			passNormReLUMaskedAVX2(a)
		case kNormAddReLU:
			passNormAddReLUAVX2(a)
		case kNormAddReLUMasked:
			passNormAddReLUMaskedAVX2(a)
		case kNormSums:
			passNormSumsAVX2(a)
		case kNormSumsMasked:
			passNormSumsMaskedAVX2(a)
		case kNormReLUSums:
			passNormReLUSumsAVX2(a)
		case kNormReLUSumsMasked:
			passNormReLUSumsMaskedAVX2(a)
		case kNormAddReLUSums:
			passNormAddReLUSumsAVX2(a)
		case kNormAddReLUSumsMasked:
			passNormAddReLUSumsMaskedAVX2(a)
		case kNormBackward:
			passNormBackwardAVX2(a)
		case kNormBackwardMasked:
			passNormBackwardMaskedAVX2(a)
		case kNormReLUBackward:
			passNormReLUBackwardAVX2(a)
		case kNormReLUBackwardMasked:
			passNormReLUBackwardMaskedAVX2(a)
		case kPixels:
			passPixelsAVX2(a)
		}
	default:
		panic("kernel: no assembly on path " + path.String())
	}
}
