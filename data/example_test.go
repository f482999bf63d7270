package data_test

import (
	"image"
	"testing"

	"github.com/reprise-ml/reprise/data"
)

func TestACopyOfAnExampleSharesItsMemory(t *testing.T) {
	e := data.Example{Input: data.Tokens{1, 2, 3}, Target: data.Soft{0.5, 0.5}, Origin: data.Origin{Index: 4, Read: 5}, Reads: 6}
	for n := range 3 {
		c := e.Echo(n)
		if &c.Input.(data.Tokens)[0] != &e.Input.(data.Tokens)[0] || &c.Target.(data.Soft)[0] != &e.Target.(data.Soft)[0] {
			t.Errorf("copy %d has memory of its own", n)
		}
		if c.Origin != e.Origin.Echo(n) || c.Reads != 6 {
			t.Errorf("copy %d of %+v is %+v", n, e, c)
		}
		if draws(c.Rand(7)) != draws(c.Origin.Rand(7)) {
			t.Errorf("copy %d draws otherwise than its origin", n)
		}
	}
	if e.Origin.Copy != 0 {
		t.Error("echoing changed the example")
	}
}

func TestTheSizeOfAnExampleIsThatOfItsValues(t *testing.T) {
	for _, test := range []struct {
		example data.Example
		want    int
	}{
		{data.Example{}, 0},
		{data.Example{Input: data.Tokens{1, 2, 3}, Target: data.Class(1)}, 16},
		{data.Example{Target: data.Soft{0, 1}}, 8},
		{data.Example{Input: data.Picture{Encoded: make([]byte, 100)}}, 100},
		{data.Example{Input: data.Picture{Pix: make([]uint8, 12), Width: 2, Height: 2}, Target: data.Class(0)}, 16},
		{data.Example{Input: data.Picture{Image: image.NewYCbCr(image.Rect(0, 0, 4, 4), image.YCbCrSubsampleRatio420)}}, 24},
		{data.Example{Input: data.Picture{Image: image.NewGray(image.Rect(0, 0, 5, 4))}}, 20},
		{data.Example{Input: data.Picture{Image: image.NewRGBA(image.Rect(0, 0, 5, 4))}}, 80},
	} {
		if got := test.example.Size(); got != test.want {
			t.Errorf("the size of %+v is %d, want %d", test.example, got, test.want)
		}
	}
}
