package kernel

import "unsafe"

// scores is the argument of the kernels over rows of attention scores; the declarations in attention_amd64.go say what each of them does. A
// row counts as many columns as the row before and growth more, but no more than width; the scores behind them, up to a whole vector from
// width on, become -Inf first. Its layout is known to asm/attention.go.
type scores struct {
	s, d                   unsafe.Pointer // [rows, stride]
	rows                   int            // the kernels count it down
	stride                 int            // bytes
	columns, growth, width int
	top, sum               unsafe.Pointer // [rows]
	scale                  float32
}

// scoreKernel is a kernel over rows of scores by name.
type scoreKernel int

const (
	kAttend scoreKernel = iota
	kAttendBackward
	kAttendDots
)

// finite says whether all of x is.
func finite(path Path, x []float32) bool {
	var lanes [16]float32
	for len(x) > 0 {
		n := min(len(x), chunk)
		pass{a: floats(x), sums: unsafe.Pointer(&lanes)}.stream(path, kFinite, n)
		for _, v := range lanes {
			if v != 0 {
				return false
			}
		}
		x = x[n:]
	}
	return true
}
