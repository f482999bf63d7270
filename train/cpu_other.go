//go:build !unix

package train

import "time"

// CPUTime is the processor time of the process; this system does not tell, and it is 0.
func CPUTime() time.Duration { return 0 }
