package experiments

import (
	"fmt"
	"os"
)

// residentSize is the memory of the process that is in RAM, in bytes; 0 where the system does not tell.
func residentSize() int64 {
	f, err := os.Open("/proc/self/statm")
	if err != nil {
		return 0
	}
	defer f.Close()
	var size, resident int64
	if _, err := fmt.Fscan(f, &size, &resident); err != nil {
		return 0
	}
	return resident * int64(os.Getpagesize())
}
