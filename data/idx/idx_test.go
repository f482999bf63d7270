package idx_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/data/datatest"
	"github.com/reprise-ml/reprise/data/idx"
)

// pack writes the format: values of a shape.
func pack(values []uint8, shape ...int) []byte {
	b := []byte{0, 0, 8, byte(len(shape))}
	for _, n := range shape {
		b = binary.BigEndian.AppendUint32(b, uint32(n))
	}
	return append(b, values...)
}

func zip(b []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	z.Write(b)
	z.Close()
	return out.Bytes()
}

// images are n pictures of 4×3 pixels whose values count on.
func images(n int) []byte {
	values := make([]uint8, n*12)
	for i := range values {
		values[i] = uint8(i)
	}
	return pack(values, n, 3, 4)
}

func labels(values ...uint8) []byte { return pack(values, len(values)) }

// whole is a data set of five and three pictures.
func whole() map[string][]byte {
	return map[string][]byte{
		"train-images-idx3-ubyte":   images(5),
		"train-labels-idx1-ubyte":   labels(0, 2, 1, 0, 2),
		"t10k-images-idx3-ubyte.gz": zip(images(3)),
		"t10k-labels.idx1-ubyte.gz": zip(labels(3, 1, 0)),
	}
}

func write(t testing.TB, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestItIsASource(t *testing.T) {
	dir := write(t, whole())
	for base, n := range map[string]int{"train": 5, "test": 3} {
		s, err := idx.Open(dir, base)
		if err != nil {
			t.Fatal(err)
		}
		datatest.TestSource(t, s, datatest.Want{Len: n, Classes: []string{"0", "1", "2", "3"}})
	}
	if bases, err := idx.Bases(dir); err != nil || strings.Join(bases, " ") != "test train" {
		t.Errorf("bases are %q (%v)", bases, err)
	}
}

func TestPixelsAndLabelsAreThoseOfTheFiles(t *testing.T) {
	s, err := idx.Open(write(t, whole()), "train")
	if err != nil {
		t.Fatal(err)
	}
	e, err := s.Read(context.Background(), 1)
	if err != nil {
		t.Fatal(err)
	}
	p := e.Input.(data.Picture)
	if p.Width != 4 || p.Height != 3 || e.Target != data.Class(2) {
		t.Errorf("record 1 is %d×%d pixels of class %v, want 4×3 of 2", p.Width, p.Height, e.Target)
	}
	for i, v := range p.Pix {
		if want := uint8(12 + i/3); v != want {
			t.Errorf("value %d is %d, want %d", i, v, want)
		}
	}
}

func TestClassesAreSortedWhereThereAreMoreThanTen(t *testing.T) {
	files := whole()
	files["t10k-labels.idx1-ubyte.gz"] = zip(labels(46, 1, 0))
	s, err := idx.Open(write(t, files), "train")
	if err != nil {
		t.Fatal(err)
	}
	if c := s.Classes(); len(c) != 47 || c[7] != "07" || c[46] != "46" {
		t.Errorf("classes are %q", c)
	}
}

func TestWhatIsNoDataSetIsRefusedWithTheReason(t *testing.T) {
	with := func(name string, b []byte) func(map[string][]byte) {
		return func(files map[string][]byte) { files[name] = b }
	}
	const img, lab = "train-images-idx3-ubyte", "train-labels-idx1-ubyte"
	for _, c := range []struct {
		name  string
		broke func(map[string][]byte)
		says  string
	}{
		{"no images", func(f map[string][]byte) { delete(f, img) }, `has no part "train", it has test`},
		{"no labels", func(f map[string][]byte) { delete(f, lab) }, "does not hold " + lab + ", with or without .gz"},
		{"an empty file", with(img, nil), "the header is cut off after 0 of 16 bytes"},
		{"half a header", with(img, images(5)[:11]), "cut off after 11 of 16 bytes"},
		{"labels for images", with(img, labels(1, 2, 3, 4, 5, 6, 7, 8, 9)), "it begins with 00 00 08 01, want 00 00 08 03"},
		{"floats", with(lab, []byte{0, 0, 13, 1, 0, 0, 0, 0}), "it begins with 00 00 0d 01"},
		{"cut off", with(img, images(5)[:50]), img + ": it is cut off after 34 of 5×3×4 values"},
		{"too long", with(img, append(images(5), 0)), "it goes on after the 5×3×4 values"},
		{"absurd", with(img, pack(nil, 1<<31, 1<<31, 1<<31)), "2147483648×2147483648×2147483648 values, more than"},
		{"large and not there", with(img, pack(nil, 1<<20, 32, 32)), "cut off after 0 of 1048576×32×32"},
		{"fewer labels", with(lab, labels(1, 2)), "has 2 labels for the 5 images of " + img},
		{"pictures without pixels", with(img, pack(nil, 5, 0, 4)), "pictures are 4×0 pixels"},
		{"damaged gzip", with(img, append(zip(images(5))[:30], 1, 2, 3)), img + ": "},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := whole()
			c.broke(files)
			_, err := idx.Open(write(t, files), "train")
			if err == nil || !strings.Contains(err.Error(), c.says) || !strings.HasPrefix(err.Error(), "idx: ") {
				t.Errorf("the error is %v, want one with %q", err, c.says)
			}
		})
	}
	dir := write(t, whole())
	for _, c := range []struct{ path, base, says string }{
		{dir, "val", `has no part "val", it has test, train`},
		{filepath.Join(dir, "nowhere"), "train", "does not exist"},
		{filepath.Join(dir, img), "train", "is a file"},
		{t.TempDir(), "train", "does not hold train-images-idx3-ubyte"},
	} {
		if _, err := idx.Open(c.path, c.base); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s of %s: %v, want an error with %q", c.base, c.path, err, c.says)
		}
	}
}

func Example() {
	dir, err := os.MkdirTemp("", "mnist")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	os.WriteFile(filepath.Join(dir, "train-images-idx3-ubyte"), pack(make([]uint8, 2*28*28), 2, 28, 28), 0o644)
	os.WriteFile(filepath.Join(dir, "train-labels-idx1-ubyte"), pack([]uint8{1, 0}, 2), 0o644)
	src, err := idx.Open(dir, "train")
	if err != nil {
		panic(err)
	}
	fmt.Println(src.Len(), src.Classes(), src.Label(0))
	// Output: 2 [0 1] 1
}
