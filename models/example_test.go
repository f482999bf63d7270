package models_test

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/reprise-ml/reprise/models"
	"github.com/reprise-ml/reprise/nn"
)

// Building a graph creates the weights, whatever it is for.
func ExampleResNetCIFAR() {
	model, err := models.ResNetCIFAR(20, 10)
	if err != nil {
		fmt.Println(err)
		return
	}
	var params nn.Params
	s := nn.NewScope(&params, nn.Config{Seed: 1})
	images := gorgonia.NewTensor(s.Graph(), tensor.Float32, 4, gorgonia.WithName("images"), gorgonia.WithShape(8, 32, 32, 3))
	logits := model.Apply(s, gorgonia.Nodes{images})
	if err := s.Err(); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(logits[0].Shape(), params.Count())
	// Output: (8, 10) 269722
}

func ExampleResNet() {
	model, err := models.ResNet(50, 1000)
	if err != nil {
		fmt.Println(err)
		return
	}
	var params nn.Params
	s := nn.NewScope(&params, nn.Config{Seed: 1})
	images := gorgonia.NewTensor(s.Graph(), tensor.Float32, 4, gorgonia.WithName("images"), gorgonia.WithShape(1, 224, 224, 3))
	logits := model.Apply(s, gorgonia.Nodes{images})
	fmt.Println(logits[0].Shape(), params.Count(), s.Err())
	// Output: (1, 1000) 25557032 <nil>
}

func ExampleMLP() {
	var params nn.Params
	s := nn.NewScope(&params, nn.Config{})
	x := gorgonia.NewMatrix(s.Graph(), tensor.Float32, gorgonia.WithName("x"), gorgonia.WithShape(8, 4))
	models.MLP([]int{16}, 3).Apply(s, gorgonia.Nodes{x})
	for _, w := range params.Export() {
		fmt.Println(w.Name, w.Shape)
	}
	// Output:
	// 1.weight [16 4]
	// 1.bias [16]
	// 3.weight [3 16]
	// 3.bias [3]
}
