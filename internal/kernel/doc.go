// Package kernel holds the float32 arithmetic of training as plain functions and small
// types on slices. Nothing here knows of graphs or tensors.
//
// Activations are NHWC: the channel is the fastest index. Convolution weights are
// [kernel height, kernel width, in, out], linear weights [out, in].
//
// A function such as ReLU or Add works on the slices it is given and runs on the caller's
// goroutine; callers split the work with Chunks and Pool.Run. A type such as ConvForward or
// BatchNorm is made once for a shape, owns the scratch memory it needs and runs on a Pool. It
// does not allocate after it was made, and must not be used by two goroutines at once.
//
// There are three paths, chosen for the processor: AVX-512, AVX2 and plain Go; see ActivePath. A type keeps the path
// that was active when it was made.
//
// Work is split by the shape alone, never by the number of threads, and every sum is
// added in a fixed order, so a Pool of any size gives the same bits
// on one path.
//
// Lengths are the caller's duty: a slice of the wrong length is a bug and panics.
package kernel
