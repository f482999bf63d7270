package experiments

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/reprise-ml/reprise/data"
)

// photo is a JPEG whose left half is white, with an EXIF orientation.
func photo(t *testing.T, w, h int, orientation byte) []byte {
	t.Helper()
	m := image.NewGray(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w / 2 {
			m.SetGray(x, y, color.Gray{255})
		}
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, &jpeg.Options{Quality: 95}); err != nil {
		t.Fatal(err)
	}
	exif := append([]byte("Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00"), orientation, 0, 0)
	head := binary.BigEndian.AppendUint16([]byte("\xff\xd8\xff\xe1"), uint16(len(exif)+2))
	return slices.Concat(head, exif, b.Bytes()[2:])
}

// photos writes a folder of 8 photos of each of 2 classes, of which every
// other one lies on its side.
func photos(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for i := range 16 {
		path := filepath.Join(dir, fmt.Sprintf("all/%d/%d.jpg", i%2, i))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, photo(t, 32, 16, byte(1+5*(i/2%2))), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "all")
}

const ofPhotos = `
data: {source: {folder: {path: PATH}}, train: "all[:8]", validation: "all[8:]", order: sequential}
input: {size: 16, augment: [{resize: {width: 16, height: 16}}], resize: [{resize: {width: 16, height: 16}}]}
pipeline: {shuffle: 2, readers: 3, workers: 2}
model: {mlp: {hidden: [4]}}
train: {batch: 2}
stop: {max_steps: 3}
evaluate: {every: 100 steps, batch: 8}
`

func TestPicturesOnTheirSideAreTurnedWhereTheSpecSaysSoAndCounted(t *testing.T) {
	path := photos(t)
	for _, exif := range []string{ExifIgnore, ExifApply} {
		s := parseWith(t, DefaultRegistry(), ofPhotos, "data.source.folder.path="+path, "input.exif="+exif)
		opened, d, err := s.Open()
		if err != nil {
			t.Fatal(err)
		}
		aside := 0 // pictures whose halves lie above each other
		pix := inputs(t, opened.Once(t.Context(), d.Validation, nil))
		for i := range 8 {
			if row := pix[i*16*16*3:]; row[0] == row[15*3] {
				aside++
			}
		}
		onSide := 0
		for i := range d.Validation.Len() {
			e, err := d.Validation.Read(t.Context(), i)
			if err != nil {
				t.Fatal(err)
			}
			if e.Input.(data.Picture).Oriented() == 6 {
				onSide++
			}
		}
		if want := map[string]int{ExifIgnore: 0, ExifApply: onSide}[exif]; aside != want || onSide == 0 {
			t.Errorf("%s: %d of %d pictures were turned", exif, aside, onSide)
		}
		counts := map[int]bool{}
		for _, workers := range []int{1, 4} {
			s.Stages.Readers, s.Stages.Workers = workers, workers
			summary, _ := trained(t, s)
			counts[summary.Turned] = true
			want := 0
			for i := range min(int(summary.Reads), d.Train.Len()) {
				if e, err := d.Train.Read(t.Context(), i); err != nil || e.Input.(data.Picture).Oriented() != 1 {
					want++
				}
			}
			if summary.Turned != want || want == 0 {
				t.Errorf("%s, %d workers: %d pictures were counted, want %d", exif, workers, summary.Turned, want)
			}
		}
		if len(counts) != 1 {
			t.Errorf("%s: the count depends on the workers: %v", exif, counts)
		}
	}
}
