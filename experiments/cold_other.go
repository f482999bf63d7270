//go:build !linux && !freebsd

package experiments

import "errors"

// dropCached is not possible on this system.
func dropCached([]string) error { return errors.ErrUnsupported }

// fetched is not known on this system.
func fetched() int64 { return 0 }
