package jpeg

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"go/build"
	"image"
	"image/color"
	"image/jpeg"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// archive reads the files of a tar archive of REPRISE_DATA, up to most, by name.
func archive(t testing.TB, name string, most int) (names []string, files map[string][]byte) {
	t.Helper()
	dir := os.Getenv("REPRISE_DATA")
	if dir == "" {
		t.Skip("REPRISE_DATA names no directory of test data")
	}
	f, err := os.Open(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var in io.Reader = f
	if strings.HasSuffix(name, ".gz") {
		if in, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	files = map[string][]byte{}
	for r := tar.NewReader(in); len(names) < most; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag != tar.TypeReg || strings.HasSuffix(h.Name, ".tsv") {
			continue
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		names, files[h.Name] = append(names, h.Name), b
	}
	return names, files
}

// goFiles reads the JPEG files that Go tests image/jpeg with; there are none where Go is without its sources.
func goFiles() map[string][]byte {
	files := map[string][]byte{}
	names, _ := filepath.Glob(filepath.Join(build.Default.GOROOT, "src/image/testdata/*.jpeg"))
	for _, name := range names {
		if b, err := os.ReadFile(name); err == nil {
			files[filepath.Base(name)] = b
		}
	}
	return files
}

// photo is a picture with edges and smooth parts.
func photo(w, h int) *image.NRGBA {
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	r := rand.New(rand.NewPCG(uint64(w), uint64(h)))
	for y := range h {
		for x := range w {
			c := color.NRGBA{uint8(x * 255 / w), uint8(y * 255 / h), uint8((x + y) * 127 / (w + h)), 255}
			if (x/7+y/5)%4 == 0 {
				c.R, c.G = c.G, uint8(r.IntN(256))
			}
			m.SetNRGBA(x, y, c)
		}
	}
	return m
}

// encode makes a JPEG of 4:2:0, or gray, by image/jpeg.
func encode(t testing.TB, m image.Image, quality int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, &jpeg.Options{Quality: quality}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// distance is the mean difference of the samples of two images, of which both are in planes of one kind, and the largest.
func distance(t testing.TB, a, b image.Image) (mean, most float64) {
	t.Helper()
	p, ok := PlanesOf(a)
	q, ok2 := PlanesOf(b)
	if !ok || !ok2 || p.Rect.Size() != q.Rect.Size() || p.Gray() != q.Gray() || p.RatioX != q.RatioX || p.RatioY != q.RatioY {
		t.Fatalf("%T %v is not like %T %v", a, a.Bounds(), b, b.Bounds())
	}
	n, sum := 0, 0.0
	compare := func(a []byte, as int, b []byte, bs, w, h int) {
		for y := range h {
			for x := range w {
				d := float64(a[y*as+x]) - float64(b[y*bs+x])
				d = max(d, -d)
				sum, most, n = sum+d, max(most, d), n+1
			}
		}
	}
	compare(p.Y, p.YStride, q.Y, q.YStride, p.Width, p.Height)
	if !p.Gray() {
		w, h := (p.Width+p.RatioX-1)/p.RatioX, (p.Height+p.RatioY-1)/p.RatioY
		compare(p.Cb, p.CStride, q.Cb, q.CStride, w, h)
		compare(p.Cr, p.CStride, q.Cr, q.CStride, w, h)
	}
	return sum / float64(n), most
}

// addOdd adds the odd files, where there are some, to what is fuzzed.
func addOdd(f *testing.F) {
	if os.Getenv("REPRISE_DATA") == "" {
		return
	}
	_, files := archive(f, "odd-jpeg.tar.gz", 1000)
	for _, b := range files {
		f.Add(b)
	}
}
