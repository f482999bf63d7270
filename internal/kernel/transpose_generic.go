//go:build !amd64 || purego

package kernel

func transposeBlock([]float32, int, []float32, int, int) {
	panic("kernel: no path but the generic one")
}
