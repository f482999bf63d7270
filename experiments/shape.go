package experiments

import (
	"fmt"
	"math/rand/v2"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/train"
)

// Shape is what the data asks of a model.
type Shape struct {
	Size    int // width and height of the pictures, which have 3 channels; 0 for text
	Classes int // of pictures; for text the size of its vocabulary
	Context int // tokens of an example of text; 0 for pictures
}

// Text reports whether the data is text, for a language model, rather than
// pictures in classes.
func (s Shape) Text() bool { return s.Context > 0 }

// wantPictures is the error of a model of pictures for other data.
func (s Shape) wantPictures() error {
	if s.Text() {
		return fmt.Errorf("is a model of pictures, and data.source has text; want transformer")
	}
	return nil
}

// wantText is the error of a language model for other data.
func (s Shape) wantText() error {
	if !s.Text() {
		return fmt.Errorf("is a language model, and data.source has pictures; want a model of pictures, such as resnet_cifar or vit")
	}
	return nil
}

// noise is a batch of random data of this shape.
func (s Shape) noise(rows int) data.Batch {
	r := rand.New(rand.NewPCG(1, uint64(rows)))
	classes := func(shape ...int) data.Array {
		n := 1
		for _, d := range shape {
			n *= d
		}
		a := data.Array{Shape: shape, I32: make([]int32, n)}
		for i := range a.I32 {
			a.I32[i] = r.Int32N(int32(s.Classes))
		}
		return a
	}
	b := data.Batch{Origins: make([]data.Origin, rows)}
	if s.Text() {
		b.Inputs, b.Targets = []data.Array{classes(rows, s.Context)}, []data.Array{classes(rows, s.Context)}
		return b
	}
	x := data.Array{Shape: []int{rows, s.Size, s.Size, 3}, F32: make([]float32, rows*s.Size*s.Size*3)}
	for i := range x.F32 {
		x.F32[i] = float32(r.NormFloat64())
	}
	b.Inputs, b.Targets = []data.Array{x}, []data.Array{classes(rows)}
	return b
}

// task is what a model of such data learns, with label smoothing from 0 up
// to 1.
func (s Shape) task(smoothing float64) train.Task {
	if s.Text() {
		return train.LanguageModelling(smoothing)
	}
	return train.Classification(smoothing)
}
