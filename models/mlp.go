package models

import "github.com/reprise-ml/reprise/nn"

// MLP is a perceptron with ReLU after every hidden layer of the given widths: [rows, …] to logits
// [rows, classes]. Without hidden layers it is a linear classifier. Names are those of
//
//	torch.nn.Sequential(Flatten(), Linear(…), ReLU(), …, Linear(…))
func MLP(hidden []int, classes int) nn.Model {
	layers := nn.Sequential{nn.Flatten{}}
	for _, width := range hidden {
		layers = append(layers, nn.Linear{Out: width}, nn.ReLU{})
	}
	return nn.Single(append(layers, nn.Linear{Out: classes}))
}
