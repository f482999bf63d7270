package idx

import (
	"bytes"
	"compress/gzip"
	"testing"
)

func FuzzParse(f *testing.F) {
	f.Add([]byte{0, 0, 8, 1, 0, 0, 0, 2, 7, 9}, 1)
	f.Add([]byte{0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 1, 7, 9}, 3)
	f.Add([]byte{0, 0, 8, 3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}, 3)
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	w.Write([]byte{0, 0, 8, 1, 0, 0, 0, 2, 7, 9})
	w.Close()
	f.Add(z.Bytes(), 1)
	f.Fuzz(func(t *testing.T, b []byte, dimensions int) {
		if dimensions != 1 && dimensions != 3 {
			return
		}
		const limit = 1 << 20
		shape, values, err := parse(bytes.NewReader(b), dimensions, limit)
		if err != nil {
			return
		}
		n := 1
		for _, d := range shape {
			n *= d
		}
		if len(shape) != dimensions || len(values) != n || n > limit {
			t.Errorf("the shape %v has %d values", shape, len(values))
		}
	})
}
