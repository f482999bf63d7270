//go:build !amd64 || purego

package kernel

func simdPaths() []Path { return nil }
