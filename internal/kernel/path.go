package kernel

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
)

// Path is a set of instructions the kernels are written in.
type Path int

// The paths, from what every machine has to the fastest. Build tag purego and processors other than
// amd64 leave only Generic.
const (
	Generic Path = iota // plain Go
	AVX2                // AVX2 and FMA
	AVX512              // AVX-512 F, BW, DQ and VL
)

// pathVariable is the environment variable that forces a path: avx512, avx2 or go.
const pathVariable = "REPRISE_KERNEL"

// String is the name of the path as the environment variable REPRISE_KERNEL spells it.
func (p Path) String() string { return [...]string{"go", "avx2", "avx512"}[p] }

// Paths lists what this machine and build have, Generic first and the fastest last.
func Paths() []Path { return append([]Path{Generic}, simdPaths()...) }

// ActivePath is the path the kernels take: the fastest of Paths, or the one that the environment variable
// REPRISE_KERNEL named when it was first asked for. A name that is unknown or not available here panics.
func ActivePath() Path { return activePath() }

// activePath is a variable for the sake of tests, which go through all paths.
var activePath = sync.OnceValue(func() Path {
	p, err := choosePath(os.Getenv(pathVariable), Paths())
	if err != nil {
		panic(err)
	}
	return p
})

// CheckPath says what is wrong with the path that REPRISE_KERNEL names, before ActivePath panics.
func CheckPath() error {
	_, err := choosePath(os.Getenv(pathVariable), Paths())
	return err
}

// choosePath is the path of that name, of an empty one the last available.
func choosePath(name string, available []Path) (Path, error) {
	if name == "" {
		return available[len(available)-1], nil
	}
	i := slices.IndexFunc(available, func(p Path) bool { return p.String() == name })
	if i >= 0 {
		return available[i], nil
	}
	names := make([]string, len(available))
	for i, p := range available {
		names[i] = p.String()
	}
	if name == AVX2.String() || name == AVX512.String() {
		return 0, fmt.Errorf("kernel: %s=%s: this machine or build has no such path, only %s", pathVariable, name, strings.Join(names, ", "))
	}
	return 0, fmt.Errorf("kernel: %s=%s is not a path: want %s", pathVariable, name, strings.Join(names, ", "))
}
