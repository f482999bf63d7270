package optim_test

import (
	"fmt"
	"log"

	"github.com/reprise-ml/reprise/optim"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// The slope of y = 3x is learnt with a Gorgonia graph, whose nodes are weights as they are.
func ExampleSGD() {
	g := gorgonia.NewGraph()
	vector := func(x ...float32) *tensor.Dense { return tensor.New(tensor.WithShape(len(x)), tensor.WithBacking(x)) }
	x := gorgonia.NewVector(g, tensor.Float32, gorgonia.WithName("x"), gorgonia.WithShape(3), gorgonia.WithValue(vector(1, 2, 3)))
	y := gorgonia.NewVector(g, tensor.Float32, gorgonia.WithName("y"), gorgonia.WithShape(3), gorgonia.WithValue(vector(3, 6, 9)))
	slope := vector(0, 0, 0)
	w := gorgonia.NewVector(g, tensor.Float32, gorgonia.WithName("slope"), gorgonia.WithShape(3), gorgonia.WithValue(slope))
	residual := gorgonia.Must(gorgonia.Sub(gorgonia.Must(gorgonia.HadamardProd(w, x)), y))
	loss := gorgonia.Must(gorgonia.Sum(gorgonia.Must(gorgonia.Square(residual))))
	if _, err := gorgonia.Grad(loss, w); err != nil {
		log.Fatal(err)
	}
	machine := gorgonia.NewTapeMachine(g)
	defer machine.Close()

	optimizer := &optim.SGD{Momentum: 0.5}
	schedule := optim.Linear{From: 0.05, To: 0.01, Over: 100}
	weights := []gorgonia.ValueGrad{w}
	for step := range 100 {
		if err := machine.RunAll(); err != nil {
			log.Fatal(err)
		}
		optimizer.SetRate(schedule.Rate(float64(step)))
		if err := optimizer.Step(weights); err != nil {
			log.Fatal(err)
		}
		machine.Reset()
	}
	fmt.Printf("%.3f\n", slope.Float32s())
	// Output: [3.000 3.000 3.000]
}

// The average of two weights is put into the model for evaluation and taken out again.
func ExampleEMA() {
	weight := []float32{0, 8}
	model := []optim.Vector{{Name: "fc.weight", Data: weight}}
	average := optim.EMA{Decay: 0.75}
	for range 2 {
		if err := average.Update(model); err != nil {
			log.Fatal(err)
		}
		weight[0] += 4
	}
	for range 2 {
		if err := average.Swap(model); err != nil {
			log.Fatal(err)
		}
		fmt.Println(weight)
	}
	// Output:
	// [1 8]
	// [8 8]
}
