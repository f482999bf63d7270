//go:build amd64 && !purego

package kernel

// kernelsOf are the micro-kernels of a path, nil for the generic one.
func kernelsOf(p Path) *microKernels {
	switch p {
	case AVX512:
		return &microKernels{width: 32, masked: true, tiles: [3][]func(*byte){
			1: {nil,
				brgemm1x16AVX512, brgemm2x16AVX512, brgemm3x16AVX512, brgemm4x16AVX512,
				brgemm5x16AVX512, brgemm6x16AVX512, brgemm7x16AVX512, brgemm8x16AVX512,
				brgemm9x16AVX512, brgemm10x16AVX512, brgemm11x16AVX512, brgemm12x16AVX512,
				brgemm13x16AVX512, brgemm14x16AVX512, brgemm15x16AVX512, brgemm16x16AVX512,
				brgemm17x16AVX512, brgemm18x16AVX512, brgemm19x16AVX512, brgemm20x16AVX512,
				brgemm21x16AVX512, brgemm22x16AVX512, brgemm23x16AVX512, brgemm24x16AVX512,
				brgemm25x16AVX512, brgemm26x16AVX512, brgemm27x16AVX512, brgemm28x16AVX512,
			},
			2: {nil,
				brgemm1x32AVX512, brgemm2x32AVX512, brgemm3x32AVX512, brgemm4x32AVX512,
				brgemm5x32AVX512, brgemm6x32AVX512, brgemm7x32AVX512, brgemm8x32AVX512,
				brgemm9x32AVX512, brgemm10x32AVX512, brgemm11x32AVX512, brgemm12x32AVX512,
				brgemm13x32AVX512, brgemm14x32AVX512,
			},
		}}
	case AVX2:
		return &microKernels{width: 16, tiles: [3][]func(*byte){
			1: {nil,
				brgemm1x16AVX2, brgemm2x16AVX2, brgemm3x16AVX2, brgemm4x16AVX2,
				brgemm5x16AVX2, brgemm6x16AVX2,
			},
		}}
	}
	return nil
}

// lanewiseOf are the micro-kernels of a path whose factor a holds a number for each column.
func lanewiseOf(p Path) *microKernels {
	switch p {
	case AVX512:
		return &microKernels{width: 16, masked: true, tiles: [3][]func(*byte){
			1: {nil,
				lanewise1x16AVX512, lanewise2x16AVX512, lanewise3x16AVX512, lanewise4x16AVX512,
				lanewise5x16AVX512, lanewise6x16AVX512, lanewise7x16AVX512, lanewise8x16AVX512,
				lanewise9x16AVX512, lanewise10x16AVX512, lanewise11x16AVX512, lanewise12x16AVX512,
				lanewise13x16AVX512, lanewise14x16AVX512,
			},
		}}
	case AVX2:
		return &microKernels{width: 16, tiles: [3][]func(*byte){
			1: {nil,
				lanewise1x16AVX2, lanewise2x16AVX2, lanewise3x16AVX2, lanewise4x16AVX2,
				lanewise5x16AVX2, lanewise6x16AVX2,
			},
		}}
	}
	return nil
}
