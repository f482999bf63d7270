//go:build amd64 && !purego

package jpeg

import "golang.org/x/sys/cpu"

//go:generate go run -C asm .

func bestPath() Path {
	switch x := &cpu.X86; {
	case !x.HasAVX2 || !x.HasBMI1 || !x.HasBMI2:
		return Generic
	case !x.HasAVX512F || !x.HasAVX512BW || !x.HasAVX512DQ || !x.HasAVX512VL:
		return AVX2
	default:
		return AVX512
	}
}

func simdPaths() []Path { return []Path{AVX2, AVX512}[:bestPath()-Generic] }
