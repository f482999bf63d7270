package augment_test

import (
	"context"
	"fmt"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/data/augment"
)

// Copies of one read share a picture until here, and each is augmented anew.
func Example() {
	photo := data.Picture{Pix: make([]uint8, 3*500*375), Width: 500, Height: 375}
	copies := func(yield func(data.Example, error) bool) {
		for n := range 2 {
			if !yield(data.Example{Input: photo}.Echo(n), nil) {
				return
			}
		}
	}
	train := []data.Augmentation{
		augment.RandomResizedCrop{Size: 224},
		augment.Flip{},
		augment.ColorJitter{Brightness: 0.4, Contrast: 0.4, Saturation: 0.4},
	}
	const workers, seed = 2, 1
	for e, err := range data.Augment(context.Background(), copies, workers, seed, train...) {
		if err != nil {
			fmt.Println(err)
			return
		}
		w, h := e.Input.(data.Picture).Bounds()
		fmt.Printf("copy %d: %d×%d\n", e.Origin.Copy, w, h)
	}
	// Output:
	// copy 0: 224×224
	// copy 1: 224×224
}

func ExampleRandomResizedCrop_Check() {
	fmt.Println(augment.RandomResizedCrop{}.Check())
	// Output: augment: random resized crop: size is 0, want 1 or more
}
