//go:build !amd64 || purego

package jpeg

func bestPath() Path { return Generic }

func simdPaths() []Path { return nil }
