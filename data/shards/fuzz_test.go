package shards

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"testing"
)

// Whatever an archive holds, loading it ends with an error or with records
// that can be read and classes that fit them.
func FuzzLoad(f *testing.F) {
	seed := func(headers ...tar.Header) {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		for _, h := range headers {
			w.WriteHeader(&h)
			w.Write(bytes.Repeat([]byte("1"), int(h.Size)))
		}
		w.Close()
		f.Add(b.Bytes(), true)
		f.Add(b.Bytes(), false)
	}
	seed(tar.Header{Name: "x/train/a/1.jpg", Size: 5}, tar.Header{Name: "x/test/b/2.png", Size: 600})
	seed(tar.Header{Name: "1.jpg", Size: 5}, tar.Header{Name: "1.cls", Size: 1})
	seed(tar.Header{Name: "a/1.jpg", Size: 5}, tar.Header{Name: "a/2.jpg", Typeflag: tar.TypeSymlink, Linkname: "1.jpg"})
	seed(tar.Header{Name: "a/1.jpg", Size: 5, Format: tar.FormatPAX, PAXRecords: map[string]string{"comment": "x"}})
	f.Fuzz(func(t *testing.T, b []byte, sound bool) {
		if sound {
			for at := 0; at+block <= len(b); at += block {
				check(b[at:][:block])
			}
		}
		members, err := index(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		a := &Archive{path: "a.tar", shards: []*shard{{path: "a.tar", r: bytes.NewReader(b)}}}
		if a.arrange(members, "") != nil {
			return
		}
		for _, base := range a.Bases() {
			s, err := a.Open(base)
			if err != nil {
				continue // a part that shares no class with another
			}
			if s.Len() == 0 {
				t.Errorf("part %s is empty", base)
			}
			for i := range s.Len() {
				if y := s.Label(i); y < 0 || y >= len(s.Classes()) {
					t.Errorf("%s has the label %d of %d", s.Name(i), y, len(s.Classes()))
				}
				if _, err := s.Read(context.Background(), i); err != nil {
					t.Error(err)
				}
			}
		}
	})
}

// check gives a header the right checksum, so that what else is in it counts.
func check(header []byte) {
	if bytes.Equal(header, make([]byte, block)) {
		return
	}
	sum := 0
	copy(header[148:156], "        ")
	for _, c := range header {
		sum += int(c)
	}
	copy(header[148:156], fmt.Sprintf("%06o\x00 ", sum))
}
