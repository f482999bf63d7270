// Package specs holds ready-to-run Specs.
package specs

import "embed"

// Files are the Specs that the program carries, by file name.
//
//go:embed *.yaml
var Files embed.FS
