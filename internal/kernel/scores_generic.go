//go:build !amd64 || purego

package kernel

// call has nothing to run: the path is Generic in this build.
func (s *scores) call(path Path, _ scoreKernel) {
	panic("kernel: no assembly on path " + path.String())
}
