//go:build !amd64 || purego

package kernel

func prefetch(uintptr, int) {}
