package jpeg

import "fmt"

// Path is a set of instructions.
type Path int

// The paths. Build tag purego and processors other than amd64 leave only Generic.
const (
	Fastest Path = iota // the last of [Paths]
	Generic             // plain Go
	AVX2                // AVX2 and BMI2
	AVX512              // AVX-512 F, BW, DQ and VL, and BMI2
)

// String is the name of p: fastest, go, avx2 or avx512.
func (p Path) String() string { return [...]string{"fastest", "go", "avx2", "avx512"}[p] }

// Paths lists what this machine and build have, Generic first and the fastest last.
func Paths() []Path { return append([]Path{Generic}, simdPaths()...) }

// resolve is p, or the fastest path there is; a path that is not available panics.
func (p Path) resolve() Path {
	best := bestPath()
	if p == Fastest {
		return best
	}
	if p > best {
		panic(fmt.Sprintf("jpeg: this machine or build has no path %v", p))
	}
	return p
}
