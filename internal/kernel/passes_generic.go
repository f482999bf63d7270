//go:build !amd64 || purego

package kernel

// call has nothing to run: the path is Generic in this build.
func (p *pass) call(path Path, _ passKernel) {
	panic("kernel: no assembly on path " + path.String())
}
