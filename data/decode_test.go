package data_test

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"reflect"
	"testing"

	"github.com/reprise-ml/reprise/data"
)

func TestAStageDecodesAPictureAsItIsDecodedAlone(t *testing.T) {
	var pictures []data.Picture
	for i := range 12 { // of changing sizes, tables and formats
		m := image.NewNRGBA(image.Rect(0, 0, 20+7*i, 90-5*i))
		noise(m.Pix)
		var b bytes.Buffer
		err := error(nil)
		switch i % 4 {
		case 0:
			err = png.Encode(&b, m)
		case 1:
			gray := image.NewGray(m.Rect)
			noise(gray.Pix)
			err = jpeg.Encode(&b, gray, nil)
		default:
			err = jpeg.Encode(&b, m, &jpeg.Options{Quality: 20 + 6*i})
		}
		if err != nil {
			t.Fatal(err)
		}
		pictures = append(pictures, data.Picture{Encoded: b.Bytes()})
	}
	in := func(yield func(data.Example, error) bool) {
		for i := range 60 {
			if !yield(data.Example{Input: pictures[i%len(pictures)], Origin: data.Origin{Index: i}}, nil) {
				return
			}
		}
	}
	for e, err := range data.Decode(context.Background(), in, 3, nil) {
		if err != nil {
			t.Fatal(err)
		}
		want, err := pictures[e.Origin.Index%len(pictures)].Decode()
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Input.(data.Picture); !reflect.DeepEqual(got.RGB(), want.RGB()) {
			t.Errorf("record %d differs", e.Origin.Index)
		}
	}
}

func TestAPartIsResampledWithAndWithoutThePlanesOfAJPEG(t *testing.T) {
	m := image.NewGray(image.Rect(0, 0, 40, 30))
	for i := range m.Pix {
		m.Pix[i] = uint8(5*(i%40) + i/40)
	}
	v := data.View{Part: image.Rect(4, 2, 36, 26), Width: 16, Height: 12, Flip: true}
	got, want := data.Picture{Image: m}.See(v), data.Picture{Image: m}.RGB().See(v)
	if !reflect.DeepEqual(got, want) || got.Width != 16 || got.Height != 12 || len(got.Pix) != 3*16*12 {
		t.Errorf("the part is %v, want %v", got, want)
	}
}

func ExamplePicture_See() {
	p := data.Picture{Pix: make([]uint8, 3*8*4), Width: 8, Height: 4}
	for i := range p.Pix {
		p.Pix[i] = uint8(10 * (i / 3 % 8)) // the column
	}
	half := p.See(data.View{Part: image.Rect(2, 0, 6, 4), Width: 2, Height: 2})
	fmt.Println(half.Width, half.Height, half.Pix)
	// Output:
	// 2 2 [27 27 27 43 43 43 27 27 27 43 43 43]
}
