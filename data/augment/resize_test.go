package augment_test

import (
	"fmt"
	"image"
	"math"
	"testing"

	"github.com/disintegration/imaging"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/data/augment"
)

// formula is a picture that can be made elsewhere too.
func formula(w, h int) data.Picture {
	p := data.Picture{Width: w, Height: h}
	for y := range h {
		for x := range w {
			p.Pix = append(p.Pix, uint8(x*37+y*11), uint8(x*x*3+y*29), uint8(x*y*7+90))
		}
	}
	return p
}

// far is the largest difference between two values of the same place.
func far(a, b []uint8) int {
	d := 0
	for i := range a {
		d = max(d, int(a[i])-int(b[i]), int(b[i])-int(a[i]))
	}
	return d
}

func TestResizeAgreesWithPIL(t *testing.T) {
	// Image.fromarray(formula(w, h)).resize((to w, to h), Image.BILINEAR) of
	// Pillow 9.4.
	for _, test := range []struct {
		w, h, toW, toH int
		want           []uint8
	}{
		{11, 7, 4, 3, []uint8{51, 32, 97, 144, 69, 112, 129, 147, 128, 81, 128, 143, 75, 94, 114, 164, 131, 160, 129, 159, 146, 105, 103, 105, 99, 156, 131, 179, 189, 143, 96, 130, 81, 129, 131, 153}},
		{5, 4, 8, 6, []uint8{0, 0, 90, 16, 1, 90, 39, 4, 90, 62, 9, 90, 86, 17, 90, 109, 26, 90, 132, 39, 90, 148, 48, 90, 6, 15, 90, 22, 16, 92, 45, 19, 94, 68, 24, 96, 92, 32, 98, 115, 41, 101, 138, 54, 103, 154, 63, 104, 13, 34, 90, 29, 35, 94, 52, 38, 98, 75, 43, 104, 99, 51, 109, 122, 60, 114, 145, 73, 119, 161, 82, 123, 20, 53, 90, 36, 54, 95, 59, 57, 104, 82, 62, 112, 106, 70, 119, 129, 79, 128, 152, 92, 136, 168, 101, 141, 28, 73, 90, 44, 74, 98, 67, 77, 109, 90, 82, 120, 114, 90, 131, 137, 99, 142, 160, 112, 153, 176, 121, 160, 33, 87, 90, 49, 88, 99, 72, 91, 112, 95, 96, 125, 119, 104, 139, 142, 113, 152, 165, 126, 165, 181, 135, 174}},
		{9, 6, 9, 3, []uint8{8, 21, 90, 45, 24, 95, 82, 33, 100, 119, 48, 105, 156, 69, 110, 193, 96, 115, 230, 129, 120, 11, 168, 125, 48, 213, 130, 28, 73, 90, 65, 76, 108, 102, 85, 125, 139, 100, 143, 176, 121, 160, 213, 148, 178, 218, 181, 163, 31, 188, 181, 68, 137, 102, 47, 124, 90, 84, 127, 120, 121, 136, 150, 158, 151, 180, 195, 172, 210, 232, 199, 130, 50, 232, 51, 50, 52, 81, 87, 60, 74}},
	} {
		q, err := augment.Resize{Width: test.toW, Height: test.toH}.Augment(formula(test.w, test.h), nil)
		if err != nil {
			t.Fatal(err)
		}
		if d := far(q.Pix, test.want); d > 1 {
			t.Errorf("%d×%d to %d×%d differs by %d:\n%v, want\n%v", test.w, test.h, test.toW, test.toH, d, q.Pix, test.want)
		}
	}
}

// triangle is a bilinear resize of one row or column of values, the filter
// growing with the ratio.
func triangle(from []float64, to int) []float64 {
	ratio := float64(len(from)) / float64(to)
	wide := max(ratio, 1)
	out := make([]float64, to)
	for i := range out {
		centre, sum := (float64(i)+0.5)*ratio, 0.0
		for j, v := range from {
			w := max(0, 1-math.Abs(float64(j)+0.5-centre)/wide)
			out[i] += w * v
			sum += w
		}
		out[i] /= sum
	}
	return out
}

func TestResizeIsBilinearAndAntialiased(t *testing.T) {
	for _, shape := range [][4]int{{40, 30, 13, 9}, {13, 9, 40, 30}, {30, 20, 30, 20}, {64, 10, 8, 20}} {
		w, h, toW, toH := shape[0], shape[1], shape[2], shape[3]
		p := forms(w, h)["Pix"]
		q, err := augment.Resize{Width: toW, Height: toH}.Augment(p, nil)
		if err != nil {
			t.Fatal(err)
		}
		rows := make([][]float64, h)
		for c := range 3 {
			for y := range h {
				row := make([]float64, w)
				for x := range w {
					row[x] = float64(at(p, x, y)[c])
				}
				rows[y] = triangle(row, toW)
			}
			for x := range toW {
				col := make([]float64, h)
				for y := range h {
					col[y] = rows[y][x]
				}
				for y, want := range triangle(col, toH) {
					if got := float64(at(q, x, y)[c]); math.Abs(got-want) > 1.01 {
						t.Fatalf("%v: channel %d of (%d, %d) is %v, want %.2f", shape, c, x, y, got, want)
					}
				}
			}
		}
	}
}

func TestResizingPlanesAgreesWithImaging(t *testing.T) {
	for _, ratio := range []image.YCbCrSubsampleRatio{image.YCbCrSubsampleRatio444, image.YCbCrSubsampleRatio422, image.YCbCrSubsampleRatio420} {
		m := gentle(image.NewYCbCr(image.Rect(0, 0, 150, 110), ratio))
		for _, c := range []augment.Resize{{Size: 48}, {Width: 64, Height: 200}, {Width: 33, Height: 21}} {
			q, err := c.Augment(data.Picture{Image: m}, nil)
			if err != nil {
				t.Fatal(err)
			}
			want := imaging.Resize(m, q.Width, q.Height, imaging.Linear)
			sum := 0
			for i := range q.Width * q.Height {
				for c := range 3 {
					d := int(q.Pix[3*i+c]) - int(want.Pix[4*i+c])
					sum += max(d, -d)
				}
			}
			if mean := float64(sum) / float64(len(q.Pix)); mean > 1 {
				t.Errorf("%+v of %v differs by %.2f on average", c, ratio, mean)
			}
		}
	}
}

func ExampleResize() {
	photo := numbered(50, 37)
	small, err := augment.Resize{Size: 24}.Augment(photo, nil)
	fmt.Println(small.Width, small.Height, err)
	square, err := augment.CenterCrop{Size: 24}.Augment(small, nil)
	fmt.Println(square.Width, square.Height, err)
	// Output:
	// 32 24 <nil>
	// 24 24 <nil>
}
