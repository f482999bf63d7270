package op_test

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/reprise-ml/reprise/nn/op"
)

// A convolution that sums 2x2 windows, a ReLU, and the gradient of the weights.
func Example() {
	g := gorgonia.NewGraph()
	node := func(name string, x []float32, shape ...int) *gorgonia.Node {
		t := tensor.New(tensor.WithShape(shape...), tensor.WithBacking(x))
		return gorgonia.NewTensor(g, tensor.Float32, len(shape), gorgonia.WithName(name), gorgonia.WithShape(shape...), gorgonia.WithValue(t))
	}
	x := node("x", []float32{1, 2, 3, -4, -5, -6, 7, 8, 9}, 1, 3, 3, 1) // one image of 3x3 pixels
	w := node("w", []float32{1, 1, 1, 1}, 2, 2, 1, 1)

	p := op.NewPool(0)
	defer p.Close()
	y, err := op.Conv(p, x, w, op.ConvConfig{})
	if err != nil {
		fmt.Println(err)
		return
	}
	if y, err = op.ReLU(p, y); err != nil {
		fmt.Println(err)
		return
	}
	sum := gorgonia.Must(gorgonia.Sum(y))
	grads, err := gorgonia.Grad(sum, w)
	if err != nil {
		fmt.Println(err)
		return
	}
	vm := gorgonia.NewTapeMachine(g)
	defer vm.Close()
	if err := vm.RunAll(); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(y.Value().Data())
	fmt.Println(grads[0].Value().Data())
	// Output:
	// [0 0 6 6]
	// [-9 -11 15 17]
}
