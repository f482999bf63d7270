//go:build !linux

package experiments

// residentSize is the memory of the process that is in RAM, in bytes; 0 where the system does not tell.
func residentSize() int64 { return 0 }
