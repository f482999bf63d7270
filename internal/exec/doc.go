// Package exec runs a Gorgonia graph many times without allocating.
//
// [Compile] looks once at a graph and at the nodes whose values are wanted. It
// leaves out every node those do not need (such as the gradient with respect
// to the input of the first layer), orders the rest, and gives each result a
// place in one block of memory, where results that are never alive at the same
// time share a place. The [Machine] it returns is a flat list of steps.
//
//	m, err := exec.Compile(g, append(grads, loss))
//	for range steps {
//		// fill the tensors bound to the inputs of g, then
//		if err := m.RunAll(); err != nil { … }
//		l := m.Value(loss)
//		// update the weights in place, then
//		m.Commit()
//	}
//
// # What an op can tell the machine
//
// Every [gorgonia.Op] runs. An op gets more out of the machine by having one
// of these methods; they are found by shape, nothing has to be imported.
//
//   - [Owner]: the op writes its result to a tensor of its own, which the
//     machine may exchange for one that shares memory. Do must overwrite the
//     whole of it and read nothing from it; what a later op reads of it must be
//     an input of that later op.
//   - [Viewer]: the result points into one of the inputs.
//   - [Committer]: the op has state, such as running statistics, that changes
//     only after a step that is to count.
//
// The result of an op with none of the first two may point into any of its
// inputs, as the results of some built-in ops do; the memory of those inputs is
// then kept for as long as the result is needed.
package exec
