//go:build !unix

package experiments

// peakRSS is unknown on this system.
func peakRSS() int64 { return 0 }
