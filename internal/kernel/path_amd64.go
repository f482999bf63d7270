//go:build amd64 && !purego

package kernel

import "golang.org/x/sys/cpu"

//go:generate go run -C asm .

func simdPaths() []Path {
	var p []Path
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		p = append(p, AVX2)
		if cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VL {
			p = append(p, AVX512)
		}
	}
	return p
}
