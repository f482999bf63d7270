package jpeg

import (
	"encoding/json"
	"image"
	"os"
	"testing"
)

func TestCropsAreResizedAsPILDoes(t *testing.T) {
	text, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Box    [4]int
		Size   [2]int
		File   []byte // empty: that of the case before
		Pixels []byte
	}
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	everyPath(t, func(t *testing.T, path Path) {
		d, r, p, file := Decoder{Path: path}, Resampler{Path: path}, Planes{}, []byte(nil)
		for _, c := range cases {
			if len(c.File) > 0 {
				file = c.File
			}
			crop := image.Rect(c.Box[0], c.Box[1], c.Box[2], c.Box[3])
			if err := d.Decode(&p, file, Options{Crop: crop}); err != nil {
				t.Fatal(err)
			}
			got, sum, most := make([]byte, len(c.Pixels)), 0, 0
			r.RGB8(got, c.Size[0], c.Size[1], &p, crop, false)
			for i, v := range got {
				d := max(int(v)-int(c.Pixels[i]), int(c.Pixels[i])-int(v))
				sum, most = sum+d, max(most, d)
			}
			mean := float64(sum) / float64(len(got))
			t.Logf("%v to %v: %.3f on average, at most %d", c.Box, c.Size, mean, most)
			if mean > 1 || most > 40 {
				t.Errorf("%v to %v differs by %.2f on average, at most %d", c.Box, c.Size, mean, most)
			}
		}
	})
}
