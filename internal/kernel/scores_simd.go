//go:build amd64 && !purego

package kernel

import "unsafe"

// call runs a kernel once.
func (s *scores) call(path Path, k scoreKernel) {
	a := (*byte)(unsafe.Pointer(s))
	switch {
	case path == AVX512 && k == kAttend:
		attendAVX512(a)
	case path == AVX512 && k == kAttendBackward:
		attendBackwardAVX512(a)
	case path == AVX512 && k == kAttendDots:
		attendDotsAVX512(a)
	case path == AVX2 && k == kAttend:
		attendAVX2(a)
	case path == AVX2 && k == kAttendBackward:
		attendBackwardAVX2(a)
	case path == AVX2 && k == kAttendDots:
		attendDotsAVX2(a)
	default:
		panic("kernel: no assembly on path " + path.String())
	}
}
