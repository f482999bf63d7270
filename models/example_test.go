package models_test

import (
	"fmt"
	"math/rand/v2"

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

func ExampleTransformer() {
	m := models.Transformer{Layers: 4, Width: 256, Heads: 4, Context: 128, Vocabulary: 8192}
	model, err := m.Model()
	if err != nil {
		fmt.Println(err)
		return
	}
	var params nn.Params
	s := nn.NewScope(&params, nn.Config{Seed: 1})
	tokens := gorgonia.NewMatrix(s.Graph(), tensor.Int32, gorgonia.WithName("tokens"), gorgonia.WithShape(16, 128))
	logits := model.Apply(s, gorgonia.Nodes{tokens})
	fmt.Println(logits[0].Shape(), params.Count(), s.Err())
	// Output: (16, 128, 8192) 7386624 <nil>
}

// A generator shares the weights that training changes. Here they are the first ones: it babbles.
func ExampleTransformer_Generator() {
	m := models.Transformer{Layers: 1, Width: 8, Heads: 2, Context: 16, Vocabulary: 100}
	var params nn.Params
	g, err := m.Generator(&params, 1, nn.Config{Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	how := models.Sampling{Temperature: 0.8, TopK: 40}
	tokens := 0
	for _, err := range g.Generate([]int32{1, 2, 3}, 5, how, rand.New(rand.NewPCG(1, 0))) {
		if err != nil {
			fmt.Println(err)
			return
		}
		tokens++
	}
	fmt.Println(tokens, "tokens, room for", g.Room())
	// Output: 5 tokens, room for 9
}

func ExampleViTOf() {
	v, err := models.ViTOf("tiny", 100)
	if err != nil {
		fmt.Println(err)
		return
	}
	v.Patch, v.Pool = 4, "mean" // for images of 32 pixels
	fmt.Println(v.Layers, v.Width, v.Heads, v.Check())
	// Output: 12 192 3 <nil>
}

func ExampleSampling() {
	logits := []float32{0.5, 2, 1}
	fmt.Println(models.Sampling{}.Draw(logits, nil))
	// Output: 1
}
