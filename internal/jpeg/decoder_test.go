package jpeg

import (
	"bytes"
	"image/jpeg"
	"testing"
)

// everyPath runs a test on each path this machine has.
func everyPath(t *testing.T, f func(t *testing.T, p Path)) {
	for _, p := range Paths() {
		t.Run(p.String(), func(t *testing.T) { f(t, p) })
	}
}

func TestGoFilesAreDecodedAsImageJPEGDoes(t *testing.T) {
	files := goFiles()
	if len(files) == 0 {
		t.Skip("Go is here without its sources")
	}
	other := map[string]bool{ // what is left to image/jpeg
		"video-001.cmyk.jpeg": true, "video-001.rgb.jpeg": true,
		"video-001.q50.410.jpeg": true, "video-001.q50.410.progressive.jpeg": true,
		"video-001.q50.411.jpeg": true, "video-001.q50.411.progressive.jpeg": true,
		"video-001.progressive.truncated.jpeg": true,
	}
	everyPath(t, func(t *testing.T, path Path) {
		d, p := Decoder{Path: path}, Planes{}
		for name, b := range files {
			err := d.Decode(&p, b, Options{})
			if other[name] {
				if err == nil {
					t.Errorf("%s is decoded", name)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			want, err := jpeg.Decode(bytes.NewReader(b))
			if err != nil {
				t.Fatal(err)
			}
			if mean, most := distance(t, p.Image(), want); mean > 0.1 || most > 2 {
				t.Errorf("%s differs by %.3f on average, at most %.0f", name, mean, most)
			}
		}
	})
}

func TestPhotographsAreDecodedAsImageJPEGDoes(t *testing.T) {
	names, files := archive(t, "imagenet-240.tar", 24)
	everyPath(t, func(t *testing.T, path Path) {
		d, p := Decoder{Path: path}, Planes{}
		for _, name := range names {
			if err := d.Decode(&p, files[name], Options{}); err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			want, err := jpeg.Decode(bytes.NewReader(files[name]))
			if err != nil {
				t.Fatal(err)
			}
			if mean, most := distance(t, p.Image(), want); mean > 0.05 || most > 2 {
				t.Errorf("%s differs by %.3f on average, at most %.0f", name, mean, most)
			}
		}
	})
}
