package datatest_test

import (
	"bytes"
	"testing"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/data/datatest"
)

func TestStandInsArePicturesOfEveryClassInBothParts(t *testing.T) {
	files := datatest.Files(t, 3, 2)
	if len(files) != 12 {
		t.Errorf("there are %d files, want 3 classes × 2 × 2 parts", len(files))
	}
	for _, name := range []string{"train/disc-dots/0000.jpg", "train/square-stripes/0001.jpg", "test/disc-stripes/0001.jpg"} {
		if p, err := (data.Picture{Encoded: files[name]}).Decode(); err != nil || p.Image == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if bytes.Equal(files["train/disc-dots/0000.jpg"], files["test/disc-dots/0000.jpg"]) {
		t.Error("the parts share a picture")
	}
}
