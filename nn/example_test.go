package nn_test

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/reprise-ml/reprise/nn"
)

// A model is built, and trained for some steps by gradient descent, by hand: what a training loop
// does, without one.
func Example() {
	var params nn.Params
	s := nn.NewScope(&params, nn.Config{Train: true})
	x := gorgonia.NewMatrix(s.Graph(), tensor.Float32, gorgonia.WithName("x"), gorgonia.WithShape(4, 2),
		gorgonia.WithValue(tensor.New(tensor.WithShape(4, 2), tensor.WithBacking([]float32{0, 0, 0, 1, 1, 0, 1, 1}))))
	y := gorgonia.NewVector(s.Graph(), tensor.Int32, gorgonia.WithName("y"), gorgonia.WithShape(4),
		gorgonia.WithValue(tensor.New(tensor.WithShape(4), tensor.WithBacking([]int32{0, 1, 1, 1}))))
	weights := gorgonia.NewVector(s.Graph(), tensor.Float32, gorgonia.WithName("weights"), gorgonia.WithShape(4),
		gorgonia.WithValue(tensor.New(tensor.WithShape(4), tensor.WithBacking([]float32{1, 1, 1, 1}))))

	model := nn.Single(nn.Linear{Out: 2, Init: nn.Zeros})
	outputs := model.Apply(s, gorgonia.Nodes{x})
	loss := nn.CrossEntropy{}.Apply(s, outputs, gorgonia.Nodes{y}, weights)
	if err := s.Err(); err != nil {
		fmt.Println(err)
		return
	}
	grads, err := gorgonia.Grad(loss, s.Weights()...)
	if err != nil {
		fmt.Println(err)
		return
	}
	machine, err := s.Compile(append(grads, loss)...)
	if err != nil {
		fmt.Println(err)
		return
	}
	for step := range 3 {
		if err := machine.RunAll(); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("step %d: loss %.3f\n", step, machine.Value(loss).Data())
		for i, n := range s.Weights() {
			w, grad := n.Value().(*tensor.Dense).Float32s(), machine.Value(grads[i]).(*tensor.Dense).Float32s()
			for j := range w {
				w[j] -= 0.5 * grad[j]
			}
		}
		machine.Commit()
	}
	for _, w := range params.Export() {
		fmt.Println(w.Name, w.Shape)
	}
	// Output:
	// step 0: loss 0.786
	// step 1: loss 0.562
	// step 2: loss 0.472
	// weight [2 2]
	// bias [2]
}
