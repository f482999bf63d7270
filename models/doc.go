// Package models holds ready-made models. Each is a function that returns an [nn.Model], or a struct of its sizes with a method
// that does; the weights it creates have the names they have in PyTorch's models, so that files of weights can be exchanged.
package models
