//go:build !amd64 || purego

package kernel

func kernelsOf(Path) *microKernels { return nil }

func lanewiseOf(Path) *microKernels { return nil }
