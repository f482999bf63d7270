package data_test

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reprise-ml/reprise/data"
)

// oddFiles reads the archive of odd JPEG files, by name.
func oddFiles(t *testing.T) map[string][]byte {
	t.Helper()
	dir := os.Getenv("REPRISE_DATA")
	if dir == "" {
		t.Skip("REPRISE_DATA names no directory of test data")
	}
	f, err := os.Open(filepath.Join(dir, "odd-jpeg.tar.gz"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[path.Base(h.Name)] = b
	}
}

func TestOddFilesAreDecodedAsPILDoesOrRefused(t *testing.T) {
	// The colours are those of Pillow 9.4 (libjpeg-turbo). It, too, refuses
	// what is refused here, but for the four of which the table says so.
	want := map[string]struct {
		width, height int
		mean          [3]float64
		refused       string
	}{
		"adobe_rgb.jpg":     {150, 103, [3]float64{144.6, 94.4, 70.5}, ""},
		"cmyk.jpg":          {150, 103, [3]float64{96.4, 58.3, 50.5}, ""},
		"progressive.jpg":   {150, 103, [3]float64{144.8, 94.6, 70.3}, ""},
		"png_named.jpg":     {150, 103, [3]float64{144.8, 94.5, 70.2}, ""},
		"orientation_0.jpg": {50, 70, [3]float64{189.4, 189.4, 189.4}, ""}, // EXIF's orientation
		"orientation_1.jpg": {50, 70, [3]float64{189.4, 189.4, 189.4}, ""}, // is not applied, as in
		"orientation_2.jpg": {50, 70, [3]float64{189.4, 189.4, 189.4}, ""}, // torchvision
		"orientation_3.jpg": {50, 70, [3]float64{189.4, 189.4, 189.4}, ""},
		"orientation_4.jpg": {50, 70, [3]float64{189.4, 189.4, 189.4}, ""},
		"orientation_5.jpg": {70, 50, [3]float64{189.4, 189.4, 189.4}, ""},
		"orientation_6.jpg": {70, 50, [3]float64{189.4, 189.4, 189.4}, ""},
		"orientation_7.jpg": {70, 50, [3]float64{189.4, 189.4, 189.4}, ""},
		"orientation_8.jpg": {70, 50, [3]float64{189.4, 189.4, 189.4}, ""},

		"bad_quant_selector.jpg":    {refused: "bad Tq value"},
		"corrupt.jpg":               {refused: "bad Huffman code"},
		"corrupt34_2.jpg":           {refused: "2544×3300 pixels, more than 755 bytes of JPEG can hold"},
		"corrupt34_3.jpg":           {refused: "2544×3300 pixels, more than 5505 bytes of JPEG can hold"},
		"corrupt34_4.jpg":           {refused: "2544×3300 pixels, more than 5092 bytes of JPEG can hold"},
		"empty.jpg":                 {refused: "the picture is empty"},
		"gzip_named.jpg":            {refused: "no JPEG, PNG, GIF or WebP: it is packed with gzip"},
		"html_named.jpg":            {refused: "no JPEG, PNG, GIF or WebP: it is a web page (HTML)"},
		"huge_header_65500.jpg":     {refused: "the picture is 65500×65500 pixels"},
		"lossless.jpg":              {refused: "unsupported JPEG feature"},
		"tables_only.jpg":           {refused: "missing SOS marker"},
		"testorig12.jpg":            {refused: "unsupported JPEG feature: precision"},
		"truncated.jpg":             {refused: "short Huffman data"},
		"bad_huffman.jpg":           {refused: "bad Huffman code"},                         // PIL: garbage from the damage on, with a warning
		"progressive_truncated.jpg": {refused: "ends before the last scan"},                // PIL: a blurred picture
		"odd_subsampling_441.jpg":   {refused: "unsupported JPEG feature: luma/chroma"},    // PIL decodes it
		"testimgari.jpg":            {refused: "unsupported JPEG feature: unknown marker"}, // arithmetic coding; PIL decodes it
	}
	files := oddFiles(t)
	for name := range want {
		if _, ok := files[name]; !ok {
			t.Errorf("%s is missing from the archive", name)
		}
	}
	for name, b := range files {
		w, ok := want[name]
		if !ok {
			t.Errorf("%s: no verdict is known", name)
			continue
		}
		p, err := data.Picture{Encoded: b}.Decode()
		if w.refused != "" {
			if err == nil || !strings.Contains(err.Error(), w.refused) {
				t.Errorf("%s: error is %v, want one with %q", name, err, w.refused)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if width, height := p.Bounds(); width != w.width || height != w.height {
			t.Errorf("%s has %d×%d pixels, want %d×%d", name, width, height, w.width, w.height)
		}
		if got := mean(p); !near(got, w.mean, 1) {
			t.Errorf("%s has mean colour %.1f, want %.1f", name, got, w.mean)
		}
	}
	huge := files["huge_header_65500.jpg"]
	if n := allocated(func() { data.Picture{Encoded: huge}.Decode() }); n > 1<<17 {
		t.Errorf("a header of 65500×65500 pixels takes %d bytes to refuse", n)
	}
}

func TestOddFilesAreUprightWhereTheirOrientationIsApplied(t *testing.T) {
	files := oddFiles(t)
	decode := func(name string) data.Picture {
		p, err := data.Picture{Encoded: files[name]}.Decode()
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	want := decode("orientation_1.jpg").RGB()
	for o := range 9 {
		p := decode(fmt.Sprintf("orientation_%d.jpg", o))
		if got := p.Oriented(); got != max(o, 1) {
			t.Errorf("orientation %d is read as %d", o, got)
		}
		q := p.Upright().RGB()
		if q.Width != want.Width || q.Height != want.Height {
			t.Errorf("orientation %d makes %d×%d pixels of it", o, q.Width, q.Height)
			continue
		}
		sum := 0
		for i, v := range q.Pix {
			sum += max(int(v)-int(want.Pix[i]), int(want.Pix[i])-int(v))
		}
		if mean := float64(sum) / float64(len(q.Pix)); mean > 3 {
			t.Errorf("orientation %d, applied, is %.1f a value from the picture itself", o, mean)
		}
	}
}
