package jpeg_test

import (
	"bytes"
	"fmt"
	"image"
	stock "image/jpeg"

	"github.com/reprise-ml/reprise/internal/jpeg"
)

// A part of a picture, resized and flipped. The decoder, the planes and the resampler serve for any number of pictures.
func Example() {
	m := image.NewGray(image.Rect(0, 0, 60, 40))
	for i := range m.Pix {
		m.Pix[i] = uint8(4 * (i % 60))
	}
	var file bytes.Buffer
	if err := stock.Encode(&file, m, nil); err != nil {
		fmt.Println(err)
		return
	}
	var d jpeg.Decoder
	var planes jpeg.Planes
	var r jpeg.Resampler
	crop := image.Rect(10, 5, 50, 35)
	if err := d.Decode(&planes, file.Bytes(), jpeg.Options{Crop: crop}); err != nil {
		fmt.Println(err) // and image/jpeg may decode it
		return
	}
	rgb := make([]byte, 3*4*3)
	r.RGB8(rgb, 4, 3, &planes, crop, true)
	for y := range 3 {
		fmt.Println(rgb[12*y : 12*(y+1)])
	}
	// Output:
	// [174 174 174 138 138 138 98 98 98 62 62 62]
	// [174 174 174 138 138 138 98 98 98 62 62 62]
	// [174 174 174 138 138 138 98 98 98 62 62 62]
}

func ExampleDecoder_Config() {
	var file bytes.Buffer
	if err := stock.Encode(&file, image.NewNRGBA(image.Rect(0, 0, 60, 40)), nil); err != nil {
		fmt.Println(err)
		return
	}
	var d jpeg.Decoder
	fmt.Println(d.Config(file.Bytes()))
	// Output:
	// {60 40 3 2 2 false} <nil>
}
