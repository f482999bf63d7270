//go:build !unix

package kernel

import "time"

func processorTime() time.Duration { return 0 }
