package safetensors

import (
	"encoding/binary"
	"fmt"
	"math"
)

// convert fills dst from the little-endian elements in src. An error names the first element that float32 cannot hold.
func convert(dst []float32, src []byte, t DType) error {
	le := binary.LittleEndian
	switch t {
	case F32:
		for i := range dst {
			dst[i] = math.Float32frombits(le.Uint32(src[4*i:]))
		}
	case F64:
		for i := range dst {
			v := math.Float64frombits(le.Uint64(src[8*i:]))
			dst[i] = float32(v)
			if math.IsInf(float64(dst[i]), 0) && !math.IsInf(v, 0) {
				return fmt.Errorf("element %d is %g, beyond the range of float32", i, v)
			}
		}
	case F16:
		for i := range dst {
			dst[i] = fromHalf(le.Uint16(src[2*i:]))
		}
	case BF16:
		for i := range dst {
			dst[i] = math.Float32frombits(uint32(le.Uint16(src[2*i:])) << 16)
		}
	case I64:
		return convertIntegers(dst, func(i int) int64 { return int64(le.Uint64(src[8*i:])) })
	case U64:
		return convertIntegers(dst, func(i int) uint64 { return le.Uint64(src[8*i:]) })
	case I32:
		return convertIntegers(dst, func(i int) int32 { return int32(le.Uint32(src[4*i:])) })
	case U32:
		return convertIntegers(dst, func(i int) uint32 { return le.Uint32(src[4*i:]) })
	case I16:
		return convertIntegers(dst, func(i int) int16 { return int16(le.Uint16(src[2*i:])) })
	case U16:
		return convertIntegers(dst, func(i int) uint16 { return le.Uint16(src[2*i:]) })
	case I8:
		return convertIntegers(dst, func(i int) int8 { return int8(src[i]) })
	case U8:
		return convertIntegers(dst, func(i int) uint8 { return src[i] })
	case Bool:
		for i := range dst {
			if src[i] > 1 {
				return fmt.Errorf("element %d is %d, expected 0 or 1 for BOOL", i, src[i])
			}
			dst[i] = float32(src[i])
		}
	default:
		panic("safetensors: convert: dtype " + string(t)) // entry.check lets none through
	}
	return nil
}

type integer interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

func convertIntegers[T integer](dst []float32, at func(i int) T) error {
	for i := range dst {
		v := at(i)
		if f := float64(v); f < -1<<24 || f > 1<<24 {
			return fmt.Errorf("element %d is %d, expected at most 2^24 in magnitude, to which float32 is exact", i, v)
		}
		dst[i] = float32(v)
	}
	return nil
}

// fromHalf converts IEEE binary16, exactly.
func fromHalf(h uint16) float32 {
	sign, exponent, fraction := uint32(h>>15)<<31, uint32(h>>10)&0x1f, uint32(h)&0x3ff
	switch exponent {
	case 0: // zero or subnormal: fraction · 2^-24
		f := float32(fraction) * 0x1p-24
		return math.Float32frombits(sign | math.Float32bits(f))
	case 0x1f: // infinity or NaN
		return math.Float32frombits(sign | 0xff<<23 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+127-15)<<23 | fraction<<13)
}
